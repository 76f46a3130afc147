/* SPDX-License-Identifier: MIT */
/* The commands, one by one, against a recorder that is only a struct. */
#include "lib/vsi_bench.h"

#include "vsi/vsi.c"
#include "vsi/vsi_copy.c"
#include "vsi/vsi_record.c"
#include "vsi/vsi_mode.c"
#include "vsi/vsi_line.c"
#include "vsi/vsi_net.c"

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

/* A recording to somebody who listens, as m5copy has it. */
START_TEST(disk2net)
{
	bench_begin();
	bench.facts.bytes = 5000;
	SAYS("disk2net?", "!disk2net? 0 : inactive ;");
	ck_assert_int_eq(code("disk2net=connect:10.0.0.7"), VSI_CONFLICT);
	SAYS("scan_set=r1_wz_1::", "!scan_set= 0 ;");
	ck_assert_int_eq(code("disk2net=connect:a/b"), VSI_PARAMETER);
	ck_assert_int_eq(code("disk2net=on"), VSI_CONFLICT);
	ck_assert_int_eq(code("disk2net=disconnect"), VSI_CONFLICT);
	ck_assert_int_eq(code("disk2net=dance"), VSI_NEVER);
	SAYS("net_protocol=udps", "!net_protocol= 0 ;");
	ck_assert_int_eq(code("disk2net=connect:10.0.0.7"), VSI_CONFLICT);
	SAYS("net_protocol=tcp", "!net_protocol= 0 ;");
	SAYS("disk2net=connect:10.0.0.7", "!disk2net= 1 ;");
	SAYS("disk2net?", "!disk2net? 0 : connected : 10.0.0.7 ;");
	ck_assert_int_eq(code("disk2net=connect:10.0.0.7"), VSI_CONFLICT);
	ck_assert_int_eq(code("net2file=open:/x"), VSI_CONFLICT);
	ck_assert_int_eq(code("disk2net=on:-5"), VSI_PARAMETER);
	ck_assert_uint_eq(bench.sends, 0);
	bench.sent.runs = true;
	SAYS("disk2net=on:1000:+2000", "!disk2net= 0 ;");
	ck_assert_str_eq(bench.send.name, "r1_wz_1");
	ck_assert_str_eq(bench.send.host, "10.0.0.7");
	ck_assert_uint_eq(bench.send.port, 2630);
	ck_assert(bench.send.plain && bench.send.fd < 0);
	ck_assert_uint_eq(bench.send.from, 1000);
	ck_assert_uint_eq(bench.send.to, 3000);
	bench.sent.bytes = 500;
	SAYS("disk2net?",
	     "!disk2net? 0 : active : 10.0.0.7 : 1000 : 1500 : 3000 ;");
	SAYS("transfermode?", "!transfermode? 0 : disk2net ;");
	ck_assert_int_eq(code("disk2net=on"), VSI_CONFLICT);
	bench.sent.runs = false;
	bench.sent.bytes = 2000;
	SAYS("disk2net?",
	     "!disk2net? 0 : inactive : 10.0.0.7 : 1000 : 3000 : 3000 ;");
	SAYS("disk2net=disconnect", "!disk2net= 1 ;");
	ck_assert_uint_eq(bench.unsends, 1);
	SAYS("disk2net?", "!disk2net? 0 : inactive ;");
}
END_TEST

/* One that was sent before it is asked for was sent all the same, one that the
 * other end has was not, and one that failed says so. */
START_TEST(disk2net_ends)
{
	bench_begin();
	bench.facts.bytes = 5000;
	ask("scan_set=r1_wz_1");
	ask("disk2net=connect:h");
	SAYS("disk2net=on", "!disk2net= 0 ;");
	ck_assert_uint_eq(bench.send.to, 0); /* to the end, wherever it is */
	bench.sent.bytes = 5032;
	SAYS("disk2net?", "!disk2net? 0 : active : h : 0 : 5032 : 5032 ;");
	SAYS("disk2net?", "!disk2net? 0 : inactive : h : 0 : 5032 : 5032 ;");
	ask("disk2net=disconnect");
	ask("disk2net=connect:"); /* the same host again */
	SAYS("disk2net=on:+5000:", "!disk2net= 0 ;");
	ck_assert_uint_eq(bench.sends, 1);
	SAYS("disk2net?", "!disk2net? 0 : inactive : h : 5000 : 5000 : 5000 ;");
	ask("disk2net=connect:");
	SAYS("disk2net=on:+4000:", "!disk2net= 0 ;");
	ck_assert_uint_eq(bench.send.from, 4000);
	bench.sent = (struct vsi_sent){ .failed = true, .why = "it: broke" };
	SAYS("disk2net?", "!disk2net? 4 : it. broke ;");
	SAYS("tstat=", "!tstat= 4 : it. broke ;");
	bench.send_err = -EINVAL;
	ask("disk2net=connect:");
	ck_assert_int_eq(code("disk2net=on"), VSI_FAILED);
	SAYS("disk2net?", "!disk2net? 0 : connected : h ;");
	/* What is being recorded goes as far as it is. */
	ask("disk2net=disconnect");
	bench.send_err = 0;
	ask("record=on:live");
	ask("scan_set=live");
	ask("disk2net=connect:h");
	SAYS("disk2net=on", "!disk2net= 0 ;");
	ck_assert_uint_eq(bench.send.to, 5000);
}
END_TEST

