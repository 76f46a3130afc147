/* SPDX-License-Identifier: MIT */
/*
 * spate disks add and drop.  Each disk is handled and reported on its own, so
 * that one failure does not stop the others: a user who drops a whole module of
 * disks is not left in the middle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/disks/disks.h"
#include "cli/show/field.h"
#include "cli/show/site.h"

/*
 * Makes a path absolute, because the daemon has another working directory.  The
 * caller frees it; NULL: no memory.
 */
static char *
absolute(const char *path)
{
	char *here, *text = NULL;

	if (*path == '/')
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

int
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

int
disks_drop(const struct cli *cli, char **path)
{
	int status = CLI_DONE;

	for (; *path; path++) {
		char *named = absolute(*path);
		int one =
		    order(cli, "disks-drop", json_pack("{s:s?}", "path", named),
			  say_dropped);

		free(named);
		status = one ? one : status;
	}
	return status;
}
