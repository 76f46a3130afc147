/* SPDX-License-Identifier: MIT */
/* The commands, one by one, against a recorder that is only a struct. */
#include "unit/vsi_bench.h"

#include "daemon/vsi.c"
#include "daemon/vsi_about.c"
#include "daemon/vsi_kept.c"
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
	SAYS("runtime?", "!runtime? 0 : default : 1 ;");
	SAYS("version=1", "!version= 2 : only available as query ;");
	SAYS("dance?", "!dance? 7 : no such keyword ;");
	bench.v.host.version = "jive5ab 3.1.0";
	ck_assert_ptr_eq(
	    strstr(ask("version?"), "!version? 0 : jive5ab : 3.1.0 : 64bit : "),
	    bench.reply.text);
}
END_TEST

/* Whatever jive5ab knows on any machine is told from what nobody knows. */
START_TEST(not_done_here)
{
	static const char *const known[] = {
		"spif2net", "spid2file",   "net2mem",	"fill2vbs",  "mem2net",
		"in2disk2", "bank_set",	   "position",	"file2disk", "play",
		"scandir",  "dbglev",	   "net2sfxc",	"in2net",    "vsn",
		"os_rev1",  "1pps_source", "get_stats", "tvr",	     "recover",
	};
	char text[64];

	bench_begin();
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		bool unknown = !strcmp(known[i], "in2disk2");

		snprintf(text, sizeof text, "%s=1", known[i]);
		ck_assert_msg(code(text) == (unknown ? VSI_UNKNOWN : VSI_NEVER),
			      "%s", known[i]);
	}
}
END_TEST

/* The shapes are those of a jive5ab 3.1.0 that was asked the same. */
START_TEST(kept)
{
	static const struct {
		const char *ask, *reply;
	} said[] = {
		{ "ipd?", "!ipd? 0 : 0 ;" },
		{ "ipd=0ns", "!ipd= 0 ;" },
		{ "ipd=12", "!ipd= 0 ;" },
		{ "ipd?", "!ipd? 0 : 12 ;" },
		{ "ipd=1500n", "!ipd= 0 ;" },
		{ "ipd?", "!ipd? 0 : 1.500000 ;" },
		{ "ipd=-1", "!ipd= 0 ;" },
		{ "ipd?", "!ipd? 0 : -1 : 0 ;" },
		{ "ipd=", "!ipd= 8 : Command must have argument ;" },
		{ "ack?", "!ack? 0 : 10 ;" },
		{ "ack=20", "!ack= 0 ;" },
		{ "ack?", "!ack? 0 : 20 ;" },
		{ "task_id?", "!task_id? 0 : none ;" },
		{ "task_id=0x10", "!task_id= 0 ;" },
		{ "task_id?", "!task_id? 0 : 16 ;" },
		{ "task_id=none", "!task_id= 0 ;" },
		{ "task_id?", "!task_id? 0 : none ;" },
		{ "bufsize?", "!bufsize? 0 : 0 ;" },
		{ "memstat?", "!memstat? 0 : no memstat available ;" },
		{ "transfermode?", "!transfermode? 0 : no_transfer ;" },
		{ "trackmask?", "!trackmask? 0 : 0x0000000000000000 : 0 ;" },
		{ "trackmask=0", "!trackmask= 0 : 0x0000000000000000 : 0 ;" },
		{ "clock_set?", "!clock_set? 0 : 0.000 ;" },
		{ "play_rate?", "!play_rate? 0 : 0.000 ;" },
		{ "itcp_id?", "!itcp_id? 0 :  ;" },
		{ "itcp_id=abc", "!itcp_id= 0 ;" },
		{ "itcp_id?", "!itcp_id? 0 : abc ;" },
		{ "constraints?",
		  "!constraints? 0 : 0tr : <unknown> : 0bps/tr : [] ;" },
		{ "protect?", "!protect? 0 : off ;" },
		{ "protect=off", "!protect= 0 ;" },
		{ "echo=off", "!echo= 0 ;" },
		{ "group_def?",
		  "!group_def? 0 : 1 : 2 : 3 : 4 : flexbuf : flexbuff : "
		  "mk6 ;" },
		{ "mode=VDIF_8000-512-16-2", "!mode= 0 ;" },
		{ "constraints?",
		  "!constraints? 0 : 32tr : VDIF : 16000000bps/tr : [] ;" },
		{ "clock_set?", "!clock_set? 0 : 16.000 ;" },
	};

	bench_begin();
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		SAYS(said[i].ask, said[i].reply);
	ck_assert_int_eq(code("ipd=abc"), VSI_CONFLICT);
	ck_assert_int_eq(code("ack=abc"), VSI_CONFLICT);
	ck_assert_int_eq(code("ack="), VSI_PARAMETER);
	ck_assert_int_eq(code("trackmask=0xff"), VSI_NEVER);
	ck_assert_int_eq(code("clock_set=32:int"), VSI_CONFLICT);
	ck_assert_int_eq(code("protect=on"), VSI_NEVER);
	ck_assert_int_eq(code("protect=so"), VSI_PARAMETER);
	ck_assert_int_eq(code("bufsize=1"), VSI_NEVER);
	ck_assert_int_eq(code("group_def=define:x:/tmp"), VSI_NEVER);
	ck_assert_int_eq(code("group_def?x"), VSI_CONFLICT);
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
	ck_assert_int_eq(code("record="), VSI_NEVER);
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
		"mode=none",	"net_protocol=udps", "net_port=1",
		"mtu=9000",	"datastream=clear",  "set_disks=flexbuf",
		"record=mk6:1",
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

SUITE("vsi", words, who_it_is, not_done_here, kept, recording,
      recording_renamed, recording_refused, recording_put_off, ended_by_itself,
      counts, while_recording)