START_TEST(disk2file)
{
	bench_folder = "/data";
	bench_begin();
	bench.facts.bytes = 5000;
	bench.file_facts =
	    (struct vsi_file_facts){ .state = VSI_FILE_DONE, .size = 700 };
	ck_assert_int_eq(code("disk2file=/data/x"), VSI_CONFLICT);
	ask("scan_set=r1_wz_1");
	SAYS("disk2file?", "!disk2file? 0 : inactive ;");
	ck_assert_int_eq(code("disk2file=/data/x:+5"), VSI_PARAMETER);
	ck_assert_int_eq(code("disk2file=/data/x:::z"), VSI_PARAMETER);
	bench.sent.runs = true;
	SAYS("disk2file=/data/x:::resume", "!disk2file= 1 ;");
	ck_assert_int_eq(bench.file.what, VSI_FILE_OUT);
	ck_assert_str_eq(bench.file.name, "/data/x");
	ck_assert_int_eq(bench.file.mode, 'a');
	ck_assert_uint_eq(bench.send.from, 700);
	ck_assert_ptr_null(bench.send.host);
	ck_assert_uint_eq(bench.files, 0);
	bench.sent.bytes = 100;
	SAYS("disk2file?", "!disk2file? 0 : active : /data/x : 700 : 800 : "
			   "5000 : a ;");
	ck_assert_int_eq(code("disk2file=/data/y"), VSI_CONFLICT);
	SAYS("reset=abort", "!reset= 0 ;");
	SAYS("reset=abort", "!reset= 6 : nothing running to abort ;");
	/* As jive5ab calls it where nobody gave it a name; without a mode a
	 * file has to be new. */
	SAYS("disk2file=", "!disk2file= 1 ;");
	ck_assert_str_eq(bench.file.name, "r1_wz_1.m5a");
	ck_assert_int_eq(bench.file.mode, 'n');
	ask("reset=abort");
	bench.file_facts.state = VSI_FILE_FAILED;
	strcpy(bench.file_facts.why, "File exists - /data/x");
	SAYS("disk2file=/data/x", "!disk2file= 4 : File exists - /data/x ;");
	bench_folder = NULL;
	bench_begin();
	bench.facts.bytes = 5000;
	ask("scan_set=r1_wz_1");
	SAYS("disk2file=/data/x", "!disk2file= 4 : no files here ;");
}
END_TEST

