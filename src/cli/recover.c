/* SPDX-License-Identifier: MIT */
/*
 * spate recover: repairs recordings that a crash left incomplete.  Without a
 * name it repairs all that need it and are not being recorded.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/cli.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/terminal.h"
#include "store/recording/recording.h"
#include "store/finish/recover.h"

struct recover_options {
	bool dry_run;
};

struct recover_run {
	const struct cli *cli;
	const struct recover_options *options;
	struct progress_bar progress;
	const char *name;
};

static void
say(void *arg, const char *sentence)
{
	struct recover_run *m = arg;

	if (m->cli->json || m->cli->quiet)
		return;
	progress_hide(&m->progress);
	printf("%s: %s\n", m->name, sentence);
}

static void
progress(void *arg, uint64_t done, uint64_t of)
{
	struct recover_run *m = arg;

	m->progress.total = of;
	progress_show(&m->progress, done);
}

static void
print_json(const struct recover_run *m, const struct recover_report *r)
{
	json_t *line = json_pack(
	    "{s:s s:b s:i s:i s:i s:i s:i s:i s:i s:I s:I s:I s:i s:b s:i}",
	    "name", m->name, "dry_run", m->options->dry_run, "indexed",
	    r->indexed, "rebuilt", r->rebuilt, "empty", r->empty, "unplaced",
	    r->unplaced, "lost", r->lost, "aside", r->aside, "failed",
	    r->failed, "torn", (json_int_t)r->torn, "cut", (json_int_t)r->cut,
	    "packets", (json_int_t)r->packets, "parity", (int)r->parity,
	    "closed", r->closed, "disks_away", (int)r->disks_away);

	cli_print_json(line);
	json_decref(line);
}

/* Says what the counts are without. */
static void
print_away(const char *name, const struct recover_report *r)
{
	if (!r->disks_away)
		return;
	printf("%s: %u of its disks %s away, whose chunks are not counted here",
	       name, r->disks_away, r->disks_away > 1 ? "are" : "is");
	if (r->computed)
		printf("; parity gives %u of them, and spate rebuild %s puts "
		       "these onto the others",
		       r->computed, name);
	printf("; run spate recover %s again when disks are back\n", name);
}

static void
print_text(const char *name, const struct recover_report *r, bool dry_run)
{
	if (!r->rebuilt && !r->empty && !r->torn && !r->cut && !r->closed &&
	    !r->unplaced && !r->aside && !r->failed && !r->parity) {
		printf("%s: there was nothing to do\n", name);
		return;
	}
	printf("%s: %" PRIu64 " packets; %u chunks had records, %u got them "
	       "back",
	       name, r->packets, r->indexed, r->rebuilt);
	if (r->lost)
		printf(", %u are lost", r->lost);
	if (r->aside)
		printf(", %u are renamed", r->aside);
	if (r->failed)
		printf(", %u could not be written", r->failed);
	if (r->unplaced)
		printf(", %u are left, of unknown substreams", r->unplaced);
	if (dry_run)
		printf("; nothing was done yet, this was a dry run");
	putchar('\n');
}

/*
 * Has the daemon read the recording again; without a daemon nothing needs to be
 * told.
 */
static void
tell_daemon(const struct cli *cli, const char *name)
{
	struct fault none;

	if (!cli->disks)
		site_ask(cli, "look", json_pack("{s:s}", "name", name), NULL,
			 &none);
}

static int
mend(struct recover_run *m, const struct disks *disks, const char *name)
{
	struct recover_args args = { .dry_run = m->options->dry_run,
				     .say = say,
				     .progress = progress,
				     .arg = m };
	struct recover_report report = { 0 };
	struct fault fault;
	int err;

	m->name = name;
	m->progress = (struct progress_bar){ .what = "recover",
					     .bytes = true,
					     .quiet = m->cli->quiet };
	progress_start(&m->progress);
	err = recover(disks, name, &args, &report, &fault);
	progress_hide(&m->progress);
	if (err < 0)
		return cli_fail(&fault);
	if (!args.dry_run)
		tell_daemon(m->cli, name);
	if (m->cli->json)
		print_json(m, &report);
	else
		print_text(name, &report, args.dry_run);
	if (!m->cli->json)
		print_away(name, &report);
	if (report.renamed && !args.dry_run && !m->cli->json)
		show_renamed(name);
	if (!report.failed)
		return CLI_DONE;
	fault_set(&fault, -EIO, "io",
		  "%u chunks of %s could not be written again", report.failed,
		  name);
	fault_hint(
	    &fault,
	    "their parity gives them; run spate rebuild %s when the disk "
	    "takes data",
	    name);
	return cli_fail(&fault);
}

static int
mend_all(struct recover_run *m, const struct disks *disks)
{
	int status = CLI_DONE, err;
	char **names = NULL;
	struct fault fault;
	size_t n = 0, mended = 0;

	err = recording_list(disks, &names, &n);
	if (err) {
		fault_set(&fault, err, "io", "cannot list the disks");
		fault_why(&fault, "%s", strerror(-err));
		return cli_fail(&fault);
	}
	for (size_t i = 0; i < n; i++) {
		if (!recover_needed(disks, names[i]))
			continue;
		mended++;
		if (mend(m, disks, names[i]) != CLI_DONE)
			status = CLI_FAILED;
	}
	if (!mended && !m->cli->json && !m->cli->quiet)
		printf("none of %zu recordings needs it\n", n);
	free(names);
	return status;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct recover_run m = { .cli = cli, .options = values };
	struct disks disks;
	struct fault fault;
	int status;

	if (site_disks(cli, &disks, &fault) < 0)
		return cli_fail(&fault);
	if (*operand)
		status = mend(&m, &disks, *operand);
	else
		status = mend_all(&m, &disks);
	disks_clear(&disks);
	return status;
}

static const struct args_option options[] = {
	{ "dry-run", 'n', ARGS_FLAG, offsetof(struct recover_options, dry_run),
	  NULL, "say what would be done, and do nothing" },
	{ .name = NULL },
};

const struct command command_recover = {
	.name = "recover",
	.operands = "[NAME]",
	.help = "Make recordings whole that a crash left behind",
	.most = 1,
	.options = options,
	.bytes = sizeof(struct recover_options),
	.eased = true,
	.run = run,
};
