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

#include "daemon/vsi.h"
#include "unit/suite.h"

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
	struct vsi_reply reply;
} bench;

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
		.runtime = bench_runtime,
	};

	memset(&bench, 0, sizeof bench);
	bench.disks = 2;
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