START_TEST(files)
{
	bench_folder = "/data";
	bench_begin();
	SAYS("file2net?", "!file2net? 0 : inactive ;");
	ck_assert_int_eq(code("file2net=connect::/data/x"), VSI_PARAMETER);
	ck_assert_int_eq(code("file2net=connect:h"), VSI_PARAMETER);
	bench.file_facts =
	    (struct vsi_file_facts){ .state = VSI_FILE_OPEN, .size = 1000 };
	SAYS("file2net=connect:h:/data/x", "!file2net= 0 ;");
	ck_assert_int_eq(bench.file.what, VSI_FILE_GIVE);
	SAYS("file2net?", "!file2net? 0 : inactive : h ;");
	SAYS("file2net=on", "!file2net= 6 : not connected yet ;");
	bench.file_facts.state = VSI_FILE_CONNECTED;
	SAYS("file2net?", "!file2net? 0 : connected : h ;");
	ck_assert_int_eq(code("file2net=on:5:2000"), VSI_FAILED);
	ck_assert_int_eq(code("file2net=on:-2000"), VSI_FAILED);
	SAYS("file2net=on:-400:-100", "!file2net= 0 ;");
	ck_assert_uint_eq(bench.from, 600);
	ck_assert_uint_eq(bench.to, 900);
	bench.file_facts.bytes = 300;
	SAYS("file2net?", "!file2net? 0 : active : h : 600 : 900 : 900 ;");
	bench.file_facts.state = VSI_FILE_DONE;
	SAYS("file2net?", "!file2net? 0 : inactive : h : 600 : 900 : 900 ;");
	SAYS("file2net=disconnect", "!file2net= 1 ;");
	ck_assert_uint_eq(bench.files, 0);

	SAYS("net2file?", "!net2file? 0 : inactive : 0 ;");
	SAYS("net2file=close", "!net2file= 6 : Not doing net2file yet ;");
	ck_assert_int_eq(code("net2file=open:/data/x,resume"), VSI_PARAMETER);
	bench.file_facts =
	    (struct vsi_file_facts){ .state = VSI_FILE_OPEN, .size = 40 };
	SAYS("net2file=open:/data/x,a", "!net2file= 0 : 40 ;");
	ck_assert_int_eq(bench.file.what, VSI_FILE_TAKE);
	ck_assert_int_eq(bench.file.mode, 'a');
	ck_assert_str_eq(bench.file.name, "/data/x");
	bench.file_facts.bytes = 60;
	SAYS("net2file?", "!net2file? 0 : active : 60 ;");
	bench.file_facts.state = VSI_FILE_DONE;
	SAYS("net2file?", "!net2file? 0 : active : 60 ;");
	SAYS("net2file=close", "!net2file= 0 ;");
	SAYS("net2file?", "!net2file? 0 : inactive : 0 ;");
	bench.file_facts.state = VSI_FILE_OPEN;
	ask("net2file=open:/data/x,a");
	bench.file_facts.state = VSI_FILE_FAILED;
	strcpy(bench.file_facts.why, "No space left");
	SAYS("net2file?", "!net2file? 4 : No space left ;");
	SAYS("net2file=close", "!net2file= 4 : No space left ;");
	ck_assert_uint_eq(bench.files, 0);

	ck_assert_int_eq(code("file_check?"), VSI_PARAMETER);
	bench.file_facts.state = VSI_FILE_DONE;
	SAYS("file_check?::/data/x", "!file_check? 0 : ? ;");
	bench.file_facts.data = (struct vsi_file_data){ .format = "vdif",
							.packet = 8032,
							.tracks = 32,
							.mbps = 512,
							.seconds = 60 };
	SAYS("file_check?::/data/x",
	     "!file_check? 0 : VDIF : 32 : 1970y001d00h00m00.0000s : 60.0000s "
	     ": 16Mbps : 0 : 8032 ;");
	ck_assert_uint_eq(bench.files, 0);
	bench_folder = NULL;
}
END_TEST

START_TEST(vbs_to_vbs)
{
	bench_begin();
	ck_assert_int_eq(code("vbs2net=connect::h"), VSI_CONFLICT);
	SAYS("vbs2net=nthread:2:1", "!vbs2net= 0 ;");
	SAYS("net2vbs=nthread:1:8", "!net2vbs= 0 ;");
	bench.sent.runs = true;
	SAYS("net_port=2631", "!net_port= 0 ;");
	SAYS("vbs2net=connect:r1_wz_1:h", "!vbs2net= 0 ;");
	ck_assert(!bench.send.plain);
	ck_assert_uint_eq(bench.send.port, 2631);
	bench.sent.bytes = 99;
	ck_assert_ptr_nonnull(
	    strstr(ask("tstat="), " : vbs2net : bytes : 99 : "));
	bench.sent.runs = false;
	SAYS("tstat=", "!tstat= 0 : 0.0 : no_transfer ;");
	SAYS("vbs2net=disconnect", "!vbs2net= 1 ;");
	SAYS("net2vbs=open", "!net2vbs= 0 ;");
	SAYS("net2vbs?", "!net2vbs? 0 : active ;");
	SAYS("net2vbs=close", "!net2vbs= 1 ;");
	SAYS("net_port=2630", "!net_port= 0 ;");
	ck_assert_int_eq(code("net2vbs=open"), VSI_FAILED);
	/* By other words a recording. */
	ck_assert_int_eq(code("net2disk=open:x"), VSI_CONFLICT);
	ask("net_protocol=tcp");
	SAYS("net2disk?", "!net2disk? 0 : inactive ;");
	SAYS("net2disk=open:x", "!net2disk= 0 ;");
	ck_assert_str_eq(bench.name, "x");
	bench.facts.received = 10;
	bench.facts.payload = 100;
	SAYS("net2disk?", "!net2disk? 0 : active : 1 : x : 1000 ;");
	SAYS("net2disk=close", "!net2disk= 1 ;");
	ask("record=mk6:1");
	ck_assert_int_eq(code("record=on:y"), VSI_CONFLICT);
}
END_TEST

SUITE("vsi", words, who_it_is, not_done_here, kept, recording,
      recording_renamed, recording_refused, recording_put_off, ended_by_itself,
      counts, while_recording, disk2net, disk2net_ends, disk2file, files,
      vbs_to_vbs)
