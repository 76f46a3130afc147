/* SPDX-License-Identifier: MIT */
/* The commands, one by one, against a recorder that is only a struct. */
#include "unit/vsi_bench.h"

#include "daemon/vsi.c"
#include "daemon/vsi_about.c"
#include "daemon/vsi_label.c"
#include "daemon/vsi_line.c"
#include "daemon/vsi_mode.c"
#include "daemon/vsi_net.c"
#include "daemon/vsi_record.c"
#include "daemon/vsi_scan.c"

START_TEST(words)
{
	uint64_t n;

	ck_assert(vsi_number("0x10", 100, &n) && n == 16);
	ck_assert(vsi_number("010", 100, &n) && n == 10);
	ck_assert(!vsi_number("101", 100, &n));
	ck_assert(!vsi_number("-1", 100, &n));
	ck_assert(!vsi_number("", 100, &n));
	ck_assert(!vsi_number("1x", 100, &n));
	ck_assert(vsi_bytes("32M", 1 << 30, &n) && n == 32 << 20);
	ck_assert(vsi_bytes("128k", 1 << 30, &n) && n == 128 << 10);
	ck_assert(vsi_bytes("5", 5, &n) && n == 5);
	ck_assert(!vsi_bytes("2000M", 1 << 30, &n));
	ck_assert(!vsi_bytes("18446744073709551615M", UINT64_MAX, &n));
	ck_assert(!vsi_bytes("1Mx", 1 << 30, &n));
	ck_assert(!vsi_bytes("1G", 1 << 30, &n));
}
END_TEST

START_TEST(who_it_is)
{
	bench_begin();
	ck_assert_ptr_eq(strstr(ask("version?"), "!version? 0 : spate : "),
			 bench.reply.text);
	ck_assert_ptr_eq(strstr(ask("dts_id?"), "!dts_id? 0 : - : spate "),
			 bench.reply.text);
	ck_assert_ptr_nonnull(strstr(ask("os_rev?"), "Linux"));
	SAYS("runtime?", "!runtime? 0 : 0 : 1 ;");
	SAYS("runtime=0", "!runtime= 0 : 0 ;");
	SAYS("runtime=0:exists", "!runtime= 0 : 0 ;");
	ck_assert_int_eq(code("runtime=copy:transient"), VSI_NEVER);
	SAYS("version=1", "!version= 2 : only available as query ;");
	SAYS("dance?", "!dance? 7 : no such keyword ;");
	ck_assert_int_eq(code("disk2file=x"), VSI_NEVER);
	ck_assert_int_eq(code("protect=off"), VSI_NEVER);
}
END_TEST

START_TEST(recording)
{
	bench_begin();
	SAYS("record?", "!record? 0 : off ;");
	ck_assert_int_eq(code("record=off"), VSI_CONFLICT);
	SAYS("record=on:r1_wz_1", "!record= 0 ;");
	ck_assert_str_eq(bench.name, "r1_wz_1");
	ck_assert(bench.rename);
	bench.facts.received = 100;
	bench.facts.payload = 8032;
	SAYS("record?", "!record? 0 : on : 1 : r1_wz_1 : 803200 ;");
	ck_assert_int_eq(code("record=on:r1_wz_2"), VSI_CONFLICT);
	ck_assert_uint_eq(bench.records, 1);
	SAYS("record=off:r1_wz_1", "!record= 1 ;");
	ck_assert_str_eq(bench.stopped, "r1_wz_1");
	SAYS("record?", "!record? 0 : off ;");
	SAYS("record=on:r1_wz_2", "!record= 0 ;");
	SAYS("record?", "!record? 0 : on : 2 : r1_wz_2 : 803200 ;");
}
END_TEST

START_TEST(recording_renamed)
{
	bench_begin();
	SAYS("record=on:r1_wz_a.b", "!record= 0 : r1_wz_a-b ;");
	SAYS("record=off", "!record= 1 ;");
	bench.rename_to = "r1_wz_1a";
	SAYS("record=on:r1_wz_1", "!record= 0 : r1_wz_1a ;");
	SAYS("record?", "!record? 0 : on : 2 : r1_wz_1a : 0 ;");
	SAYS("record=off", "!record= 1 ;");
	ck_assert_str_eq(bench.stopped, "r1_wz_1a");
	SAYS("record=check_unique_recording_names:0", "!record= 0 ;");
	SAYS("record?check_unique_recording_names", "!record? 0 : 0 ;");
	ask("record=on:x");
	ck_assert(!bench.rename);
}
END_TEST

START_TEST(recording_refused)
{
	bench_begin();
	ck_assert_int_eq(code("record=on"), VSI_CONFLICT);
	ck_assert_int_eq(code("record=on:"), VSI_CONFLICT);
	ck_assert_int_eq(
	    code("record=on:"
		 "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijk"),
	    VSI_PARAMETER);
	ck_assert_int_eq(code("record="), VSI_PARAMETER);
	ck_assert_int_eq(code("record=maybe"), VSI_NEVER);
	ck_assert_uint_eq(bench.records, 0);
	bench.record_err = -ENODEV;
	/* Neither ':' nor ';' may be in the words. */
	SAYS("record=on:x", "!record= 4 : cannot. no disk, at all ;");
	SAYS("record?", "!record? 0 : off ;");
	SAYS("record=nthread::4", "!record= 0 ;");
	SAYS("record?nthread", "!record? 0 : 1 : 4 ;");
	ck_assert_int_eq(code("record=nthread::0"), VSI_PARAMETER);
	ck_assert_int_eq(code("record=nthread:x"), VSI_PARAMETER);
	SAYS("record?mk6", "!record? 0 : 0 ;");
	SAYS("record=mk6:1", "!record= 0 ;");
	ck_assert_int_eq(bench.settled.sg, 1);
	SAYS("record?mk6", "!record? 0 : 1 ;");
	ck_assert_int_eq(code("record=mk6:2"), VSI_PARAMETER);
}
END_TEST

