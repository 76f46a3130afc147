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
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/terminal.h"
#include "store/disk/configured.h"
#include "store/disk/remote.h"
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
	bool rebuilds;	     /* else it scrubs */
	const char *without; /* a disk that is emptied; NULL: none */
	struct progress_bar progress;
	const char *name;
	unsigned lost, failed, left; /* of all recordings */
	bool away, few;		     /* of one of them */
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
	json_t *line = json_pack(
	    "{s:s s:b s:i s:i s:i s:i s:i s:i s:I}", "name", m->name, "dry_run",
	    m->dry_run, "chunks", (int)r->chunks, "parity", (int)r->parity,
	    "lost", (int)r->lost, "failed", (int)r->failed, "unprotected",
	    (int)r->left, "away", (int)r->away, "bytes", (json_int_t)r->bytes);

	cli_print_json(line);
	json_decref(line);
}

/* Says how many chunks are on disks that are away, which scrub leaves alone. */
static void
print_away(const struct mend_run *m, const struct mend_report *r)
{
	if (!r->away || m->rebuilds)
		return;
	printf("; %u chunk%s on disks that are away", r->away,
	       r->away > 1 ? "s are" : " is");
	if (r->given)
		printf(": spate rebuild %s puts %u of them onto the others",
		       m->name, r->given);
	else
		printf(", and parity gives none of them");
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
	if (!r->chunks && !r->parity && !r->lost && !r->failed)
		printf(" there was nothing to %s",
		       m->rebuilds ? "rebuild" : "mend");
	else
		printf(" %u chunks and %u parity blocks %s%s", r->chunks,
		       r->parity, m->dry_run ? "would be " : "",
		       m->rebuilds ? "rebuilt" : "mended");
	if (r->lost)
		printf(", %u chunks are lost", r->lost);
	if (r->failed)
		printf(", %u could not be %s", r->failed,
		       m->rebuilds ? "rebuilt" : "mended");
	if (r->left)
		printf("; %u chunks have less parity than configured", r->left);
	print_away(m, r);
	printf("%s\n",
	       m->dry_run ? "; nothing was done yet, this was a dry run" : "");
}

static int
mend_one(struct mend_run *m, const struct disks *disks, const char *name,
	 struct fault *fault)
{
	const struct mend_args args = { .dry_run = m->dry_run,
					.from = m->without,
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
	if (report.renamed && !m->dry_run && !m->cli->json && !m->cli->quiet)
		show_renamed(name);
	m->lost += report.lost;
	m->failed += report.failed;
	m->left += report.left;
	m->away |= report.away > 0;
	m->few |= report.few;
	return 0;
}

static int
names_of(const struct disks *disks, char ***names, size_t *n)
{
	int err = recording_list(disks, names, n);
	struct fault fault;

	if (!err)
		return CLI_DONE;
	fault_set(&fault, err, "io", "cannot list the disks");
	fault_why(&fault, "%s", strerror(-err));
	return cli_fail(&fault);
}

static bool
is_among(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

/* Another program's recordings have no parity, and are passed by. */
static int
mend_all(struct mend_run *m, const struct disks *disks, char *const *names,
	 size_t n)
{
	int status = CLI_DONE, err;
	struct fault fault;

	for (size_t i = 0; i < n; i++) {
		err = mend_one(m, disks, names[i], &fault);
		if (err == -EINVAL && !m->cli->quiet && !m->cli->json)
			printf("%s: passed by, another program made it\n",
			       names[i]);
		if (err && err != -EINVAL)
			status = cli_fail(&fault);
	}
	return status;
}

static int
foreign_stays(const struct disks *one, const char *name, const char *path)
{
	struct recording *rec;
	struct fault fault;
	bool ours;

	if (recording_open_by_index(&rec, one, name, &fault))
		return CLI_DONE;
	ours = !strcmp(recording_facts(rec)->made_by, "spate");
	recording_close(rec);
	if (ours)
		return CLI_DONE;
	fault_set(&fault, -ENOTSUP, "refused", "what %s has of %s stays there",
		  path, name);
	fault_why(&fault, "another program made it");
	return cli_fail(&fault);
}

/* Names the recordings of a disk that is emptied which no other disk has anything
 * of, so that they cannot be rebuilt: `names` are those of the others. */
static int
alone_name(const struct mend_run *m, char *const *names, size_t n)
{
	struct disk disk = { .path = strdup(m->without), .fd = -1 };
	const struct disks one = { .disk = &disk, .n = 1 };
	int status = CLI_DONE;
	char **own = NULL;
	struct fault fault;
	size_t owns = 0;

	if (disk.path && !disk_open(&disk) && !names_of(&one, &own, &owns)) {
		for (size_t i = 0; i < owns; i++) {
			if (is_among(names, n, own[i])) {
				status |=
				    foreign_stays(&one, own[i], m->without);
				continue;
			}
			fault_set(&fault, -ENODATA, "refused",
				  "%s lies on %s alone", own[i], m->without);
			fault_hint(&fault, "copy it before the disk is wiped");
			status |= cli_fail(&fault);
		}
	}
	free(own);
	if (disk.fd >= 0)
		disk_close(&disk);
	free(disk.path);
	return status;
}

static int
mend_named(struct mend_run *m, const struct disks *disks)
{
	char **names = NULL;
	size_t n = 0;
	int status = names_of(disks, &names, &n);

	if (status != CLI_DONE)
		return status;
	status = mend_all(m, disks, names, n);
	if (m->without)
		status |= alone_name(m, names, n);
	free(names);
	return status;
}

static int
conclude(const struct mend_run *m)
{
	const char *done = m->rebuilds ? "rebuilt" : "mended";
	struct fault fault;

	if (m->lost) {
		fault_set(&fault, -ENODATA, "io", "%u chunks cannot be %s",
			  m->lost, done);
		fault_why(&fault,
			  "more of their groups is bad or away than parity "
			  "makes up for, or they have none");
		fault_hint(&fault, "%sspate export fills what cannot be read",
			   m->away ? "mount the disks that are away, and try "
				     "again; "
				   : "");
		return cli_fail(&fault);
	}
	if (m->failed) {
		fault_set(&fault, -EIO, "io",
			  "%u chunks or parity blocks could not be %s",
			  m->failed, done);
		fault_hint(&fault,
			   "run spate %s again when what is said above "
			   "is mended",
			   m->rebuilds ? "rebuild" : "scrub");
		return cli_fail(&fault);
	}
	if (m->left && m->rebuilds) {
		fault_set(&fault, -ENOSPC, "refused",
			  "%u chunks have less parity than configured",
			  m->left);
		if (m->few)
			fault_why(&fault, "too few disks are there for it");
		else
			fault_hint(&fault, "spate verify names what is wrong");
		return cli_fail(&fault);
	}
	return CLI_DONE;
}

int
mend_run(const struct cli *cli, bool rebuilds, bool dry_run, const char *name,
	 const char *without)
{
	struct mend_run m = { .cli = cli,
			      .rebuilds = rebuilds,
			      .without = without,
			      .dry_run = dry_run };
	struct disks disks;
	struct fault fault;
	int status = CLI_DONE;

	/* Rebuilt blocks may go to a new disk. */
	if (rebuilds && !dry_run)
		remote_makes();
	if (site_disks(cli, &disks, &fault) < 0)
		return cli_fail(&fault);
	if (!cli->disks)
		disks_reserve(cli->conf, &disks);
	for (unsigned i = 0; without && i < disks.n; i++) {
		if (!strcmp(disks.disk[i].path, without))
			disk_close(&disks.disk[i]);
	}
	if (!name)
		status = mend_named(&m, &disks);
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
