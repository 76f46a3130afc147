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

START_TEST(modes)
{
	bench_begin();
	SAYS("mode?", "!mode? 0 : none : VDIF :  :  : 8032 ;");
	SAYS("mode=VDIF_8000-512-16-2", "!mode= 0 ;");
	ck_assert_uint_eq(vsi_mode_frame(&bench.settled.mode), 8032);
	SAYS("mode?", "!mode? 0 : VDIF_8000-512-16-2 : VDIF : 32 : "
		      "16000000.000 : 8000 ;");
	ck_assert_int_eq(code("mode=VLBA1_4-512-8-2"), VSI_PARAMETER);
	bench.settle_err = -EINVAL;
	SAYS("mode=Mark5B-512-16-2", "!mode= 8 : cannot be ;");
	SAYS("mode?", "!mode? 0 : VDIF_8000-512-16-2 : VDIF : 32 : "
		      "16000000.000 : 8000 ;");
	bench.settle_err = 0;
	SAYS("mode=ext:0xffffffff:2", "!mode= 0 ;");
	SAYS("mode?", "!mode? 0 : ext : 0xffffffff : 2 : 16 ;");
	SAYS("mode=none", "!mode= 0 ;");
	ask("record=on:x");
	SAYS("mode=none", "!mode= 6 : not whilst vbsrecord is in progress ;");
	ck_assert_int_eq(code("mode?"), 0);
}
END_TEST

START_TEST(protocols)
{
	bench_begin();
	SAYS("net_protocol?", "!net_protocol? 0 : udps : 0 : 0 : 8 ;");
	SAYS("net_protocol=udpsnor:32000000:256000000:4", "!net_protocol= 0 ;");
	ck_assert_int_eq(bench.settled.prefix, 8);
	ck_assert_uint_eq(bench.settled.buffer, 32000000);
	SAYS("net_protocol?",
	     "!net_protocol? 0 : udpsnor : 32000000 : 256000000 : 4 ;");
	/* What is left out stays. */
	SAYS("net_protocol=::128k", "!net_protocol= 0 ;");
	SAYS("net_protocol?",
	     "!net_protocol? 0 : udpsnor : 32000000 : 131072 : 4 ;");
	SAYS("net_protocol=pudp", "!net_protocol= 0 ;");
	ck_assert_int_eq(bench.settled.prefix, 0);
	SAYS("net_protocol=udp", "!net_protocol= 0 ;");
	ck_assert_ptr_nonnull(strstr(ask("net_protocol?"), " udps : "));
	ck_assert_int_eq(code("net_protocol=tcp"), VSI_PARAMETER);
	ck_assert_int_eq(code("net_protocol=udps:9G"), VSI_PARAMETER);
	ck_assert_int_eq(code("net_protocol=udps:3000M"), VSI_PARAMETER);
	ck_assert_int_eq(code("net_protocol=udps:::0"), VSI_PARAMETER);
	ck_assert_int_eq(code("net_protocol="), VSI_PARAMETER);
	ck_assert_uint_eq(bench.settled.buffer, 32000000);
	SAYS("mtu?", "!mtu? 0 : 9000 ;");
	SAYS("mtu=6000", "!mtu= 0 ;");
	SAYS("mtu?", "!mtu? 0 : 6000 ;");
	ck_assert_int_eq(code("mtu=9001"), VSI_PARAMETER);
	ck_assert_int_eq(code("mtu=63"), VSI_PARAMETER);
	ck_assert_int_eq(code("mtu="), VSI_PARAMETER);
}
END_TEST

START_TEST(ports)
{
	static const char *const wrong[] = {
		"net_port=",	       "net_port=65536",
		"net_port=x",	       "net_port=a@b@1",
		"net_port=@1",	       "net_port=1.2.3.4@",
		"net_port=1=a",	       "net_port=1=a:2",
		"net_port=1=:2=b",     "net_port=0:1",
		"net_port=1=a/b:2=c",  "net_port=1=a_ds:2=c",
		"net_port=1.2.3.4;@1", "net_port=%s@1",
	};
	char many[1024] = "net_port=";

	bench_begin();
	SAYS("net_port?", "!net_port? 0 : 46227 ;");
	SAYS("net_port=46228", "!net_port= 0 ;");
	SAYS("net_port?", "!net_port? 0 : 46228 ;");
	SAYS("net_port=192.168.2.1@2630=ah:192.168.2.1@2631=av",
	     "!net_port= 0 ;");
	ck_assert_uint_eq(bench.settled.ports, 2);
	ck_assert_str_eq(bench.settled.port[1].host, "192.168.2.1");
	ck_assert_uint_eq(bench.settled.port[1].port, 2631);
	ck_assert_str_eq(bench.settled.port[1].suffix, "av");
	SAYS("net_port?", "!net_port? 0 : 192.168.2.1@2630=ah : "
			  "192.168.2.1@2631=av ;");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(code(wrong[i]) == VSI_PARAMETER, "%s", wrong[i]);
	ck_assert_uint_eq(bench.settled.ports, 2);
	SAYS("net_port=0", "!net_port= 0 ;");
	ck_assert_uint_eq(bench.settled.ports, 0);
	for (int i = 0; i < VSI_PORTS; i++)
		sprintf(many + strlen(many), "%d:", 1000 + i);
	ck_assert_int_eq(code(many), 0);
	ck_assert_int_eq(code(strcat(many, "9999")), VSI_PARAMETER);
}
END_TEST

