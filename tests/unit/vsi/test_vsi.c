/* SPDX-License-Identifier: MIT */
/*
 * The commands, one by one, against a recorder that is only a struct: the test
 * says what it has, and sees what it was told to do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/suite.h"
#include "vsi/vsi.c"
#include "vsi/vsi.h"
#include "vsi/vsi_copy.c"
#include "vsi/vsi_file.h"
#include "vsi/vsi_line.c"
#include "vsi/vsi_mode.c"
#include "vsi/vsi_net.c"
#include "vsi/vsi_record.c"

static struct bench {
	struct vsi v;
	struct vsi_settings settled;
	struct vsi_facts facts;
	struct vsi_space space;
	bool runs, rename;
	char name[VSI_NAME], stopped[VSI_NAME];
	const char *rename_to; /* NULL: as it is */
	int record_err, settle_err;
	unsigned records, disks;
	unsigned sends, unsends;
	int send_err;
	struct vsi_send send;
	struct vsi_sent sent;
	struct vsi_file_args file;
	struct vsi_file_facts file_facts;
	unsigned files; /* that are open */
	uint64_t from, to;
	struct vsi_reply reply;
} bench;

static const char *bench_folder;
static struct option_texts bench_files;

static int
bench_record(void *arg, char name[VSI_NAME], bool rename, struct fault *fault)
{
	(void)arg;
	bench.records++;
	bench.rename = rename;
	if (bench.record_err)
		return fault_set(fault, bench.record_err, "no-disk",
				 "cannot: no disk; at all");
	if (bench.rename_to)
		snprintf(name, VSI_NAME, "%s", bench.rename_to);
	snprintf(bench.name, sizeof bench.name, "%s", name);
	bench.runs = true;
	return 0;
}

static void
bench_stop(void *arg, const char *name)
{
	(void)arg;
	bench.runs = false;
	snprintf(bench.stopped, sizeof bench.stopped, "%s", name);
}

static bool
bench_runs(void *arg, const char *name)
{
	(void)arg;
	return bench.runs && !strcmp(name, bench.name);
}

static void
bench_facts(void *arg, const char *name, struct vsi_facts *f)
{
	(void)arg;
	*f = bench.facts;
	f->known &= strcmp(name, "nobody") != 0;
}

static void
bench_space(void *arg, struct vsi_space *s)
{
	(void)arg;
	*s = bench.space;
}

static const char *
bench_disk(void *arg, unsigned i)
{
	static const char *const path[] = { "/mnt/disk0", "/mnt/disk1",
					    "/data/x" };

	(void)arg;
	return i < bench.disks ? path[i] : NULL;
}

static int
bench_settle(void *arg, const struct vsi_settings *s, struct fault *fault)
{
	(void)arg;
	if (bench.settle_err)
		return fault_set(fault, bench.settle_err, "conf", "cannot be");
	bench.settled = *s;
	return 0;
}

static const char *
bench_format(void *arg, uint32_t *payload, uint32_t *prefix, uint16_t *port)
{
	(void)arg;
	*payload = 8032;
	*prefix = 8;
	*port = 46227;
	return "vdif";
}

static int
bench_send(void *arg, const struct vsi_send *s, unsigned *id,
	   struct fault *fault)
{
	(void)arg;
	bench.sends++;
	bench.send = *s;
	if (s->fd >= 0)
		close(s->fd);
	*id = 7;
	return bench.send_err
		   ? fault_set(fault, bench.send_err, "usage", "cannot be sent")
		   : 0;
}

static void
bench_sent(void *arg, unsigned id, struct vsi_sent *s)
{
	(void)arg;
	ck_assert_uint_eq(id, 7);
	*s = bench.sent;
}

static void
bench_unsend(void *arg, unsigned id)
{
	(void)arg;
	ck_assert_uint_eq(id, 7);
	bench.unsends++;
}

static bool
bench_inbox(void *arg, uint16_t port)
{
	(void)arg;
	return port == 2631;
}

/* A file that is only a struct, too. */
struct vsi_file {
	int none;
};

int
vsi_file_start(struct vsi_file **file, const struct vsi_file_args *args,
	       struct fault *fault)
{
	static struct vsi_file one;

	bench.file = *args;
	if (!args->folders->n)
		return fault_set(fault, -EPERM, "usage", "no files here");
	*file = &one;
	bench.files++;
	return 0;
}

void
vsi_file_go(struct vsi_file *f, uint64_t from, uint64_t to)
{
	(void)f;
	bench.from = from;
	bench.to = to;
	bench.file_facts.state = VSI_FILE_RUNNING;
}

void
vsi_file_facts(const struct vsi_file *f, struct vsi_file_facts *facts)
{
	(void)f;
	*facts = bench.file_facts;
}

int
vsi_file_take(struct vsi_file *f)
{
	(void)f;
	return dup(0);
}

void
vsi_file_stop(struct vsi_file *f)
{
	bench.files -= f != NULL;
}

static void
bench_runtime(void *arg, const struct vsi_command *c, struct vsi_reply *r)
{
	(void)arg;
	vsi_say(r, VSI_DONE, "%s", c->query ? "default : 1" : vsi_field(c, 0));
}

static void
bench_begin(void)
{
	static const struct vsi_host host = {
		.record = bench_record,
		.stop = bench_stop,
		.runs = bench_runs,
		.facts = bench_facts,
		.space = bench_space,
		.disk = bench_disk,
		.settle = bench_settle,
		.format = bench_format,
		.send = bench_send,
		.sent = bench_sent,
		.unsend = bench_unsend,
		.inbox = bench_inbox,
		.files = &bench_files,
		.allow = &bench_files,
		.runtime = bench_runtime,
	};

	memset(&bench, 0, sizeof bench);
	bench.disks = 2;
	bench_files = (struct option_texts){ .text = &bench_folder,
					     .n = bench_folder != NULL };
	bench.facts.known = true;
	vsi_init(&bench.v, &host);
}

/* The reply to one command. */
static const char *
ask(const char *of)
{
	static char text[VSI_COMMAND];
	struct vsi_command c;
	const char *why;

	snprintf(text, sizeof text, "%s", of);
	ck_assert_int_eq(vsi_command_parse(&c, text, &why), 0);
	vsi_reply_begin(&bench.reply, &c);
	ck_assert(vsi_command(&bench.v, &c, &bench.reply));
	vsi_reply_end(&bench.reply);
	return bench.reply.text;
}

#define SAYS(command, reply) ck_assert_str_eq(ask(command), reply)

/* Only the code matters, and that there are words. */
static int
code(const char *command)
{
	const char *text = ask(command);
	int n = -1;

	ck_assert_int_eq(sscanf(text, "!%*[a-z0-9_]%*1[=?] %d", &n), 1);
	if (n > 1)
		ck_assert_msg(strlen(strchr(text, ':')) > 6, "%s", text);
	return n;
}

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

/* ---- what is received, disks and scans --------------------------------- */

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

SUITE("vsi", words, who_it_is, not_done_here, kept, recording,
      recording_renamed, recording_refused, recording_put_off, ended_by_itself,
      counts, while_recording, disk2net, disk2net_ends, disk2file, files,
      vbs_to_vbs, modes, protocols, ports, datastreams, disks, scans,
      scans_forgotten, checks)
