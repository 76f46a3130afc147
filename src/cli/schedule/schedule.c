/* SPDX-License-Identifier: MIT */
/*
 * spate schedule: lists what will be recorded and when, as the daemon has it.
 * The subcommands are in schedule_*.c and import.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/field.h"
#include "cli/schedule/import.h"
#include "cli/schedule/schedule.h"
#include "cli/schedule/schedule_show.h"
#include "cli/show/site.h"

/*
 * Reports files with errors on stderr, because with --json each line of stdout
 * is a scan.
 */
static void
files_warn(const json_t *files)
{
	const json_t *file;
	char line[1024];
	size_t i;

	json_array_foreach(files, i, file) {
		if (!field_known(file, "error"))
			continue;
		snprintf(line, sizeof line, "%s", field_text(file, "error"));
		fprintf(stderr, "spate: %s\n", line);
	}
}

static int
list(const struct cli *cli, const struct schedule_args *args)
{
	struct fault fault;
	json_t *result;

	if (site_ask(cli, "schedule-ls", json_pack("{s:b}", "all", args->all),
		     &result, &fault))
		return cli_fail(&fault);
	schedule_show(cli, json_object_get(result, "scans"), SCHEDULE_STATE);
	if (!cli->json && !cli->quiet)
		schedule_show_next(result);
	files_warn(json_object_get(result, "files"));
	json_decref(result);
	return CLI_DONE;
}

static int
usage(const char *what)
{
	static const char *const needs[] = { "add", "rm", "import" };
	struct fault fault;
	bool known = false;

	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		known |= !strcmp(what, needs[i]);
	if (known)
		fault_set(&fault, -EINVAL, "usage", "schedule %s: which one?",
			  what);
	else if (!strcmp(what, "ls") || !strcmp(what, "check"))
		fault_set(&fault, -EINVAL, "usage",
			  "schedule %s: that is too much", what);
	else
		fault_set(&fault, -EINVAL, "usage",
			  "schedule: there is no '%.40s'", what);
	fault_hint(&fault, "spate schedule [ls | add FILE... | rm ID|NAME|FILE"
			   "... | check [FILE] | import FILE]");
	return cli_fail(&fault);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct schedule_args *args = values;
	const char *what = operand[0] ? operand[0] : "ls";
	char **rest = operand[0] ? operand + 1 : operand;

	if (!strcmp(what, "ls") && !*rest)
		return list(cli, args);
	if (!strcmp(what, "add") && *rest)
		return schedule_add(cli, args, rest);
	if (!strcmp(what, "rm") && *rest)
		return schedule_rm(cli, rest);
	if (!strcmp(what, "check") && (!*rest || !rest[1]))
		return schedule_check(cli, rest);
	if (!strcmp(what, "import") && *rest && !rest[1])
		return cli_import(cli, args, *rest);
	return usage(what);
}

#define AT(field) offsetof(struct schedule_args, field)

static const struct args_option options[] = {
	{ "all", 'a', ARGS_FLAG, AT(all), NULL, "ls: what is over, too" },
	{ "dry-run", 'n', ARGS_FLAG, AT(dry), NULL,
	  "add, import: only say what would be" },
	{ "replace", 0, ARGS_FLAG, AT(replace), NULL,
	  "add, import: in place of the file of that name" },
	{ "as", 0, ARGS_TEXT, AT(as), "NAME.conf",
	  "add, import: what the file is called in the folder" },
	{ "station", 0, ARGS_TEXT, AT(station), "CODE",
	  "import: whose scans, as Ef" },
	{ "stream", 's', ARGS_TEXT, AT(streams), "S[,S...]",
	  "import: what the scans record" },
	{ "send", 0, ARGS_TEXT, AT(send), "URL",
	  "import: where each scan is sent to when it is recorded" },
	{ "priority", 0, ARGS_COUNT, AT(priority), "N",
	  "import: what goes before others where room is short" },
	{ .name = NULL },
};

const struct command command_schedule = {
	.name = "schedule",
	.operands = "[ls | add FILE... | rm ID|NAME|FILE... | check [FILE] | "
		    "import FILE]",
	.help = "List what is to be recorded, add to it, or check it",
	.most = 257,
	.options = options,
	.bytes = sizeof(struct schedule_args),
	.run = run,
};
