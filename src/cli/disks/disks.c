/* SPDX-License-Identifier: MIT */
/*
 * spate disks: lists the disks as the daemon sees them; without a daemon, how
 * full they are.  disks_test.c has `spate disks test`.
 *
 * add and drop handle and report each disk on its own, so that one failure does
 * not stop the others: a user who drops a whole module of disks is not left in
 * the middle.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/disks/disks.h"
#include "cli/mend.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "store/disk/disk_keys.h"

/* ---- add and drop -------------------------------------------------- */

/*
 * Makes a path absolute, because the daemon has another working directory.  The
 * caller frees it; NULL: no memory.
 */
static char *
absolute(const char *path)
{
	char *here, *text = NULL;

	if (disk_is_absolute(path))
		return strdup(path);
	here = getcwd(NULL, 0);
	if (here && asprintf(&text, "%s/%s", here, path) < 0)
		text = NULL;
	free(here);
	return text;
}

static void
say_added(const json_t *result)
{
	const json_t *disk = json_object_get(result, "disk");
	char left[UNITS_TEXT];

	printf("%s takes part: %s free, writes with %s\n",
	       field_text(result, "path"),
	       units_show_bytes(left, field_number(disk, "free")),
	       field_text(disk, "writer"));
	if (!json_is_true(json_object_get(result, "configured")))
		printf("until spated ends: to keep it, put it into `disks` of "
		       "spate.conf\n");
}

static void
say_dropped(const json_t *result)
{
	printf("%s takes part no more; it can be unmounted\n",
	       field_text(result, "path"));
	if (json_is_true(json_object_get(result, "configured")))
		printf("until it is taken out and put in again, or spated "
		       "starts again: `disks` of spate.conf has it\n");
}

static int
order(const struct cli *cli, const char *verb, json_t *request,
      void (*tell)(const json_t *result))
{
	struct fault fault;
	json_t *result;

	if (site_ask(cli, verb, request, &result, &fault))
		return cli_fail(&fault);
	if (cli->json)
		cli_print_json(result);
	else if (!cli->quiet)
		tell(result);
	json_decref(result);
	fflush(stdout);
	return CLI_DONE;
}

/* Adds all disks named in `path`.  Returns CLI_... */
static int
disks_add(const struct cli *cli, const struct disks_args *args, char **path)
{
	int status = CLI_DONE;

	for (; *path; path++) {
		char *named = absolute(*path);
		int one = order(cli, "disks-add",
				json_pack("{s:s?, s:b}", "path", named, "force",
					  args->force),
				say_added);

		free(named);
		status = one ? one : status;
	}
	return status;
}

/* Drops all disks named in `path`.  Returns CLI_... */
static int
disks_drop(const struct cli *cli, const struct disks_args *args, char **path)
{
	int status = CLI_DONE;

	for (; *path; path++) {
		char *named = absolute(*path);
		int one =
		    order(cli, "disks-drop", json_pack("{s:s?}", "path", named),
			  say_dropped);

		if (!one && args->rebuild)
			one = mend_run(cli, true, false, NULL, named);
		free(named);
		status = one ? one : status;
	}
	return status;
}

static json_t *
look(const struct disk *disk)
{
	struct disk_report report;
	struct disk_space space;

	keys_read(disk_keys, &report, NULL, 1);
	report.path = disk->path;
	report.state = "missing";
	if (disk->fd >= 0 && disk_space(disk, &space) >= 0) {
		report.state = "idle";
		report.total = space.total;
		report.free = space.free;
	}
	return keys_json(disk_keys, &report, 1);
}

static int
offline(const struct cli *cli, json_t **result, struct fault *fault)
{
	json_t *list = json_array();
	struct disks disks;
	int err = site_disks(cli, &disks, fault);

	if (err) {
		json_decref(list);
		return err;
	}
	for (unsigned i = 0; i < disks.n; i++)
		json_array_append_new(list, look(&disks.disk[i]));
	disks_clear(&disks);
	*result = json_pack("{s:o}", "disks", list);
	return 0;
}

static int
list(const struct cli *cli)
{
	const json_t *disks, *disk, *space;
	struct fault fault;
	json_t *result = NULL;
	size_t i;
	int err = -ENOENT;

	if (!cli->disks)
		err = site_ask(cli, "disks", NULL, &result, &fault);
	if (err)
		err = offline(cli, &result, &fault);
	if (err)
		return cli_fail(&fault);
	disks = json_object_get(result, "disks");
	space = json_object_get(result, "space");
	if (cli->json) {
		json_array_foreach(disks, i, disk)
			cli_print_json(disk);
	} else {
		show_disks(disks, 0, true);
		show_space(space);
	}
	json_decref(result);
	return CLI_DONE;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct disks_args *args = values;
	const char *what = operand[0];
	struct fault fault;

	if (!what)
		return list(cli);
	if (!strcmp(what, "add") && operand[1])
		return disks_add(cli, args, operand + 1);
	if (!strcmp(what, "drop") && operand[1])
		return disks_drop(cli, args, operand + 1);
	if (!strcmp(what, "test"))
		return disks_test(cli, args, operand + 1);
	if (!strcmp(what, "add") || !strcmp(what, "drop"))
		fault_set(&fault, -EINVAL, "usage", "disks %s: which disk?",
			  what);
	else
		fault_set(&fault, -EINVAL, "usage",
			  "disks: there is no '%.40s'", what);
	fault_hint(&fault, "spate disks [add PATH... | drop PATH... | test "
			   "[PATH...]]");
	return cli_fail(&fault);
}

static const struct args_option options[] = {
	{ "force", 'f', ARGS_FLAG, offsetof(struct disks_args, force), NULL,
	  "add: also a folder on the system's own disk; test: also while "
	  "something is recorded" },
	{ "rebuild", 0, ARGS_FLAG, offsetof(struct disks_args, rebuild), NULL,
	  "drop: then put what it had onto the others" },
	{ "size", 0, ARGS_BYTES, offsetof(struct disks_args, size), "SIZE",
	  "test: of what is written to each disk; 1G" },
	{ "writer", 0, ARGS_TEXT, offsetof(struct disks_args, writer), "NAME",
	  "test: this write plugin; none: the first that works" },
	{ .name = NULL },
};

static const struct disks_args defaults = { .size = UINT64_C(1) << 30 };

const struct command command_disks = {
	.name = "disks",
	.operands = "[add PATH... | drop PATH... | test [PATH...]]",
	.help = "List the disks, add one, let go of one, or test them",
	.most = 257,
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof(struct disks_args),
	.run = run,
};