START_TEST(datastreams)
{
	bench_begin();
	SAYS("datastream?", "!datastream? 0 : 0 ;");
	SAYS("datastream=add:{thread}:*", "!datastream= 0 ;");
	ck_assert(bench.settled.by_thread);
	SAYS("datastream=reset", "!datastream= 0 ;");
	SAYS("datastream?", "!datastream? 0 : 1 : {thread} ;");
	SAYS("datastream=clear", "!datastream= 0 ;");
	SAYS("datastream?", "!datastream? 0 : 0 ;");
	ck_assert_int_eq(code("datastream=add:xx.vdif:192.168.1.40/yg.*"),
			 VSI_PARAMETER);
	ck_assert_int_eq(code("datastream=dance"), VSI_NEVER);
	ck_assert_int_eq(code("datastream="), VSI_PARAMETER);
	bench.settle_err = -EINVAL;
	ck_assert_int_eq(code("datastream=add:{thread}:*"), VSI_PARAMETER);
	SAYS("datastream?", "!datastream? 0 : 0 ;");
}
END_TEST

START_TEST(disks)
{
	bench_begin();
	bench.space.total = 1000000000000;
	bench.space.free = 250000000000;
	bench.space.recordings = 12;
	SAYS("dir_info?", "!dir_info? 0 : 12 : 750000000000 : 1000000000000 ;");
	SAYS("rtime?", "!rtime? 0 : <unknown> (no mode set yet) : 250GB : 25% "
		       ": <unknown> : 0 : 0MHz : <unknown> Mbps ;");
	bench.space.rate = 1e9;
	SAYS("rtime?", "!rtime? 0 : 2000s : 250GB : 25% : <unknown> : 0 : 0MHz "
		       ": 1000Mbps ;");
	ask("mode=VDIF_8000-500-16-2");
	SAYS("rtime?", "!rtime? 0 : 3984.06s : 250GB : 25% : VDIF : 32 : 0MHz "
		       ": 502Mbps ;");
	SAYS("set_disks?", "!set_disks? 0 : 2 : /mnt/disk0 : /mnt/disk1 ;");
	SAYS("set_disks=/mnt/disk*", "!set_disks= 0 : 2 ;");
	SAYS("set_disks=flexbuf", "!set_disks= 0 : 2 ;");
	SAYS("set_disks=/mnt/disk0:/mnt/disk1", "!set_disks= 0 : 2 ;");
	ck_assert_int_eq(code("set_disks=/mnt/disk0"), VSI_PARAMETER);
	ck_assert_int_eq(code("set_disks=null"), VSI_PARAMETER);
	ck_assert_int_eq(code("set_disks=1234"), VSI_PARAMETER);
	ck_assert_int_eq(code("set_disks="), VSI_CONFLICT);
	bench.disks = 3;
	ck_assert_int_eq(code("set_disks=flexbuf"), VSI_PARAMETER);
	bench.disks = 0;
	SAYS("set_disks?", "!set_disks? 0 : 0 ;");
	bench.space = (struct vsi_space){ 0 };
	ck_assert_int_eq(code("rtime?"), 0);
}
END_TEST

static void
record(const char *name)
{
	char text[64];

	snprintf(text, sizeof text, "record=on:%s", name);
	ck_assert_int_eq(code(text), 0);
	ck_assert_int_eq(code("record=off"), 1);
}

