/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_VSI_BENCH_H
#define SPATE_TESTS_VSI_BENCH_H

/*
 * A recorder that is only a struct: the test says what it has, and sees what
 * it was told to do.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vsi/vsi.h"
#include "vsi/vsi_file.h"
#include "lib/suite.h"

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

#endif
