/* SPDX-License-Identifier: MIT */
/*
 * spate scrub and spate rebuild: mend what the disks of recordings do not give, by
 * their parity.  Without a name all recordings are looked at that have ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/mend.h"
#include "cli/show/site.h"
#include "cli/show/terminal.h"
#include "store/recording/recording.h"
#include "store/repair/mend.h"

struct mend_options {
	bool dry_run;
};

typedef int mend_function(const struct disks *disks, const char *name,
			  const struct mend_args *args,
			  struct mend_report *report, struct fault *fault);

struct mend_run {
	const struct cli *cli;
	bool dry_run;
	bool rebuilds; /* else it scrubs */
	struct progress_bar progress;
	const char *name;
	unsigned lost; /* chunks, of all recordings */
};

static void
say(void *arg, const char *sentence)
{
	struct mend_run *m = arg;

	if (m->cli->json || m->cli->quiet)
		return;
	progress_hide(&m->progress);
	printf("%s: %s\n", m->name, sentence);
}

static void
progress(void *arg, uint64_t done, uint64_t of)
{
	struct mend_run *m = arg;

	m->progress.total = of;
	progress_show(&m->progress, done);
}

static void
print_json(const struct mend_run *m, const struct mend_report *r)
{
	json_t *line =
	    json_pack("{s:s s:b s:i s:i s:i s:i s:I}", "name", m->name,
		      "dry_run", m->dry_run, "chunks", (int)r->chunks, "parity",
		      (int)r->parity, "lost", (int)r->lost, "unprotected",
		      (int)r->left, "bytes", (json_int_t)r->bytes);

	cli_print_json(line);
	json_decref(line);
}

static void
print_text(const struct mend_run *m, const struct mend_report *r)
{
	char text[UNITS_TEXT];

	if (m->cli->quiet)
		return;
	printf("%s:", m->name);
	if (r->bytes)
		printf(" %s read back,", units_show_bytes(text, r->bytes));
	if (!r->chunks && !r->parity && !r->lost)
		printf(" there was nothing to %s",
		       m->rebuilds ? "rebuild" : "mend");
	else
		printf(" %u chunks and %u parity blocks %s", r->chunks,
		       r->parity, m->rebuilds ? "rebuilt" : "mended");
	if (r->lost)
		printf(", %u chunks are lost", r->lost);
	if (r->left)
		printf("; %u chunks have no parity", r->left);
	printf("%s\n",
	       m->dry_run ? "; nothing was done yet, this was a dry run" : "");
}

static int
mend_one(struct mend_run *m, const struct disks *disks, const char *name,
	 struct fault *fault)
{
	const struct mend_args args = { .dry_run = m->dry_run,
					.say = say,
					.progress = progress,
					.arg = m };
	mend_function *function = m->rebuilds ? rebuild : scrub;
	struct mend_report report = { 0 };
	struct fault none;
	int err;

	m->name = name;
	m->progress =
	    (struct progress_bar){ .what = m->rebuilds ? "rebuild" : "scrub",
				   .bytes = true,
				   .quiet = m->cli->quiet };
	progress_start(&m->progress);
	err = function(disks, name, &args, &report, fault);
	progress_hide(&m->progress);
	if (err < 0)
		return err;
	/* The daemon reads it again; without one nobody needs to be told. */
	if (!m->dry_run && !m->cli->disks && (report.chunks || report.parity))
		site_ask(m->cli, "look", json_pack("{s:s}", "name", name), NULL,
			 &none);
	if (m->cli->json)
		print_json(m, &report);
	else
		print_text(m, &report);
	m->lost += report.lost;
	return 0;
}

/* Those that are being recorded, or are another program's, are passed by. */
static int
mend_all(struct mend_run *m, const struct disks *disks)
{
	int status = CLI_DONE, err;
	struct fault fault;
	char **names = NULL;
	size_t n = 0;

	err = recording_list(disks, &names, &n);
	if (err) {
		fault_set(&fault, err, "io", "cannot list the disks");
		fault_why(&fault, "%s", strerror(-err));
		return cli_fail(&fault);
	}
	for (size_t i = 0; i < n; i++) {
		err = mend_one(m, disks, names[i], &fault);
		if (err && err != -EBUSY && err != -EINVAL)
			status = cli_fail(&fault);
	}
	free(names);
	return status;
}

static int
conclude(const struct mend_run *m)
{
	struct fault fault;

	if (!m->lost)
		return CLI_DONE;
	fault_set(&fault, -ENODATA, "io", "%u chunks cannot be %s", m->lost,
		  m->rebuilds ? "rebuilt" : "mended");
	fault_why(&fault, "more of their groups is bad or away than parity "
			  "makes up for, or they have none");
	fault_hint(&fault, "mount the disks that are away, and try again; "
			   "spate export fills what cannot be read");
	return cli_fail(&fault);
}

int
mend_run(const struct cli *cli, bool rebuilds, bool dry_run, const char *name,
	 const char *without)
{
	struct mend_run m = { .cli = cli,
			      .rebuilds = rebuilds,
			      .dry_run = dry_run };
	struct disks disks;
	struct fault fault;
	int status = CLI_DONE;

	if (site_disks(cli, &disks, &fault) < 0)
		return cli_fail(&fault);
	for (unsigned i = 0; without && i < disks.n; i++) {
		if (!strcmp(disks.disk[i].path, without))
			disk_close(&disks.disk[i]);
	}
	if (!name)
		status = mend_all(&m, &disks);
	else if (mend_one(&m, &disks, name, &fault))
		status = cli_fail(&fault);
	disks_clear(&disks);
	return status == CLI_DONE ? conclude(&m) : status;
}

static int
run_scrub(const struct cli *cli, const void *values, char **operand)
{
	const struct mend_options *o = values;

	return mend_run(cli, false, o->dry_run, *operand, NULL);
}

static int
run_rebuild(const struct cli *cli, const void *values, char **operand)
{
	const struct mend_options *o = values;

	return mend_run(cli, true, o->dry_run, *operand, NULL);
}

static const struct args_option options[] = {
	{ "dry-run", 'n', ARGS_FLAG, offsetof(struct mend_options, dry_run),
	  NULL, "say what would be done, and do nothing" },
	{ .name = NULL },
};

const struct command command_scrub = {
	.name = "scrub",
	.operands = "[NAME]",
	.help = "Read recordings back, and mend by their parity what is wrong",
	.most = 1,
	.options = options,
	.bytes = sizeof(struct mend_options),
	.run = run_scrub,
};

const struct command command_rebuild = {
	.name = "rebuild",
	.operands = "[NAME]",
	.help = "Put what was on a dead disk onto the others, by parity",
	.most = 1,
	.options = options,
	.bytes = sizeof(struct mend_options),
	.run = run_rebuild,
};
