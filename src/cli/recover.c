/* SPDX-License-Identifier: MIT */
/* spate recover: makes recordings whole that a crash left behind; without a
 * name, all that were interrupted. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/site.h"
#include "store/recording.h"
#include "store/recover.h"

struct mend {
	const struct cli *cli;
	const char *name;
};

static void
say(void *arg, const char *sentence)
{
	const struct mend *m = arg;

	if (!m->cli->json && !m->cli->quiet)
		printf("%s: %s\n", m->name, sentence);
}

static void
print_json(const char *name, const struct recover_report *r)
{
	json_t *line =
	    json_pack("{s:s s:i s:i s:i s:i s:i s:I s:I s:I s:b}", "name", name,
		      "indexed", r->indexed, "rebuilt", r->rebuilt, "empty",
		      r->empty, "unplaced", r->unplaced, "lost", r->lost,
		      "torn", (json_int_t)r->torn, "cut", (json_int_t)r->cut,
		      "packets", (json_int_t)r->packets, "closed", r->closed);

	cli_print_json(line);
	json_decref(line);
}

static void
print_text(const char *name, const struct recover_report *r)
{
	if (!r->rebuilt && !r->empty && !r->torn && !r->cut && !r->closed &&
	    !r->unplaced) {
		printf("%s: there was nothing to do\n", name);
		return;
	}
	printf("%s: %" PRIu64 " packets; %u chunks had records, %u got them "
	       "back",
	       name, r->packets, r->indexed, r->rebuilt);
	if (r->lost)
		printf(", %u are lost", r->lost);
	if (r->unplaced)
		printf(", %u are left, of unknown substreams", r->unplaced);
	putchar('\n');
}

static int
mend(const struct cli *cli, const struct disks *disks, const char *name)
{
	struct recover_report report = { 0 };
	struct mend m = { cli, name };
	struct fault fault;

	if (recover(disks, name, &report, say, &m, &fault) < 0)
		return cli_fail(&fault);
	if (cli->json)
		print_json(name, &report);
	else
		print_text(name, &report);
	return CLI_DONE;
}

/* One without readable metadata needs it as much as one without an end. */
static bool
is_needed(const struct disks *disks, const char *name)
{
	struct recording *rec;
	struct fault fault;
	bool needed;
	int err = recording_open(&rec, disks, name, &fault);

	if (err)
		return err == -ENODATA;
	needed = recording_facts(rec)->state == RECORDING_INTERRUPTED;
	recording_close(rec);
	return needed;
}

static int
mend_all(const struct cli *cli, const struct disks *disks)
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
		if (!is_needed(disks, names[i]))
			continue;
		mended++;
		if (mend(cli, disks, names[i]) != CLI_DONE)
			status = CLI_FAILED;
	}
	if (!mended && !cli->json && !cli->quiet)
		printf("none of %zu recordings was interrupted\n", n);
	free(names);
	return status;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct disks disks;
	struct fault fault;
	int status;

	(void)values;
	if (site_disks(cli, &disks, &fault) < 0)
		return cli_fail(&fault);
	if (*operand)
		status = mend(cli, &disks, *operand);
	else
		status = mend_all(cli, &disks);
	disks_clear(&disks);
	return status;
}

const struct command command_recover = {
	.name = "recover",
	.operands = "[NAME]",
	.help = "Make recordings whole that a crash left behind",
	.most = 1,
	.eased = true,
	.run = run,
};
