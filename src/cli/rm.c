/* SPDX-License-Identifier: MIT */
/*
 * spate rm: removes recordings, one after the other.  With a pattern, or to
 * show what would happen, it looks at all of them first.  A recording that
 * cannot be removed is reported, and the others are removed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/rm_each.h"
#include "cli/show/table.h"

struct rm_args {
	bool dry, yes, force;
};

static bool
is_set(const json_t *facts, const char *key)
{
	return json_is_true(json_object_get(facts, key));
}

/* Returns why a recording will not be removed; NULL: it will. */
static const char *
obstacle(const json_t *facts, bool force)
{
	if (field_known(facts, "why"))
		return field_text(facts, "why");
	if (is_set(facts, "protected"))
		return "stays: protected";
	if (is_set(facts, "live"))
		return "stays: being recorded";
	if (is_set(facts, "read") && !force)
		return "stays: being read";
	if (field_number(facts, "extras") && !force)
		return "stays: other files in its folder";
	return NULL;
}

/*
 * Looks at each recording; one that cannot be looked at gets the reason as
 * "why".
 */
static json_t *
look(struct remover *r, const json_t *names)
{
	json_t *all = json_array(), *facts;
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) {
		const char *text = json_string_value(name);
		struct fault fault;
		char line[256];

		if (remover_look(r, text, &facts, &fault)) {
			snprintf(line, sizeof line, "stays: %.200s",
				 fault.what);
			facts =
			    json_pack("{s:s, s:s}", "name", text, "why", line);
		}
		json_array_append_new(all, facts);
	}
	return all;
}

/* Returns how many would be removed; *bytes is what that frees. */
static size_t
count(const json_t *all, bool force, uint64_t *bytes)
{
	const json_t *facts;
	size_t i, n = 0;

	*bytes = 0;
	json_array_foreach(all, i, facts) {
		if (obstacle(facts, force))
			continue;
		*bytes += field_number(facts, "bytes");
		n++;
	}
	return n;
}

static const char *
note(const json_t *facts, bool force)
{
	const char *stays = obstacle(facts, force);

	if (stays)
		return stays;
	if (json_array_size(json_object_get(facts, "away")))
		return "parts of it are on disks that are not there";
	return is_set(facts, "begun") ? "its removal was cut short" : "";
}

static void
show(const json_t *all, bool force)
{
	static const struct table_column columns[] = { { "name", false },
						       { "frees", true },
						       { "files", true },
						       { "disks", true },
						       { "", false } };
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	char text[UNITS_TEXT];
	const json_t *facts;
	uint64_t bytes;
	size_t i, n = count(all, force, &bytes);

	json_array_foreach(all, i, facts) {
		table_cell(t, "%s", field_text(facts, "name"));
		table_cell(
		    t, "%s",
		    units_show_bytes(text, field_number(facts, "bytes")));
		table_cell(t, "%" PRIu64, field_number(facts, "files"));
		table_cell(t, "%zu",
			   json_array_size(json_object_get(facts, "disks")));
		table_cell(t, "%s", note(facts, force));
	}
	table_print(t, 0, stdout);
	table_close(t);
	printf("%zu of %zu would be removed, which frees %s\n", n,
	       json_array_size(all), units_show_bytes(text, bytes));
}

static int
dry(const struct cli *cli, const json_t *all, bool force)
{
	const json_t *facts;
	size_t i;

	if (!cli->json)
		show(all, force);
	json_array_foreach(all, i, facts) {
		if (cli->json)
			cli_print_json(facts);
	}
	return CLI_DONE;
}

/*
 * Asks for confirmation, because a pattern may match more than its user thinks.
 */
static int
confirm(const struct cli *cli, const json_t *all, bool force,
	struct fault *fault)
{
	char answer[16] = "";

	if (cli->json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fault_set(fault, -EINVAL, "usage",
			  "a pattern removes nothing without --yes");
		fault_hint(fault, "--dry-run shows what it means");
		return -EINVAL;
	}
	show(all, force);
	printf("Remove them? Type yes: ");
	fflush(stdout);
	if (fgets(answer, sizeof answer, stdin) && !strcmp(answer, "yes\n"))
		return 0;
	fault_set(fault, -ECANCELED, "busy", "nothing was removed");
	fault_why(fault, "the answer was not \"yes\"");
	return -ECANCELED;
}

static void
tell(const struct cli *cli, const json_t *facts)
{
	const json_t *away = json_object_get(facts, "away"), *path;
	char text[UNITS_TEXT];
	size_t i;

	if (cli->json) {
		cli_print_json(facts);
	} else {
		printf("%s removed, %s on %zu disks\n",
		       field_text(facts, "name"),
		       units_show_bytes(text, field_number(facts, "bytes")),
		       json_array_size(json_object_get(facts, "disks")));
		fflush(stdout);
	}
	json_array_foreach(away, i, path)
		fprintf(stderr,
			"spate: %s is not there: what it has of %s stays\n",
			json_string_value(path), field_text(facts, "name"));
}

static int
remove_all(const struct cli *cli, struct remover *r, const json_t *names,
	   bool force)
{
	int status = CLI_DONE;
	const json_t *name;
	json_t *facts;
	size_t i;

	json_array_foreach(names, i, name) {
		struct fault fault;

		if (remover_remove(r, json_string_value(name), force, &facts,
				   &fault)) {
			status = cli_fail(&fault);
			continue;
		}
		tell(cli, facts);
		json_decref(facts);
	}
	return status;
}

static int
act(const struct cli *cli, const struct rm_args *args, struct remover *r,
    const json_t *names, bool patterns)
{
	struct fault fault;
	json_t *all = NULL;
	int status;

	if (args->dry || (patterns && !args->yes))
		all = look(r, names);
	if (args->dry)
		status = dry(cli, all, args->force);
	else if (all && confirm(cli, all, args->force, &fault) != 0)
		status = cli_fail(&fault);
	else
		status = remove_all(cli, r, names, args->force);
	json_decref(all);
	return status;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct rm_args *args = values;
	struct fault fault;
	struct remover r;
	bool patterns;
	json_t *names = names_meant(cli, operand, &patterns, &fault);
	int status;

	if (!names)
		return cli_fail(&fault);
	if (remover_open(&r, cli, &fault))
		status = cli_fail(&fault);
	else
		status = act(cli, args, &r, names, patterns);
	remover_close(&r);
	json_decref(names);
	return status;
}

static const struct args_option options[] = {
	{ "dry-run", 'n', ARGS_FLAG, offsetof(struct rm_args, dry), NULL,
	  "show what would go, and what that frees; remove nothing" },
	{ "yes", 'y', ARGS_FLAG, offsetof(struct rm_args, yes), NULL,
	  "do not ask: patterns need this where there is no terminal" },
	{ "force", 0, ARGS_FLAG, offsetof(struct rm_args, force), NULL,
	  "also what is being read, and other files in its folder" },
	{ .name = NULL },
};

const struct command command_rm = {
	.name = "rm",
	.operands = "NAME|PATTERN...",
	.help = "Remove recordings from all disks",
	.least = 1,
	.most = 64,
	.options = options,
	.bytes = sizeof(struct rm_args),
	.eased = true,
	.run = run,
};