START_TEST(scans)
{
	bench_begin();
	ck_assert_int_eq(code("scan_set="), VSI_CONFLICT);
	ck_assert_int_eq(code("scan_set=next"), VSI_CONFLICT);
	ck_assert_int_eq(code("scan_set=inc"), VSI_CONFLICT);
	SAYS("scan_set?", "!scan_set? 0 : -1 :  : 0 : 0 ;");
	bench.facts.bytes = 100000000;
	record("exp_wz_one");
	record("exp_wz_two");
	record("other_wz_3");
	SAYS("scan_set?", "!scan_set? 0 : 3 : other_wz_3 : 0 : 0 ;");
	SAYS("scan_set=1", "!scan_set= 0 ;");
	SAYS("scan_set?", "!scan_set? 0 : 1 : exp_wz_one : 0 : 100000000 ;");
	SAYS("scan_set=inc", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "exp_wz_two");
	SAYS("scan_set=dec", "!scan_set= 0 ;");
	SAYS("scan_set=dec", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "other_wz_3");
	SAYS("scan_set=EXP", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "exp_wz_one");
	SAYS("scan_set=next", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "exp_wz_two");
	SAYS("scan_set=from_long_ago", "!scan_set= 0 ;");
	SAYS("scan_set?",
	     "!scan_set? 0 : -1 : from_long_ago : 0 : 100000000 ;");
	ck_assert_int_eq(code("scan_set=nobody"), VSI_FAILED);
	SAYS("scan_set=::+20000000", "!scan_set= 0 ;");
	SAYS("scan_set?", "!scan_set? 0 : 3 : other_wz_3 : 0 : 20000000 ;");
	SAYS("scan_set=:c:-1000", "!scan_set= 0 ;");
	SAYS("scan_set?",
	     "!scan_set? 0 : 3 : other_wz_3 : 50000000 : 99999000 ;");
	ck_assert_int_eq(code("scan_set=:1000"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_set=:+1:+100000000"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_set=:-100000001"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_set=::+9223372036854775807"),
			 VSI_PARAMETER);
	ck_assert_int_eq(code("scan_set=:+9223372036854775807:+"
			      "9223372036854775807"),
			 VSI_PARAMETER);
}
END_TEST

/* More than are remembered. */
START_TEST(scans_forgotten)
{
	char name[32];

	bench_begin();
	for (int i = 1; i <= VSI_RECORDINGS + 10; i++) {
		snprintf(name, sizeof name, "scan%dx", i);
		record(name);
	}
	ck_assert_uint_eq(bench.v.recordings, VSI_RECORDINGS + 10);
	ck_assert_ptr_null(vsi_listed(&bench.v, 10));
	ck_assert_str_eq(vsi_listed(&bench.v, 11), "scan11x");
	ck_assert_int_eq(code("scan_set=10"), VSI_FAILED);
	SAYS("scan_set=scan266x", "!scan_set= 0 ;");
	SAYS("scan_set=inc", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "scan11x");
	SAYS("scan_set=dec", "!scan_set= 0 ;");
	ck_assert_str_eq(bench.v.scan, "scan266x");
}
END_TEST

START_TEST(checks)
{
	bench_begin();
	ck_assert_int_eq(code("scan_check?"), VSI_PARAMETER);
	record("x");
	ck_assert_int_eq(code("scan_check?"), VSI_CONFLICT);
	bench.facts.received = 100000;
	bench.facts.lost = 2;
	bench.facts.payload = 8032;
	bench.facts.start_ns = 1714712160000000000; /* 2024-05-03 04:56 */
	bench.facts.end_ns = bench.facts.start_ns + 60000000000;
	snprintf(bench.facts.format, sizeof bench.facts.format, "vdif");
	SAYS("scan_check?",
	     "!scan_check? 0 : ? : x : VDIF :  : 2024y124d04h56m00.0000s : "
	     "60.0000s : 107.095Mbps : 16064 : 8032 ;");
	ask("mode=VDIF_8000-512-16-2");
	SAYS("scan_check?0:256k",
	     "!scan_check? 0 : ? : x : VDIF : 32 : 2024y124d04h56m00.0000s : "
	     "60.0000s : 16Mbps : 16064 : 8032 ;");
	ck_assert_int_eq(code("scan_check?2"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_check?1:3000M"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_check?1:0"), VSI_PARAMETER);
	SAYS("scan_check?verbose", "!scan_check? 0 : verbose : false ;");
	SAYS("scan_check=verbose:0", "!scan_check= 0 ;");
	SAYS("scan_check=bytes_to_read:256k", "!scan_check= 0 ;");
	ck_assert_int_eq(code("scan_check=verbose"), VSI_PARAMETER);
	ck_assert_int_eq(code("scan_check=x"), VSI_NEVER);
	snprintf(bench.facts.format, sizeof bench.facts.format, "mark5b");
	ck_assert_ptr_nonnull(strstr(ask("scan_check?"), " : Mark5B : "));
	snprintf(bench.facts.format, sizeof bench.facts.format, "raw");
	bench.facts.end_ns = bench.facts.start_ns;
	ck_assert_int_eq(code("scan_check?"), 0);
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
      recording_put_off, ended_by_itself, counts, modes, protocols, ports,
      datastreams, disks, scans, scans_forgotten, checks, while_recording)