/* What the last one still has comes free in a moment. */
START_TEST(recording_put_off)
{
	struct vsi_command c;
	const char *why;
	char text[] = "record=on:x";

	bench_begin();
	bench.record_err = -EAGAIN;
	ck_assert_int_eq(vsi_command_parse(&c, text, &why), 0);
	for (c.tries = 0; c.tries < VSI_TRIES; c.tries++) {
		vsi_reply_begin(&bench.reply, &c);
		ck_assert(!vsi_command(&bench.v, &c, &bench.reply));
	}
	vsi_reply_begin(&bench.reply, &c);
	ck_assert(vsi_command(&bench.v, &c, &bench.reply));
	ck_assert_ptr_nonnull(strstr(bench.reply.text, "= 4"));
	bench.record_err = 0;
	c.tries = 3;
	vsi_reply_begin(&bench.reply, &c);
	ck_assert(vsi_command(&bench.v, &c, &bench.reply));
	ck_assert_str_eq(bench.name, "x");
}
END_TEST

START_TEST(ended_by_itself)
{
	bench_begin();
	SAYS("status?", "!status? 0 : 0x00000001 ;");
	SAYS("error?", "!error? 0 :  :  :  :  :  ;");
	ask("record=on:x");
	SAYS("status?", "!status? 0 : 0x00000059 ;");
	bench.runs = false;
	bench.facts.failed = true;
	snprintf(bench.facts.why, sizeof bench.facts.why, "no disk: none");
	ck_assert_ptr_nonnull(strstr(
	    ask("status?"), "0x00000003 : 4 : x failed - no disk. none"));
	SAYS("record?", "!record? 0 : off ;");
	ck_assert_ptr_nonnull(strstr(ask("error?"), " 0 : 4 : x failed"));
	SAYS("status?", "!status? 0 : 0x00000001 ;");
	/* The same again is one, with a count. */
	for (int i = 0; i < 3; i++)
		vsi_error_add(&bench.v, 4, "again");
	ck_assert_ptr_nonnull(strstr(ask("error?"), " : again : "));
	ck_assert_ptr_nonnull(strstr(bench.reply.text, " : 3 ;"));
	for (int i = 0; i < 100; i++) {
		char text[16];

		snprintf(text, sizeof text, "number %d", i);
		vsi_error_add(&bench.v, 4, text);
	}
	ck_assert_uint_eq(bench.v.errors, VSI_ERRORS);
	ck_assert_ptr_nonnull(strstr(ask("error?"), " : number 84 : "));
}
END_TEST

START_TEST(counts)
{
	bench_begin();
	SAYS("evlbi?", "!evlbi? 0 : total : 0 : loss : 0 ( 0.00%) : "
		       "out-of-order : 0 ( 0.00%) : extent : 0seqnr/pkt ;");
	SAYS("tstat?", "!tstat? 0 : 0.0 : no_transfer ;");
	ask("record=on:x");
	bench.facts.received = 202928;
	bench.facts.lost = 17783;
	bench.facts.reordered = 3;
	bench.facts.dropped = 7;
	bench.facts.rate = 4e9;
	SAYS("evlbi?", "!evlbi? 0 : total : 202928 : loss : 17783 ( 8.06%) : "
		       "out-of-order : 3 ( 0.00%) : extent : 0seqnr/pkt ;");
	SAYS("evlbi=%t:%l:%d%x", "!evlbi= 0 : 202928 : 17783 : 7%x ;");
	SAYS("evlbi=%", "!evlbi= 0 : % ;");
	SAYS("tstat?", "!tstat? 0 : 1.00s : vbsrecord : net 4000.00Mbps : "
		       "F 0.0% ;");
	ask("record=off");
	/* Of the last one. */
	ck_assert_ptr_nonnull(strstr(ask("evlbi?"), "202928"));
}
END_TEST

/* What is set waits for the end of a recording; what asks does not. */
START_TEST(while_recording)
{
	static const char *const sets[] = {
		"mode=none",  "net_protocol=udps", "net_port=1",
		"mtu=9000",   "datastream=clear",  "set_disks=flexbuf",
		"scan_set=1", "record=mk6:1",
	};
	static const char *const asks[] = {
		"mode?",       "net_protocol?", "net_port?", "mtu?",
		"datastream?", "set_disks?",	"scan_set?", "record?",
		"evlbi?",      "status?",	"rtime?",    "dir_info?",
		"tstat?",      "error?",
	};

	bench_begin();
	ask("record=on:x");
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		ck_assert_msg(code(sets[i]) == VSI_CONFLICT, "%s", sets[i]);
	for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
		ck_assert_msg(code(asks[i]) == 0, "%s", asks[i]);
}
END_TEST

SUITE("vsi", words, who_it_is, recording, recording_renamed, recording_refused,
      recording_put_off, ended_by_itself, counts, while_recording)
