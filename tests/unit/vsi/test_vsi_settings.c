/* SPDX-License-Identifier: MIT */
/* The commands that set what is received, and those of disks and scans. */
#include "lib/vsi_bench.h"

#include "vsi/vsi.c"
#include "vsi/vsi_copy.c"
#include "vsi/vsi_record.c"
#include "vsi/vsi_mode.c"
#include "vsi/vsi_line.c"
#include "vsi/vsi_net.c"

START_TEST(modes)
{
	bench_begin();
	SAYS("mode?", "!mode? 0 : none : VDIF :  :  : 8032 ;");
	SAYS("mode=VDIF_8000-512-16-2", "!mode= 0 ;");
	ck_assert_uint_eq(vsi_mode_frame(&bench.settled.mode), 8032);
	SAYS("mode?", "!mode? 0 : VDIF_8000-512-16-2 : VDIF : 32 : "
		      "16000000.000 : 8000 ;");
	ck_assert_int_eq(code("mode=VLBA1_4-512-8-2"), VSI_FAILED);
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
	/* The codes are jive5ab's. */
	ck_assert_int_eq(code("net_protocol=quark"), VSI_CONFLICT);
	ck_assert_ptr_nonnull(
	    strstr(ask("net_protocol=udt"), "= 6 : udt is not done here"));
	ck_assert_int_eq(code("net_protocol=udps:9G"), VSI_CONFLICT);
	ck_assert_int_eq(code("net_protocol=udps:3000M"), VSI_CONFLICT);
	ck_assert_int_eq(code("net_protocol=udps:::0"), VSI_PARAMETER);
	ck_assert_int_eq(code("net_protocol="), VSI_DONE);
	ck_assert_uint_eq(bench.settled.buffer, 32000000);
	SAYS("mtu?", "!mtu? 0 : 9000 ;");
	SAYS("mtu=6000", "!mtu= 0 ;");
	SAYS("mtu?", "!mtu? 0 : 6000 ;");
	ck_assert_int_eq(code("mtu=9001"), VSI_CONFLICT);
	ck_assert_int_eq(code("mtu=63"), VSI_CONFLICT);
	ck_assert_int_eq(code("mtu="), VSI_PARAMETER);
}
END_TEST

START_TEST(ports)
{
	static const char *const wrong[] = {
		"net_port=",
		"net_port=65536",
		"net_port=x",
		"net_port=a@b@1",
		"net_port=@1",
		"net_port=1.2.3.4@",
		"net_port=1=a",
		"net_port=1=a:2",
		"net_port=1=:2=b",
		"net_port=0:1",
		"net_port=1=a/b:2=c",
		"net_port=1=a_ds:2=c",
		"net_port=1.2.3.4;@1",
		"net_port=%s@1",
		"net_port=1=a:2=a",
		"net_port=1:1",
		"net_port=1.2.3.4@1=a:1.2.3.4@1=b",
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
	bench.facts.unread = true;
	ck_assert_int_eq(code("scan_check?"), VSI_BUSY);
	bench.facts.unread = false;
	bench.facts.received = 100000;
	bench.facts.lost = 2;
	bench.facts.payload = 8032;
	bench.facts.start_ns = 1714712160000000000; /* 2024-05-03 04:56 */
	bench.facts.end_ns = bench.facts.start_ns + 60000000000;
	snprintf(bench.facts.format, sizeof bench.facts.format, "vdif");
	SAYS("scan_check?",
	     "!scan_check? 0 : ? : x : VDIF :  : 2024y124d04h56m00.0000s : "
	     "60.0000s : 107Mbps : 16064 : 8032 ;");
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

SUITE("vsi_settings", modes, protocols, ports, datastreams, disks, scans,
      scans_forgotten, checks)
