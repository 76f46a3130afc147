/* SPDX-License-Identifier: MIT */
/* spate reload: has the daemon read its configuration again. */
#include <stdio.h>

#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/site.h"

static void
print_each(const json_t *lines)
{
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		printf("%s\n", json_string_value(line));
}

static void
print(const struct cli *cli, json_t *result)
{
	const json_t *changes = json_object_get(result, "changes");
	const json_t *restart = json_object_get(result, "restart");

	if (cli->json) {
		cli_print_json(result);
		return;
	}
	if (!cli->quiet && !json_array_size(changes) &&
	    !json_array_size(restart))
		printf("%s: nothing has changed\n", field_text(result, "conf"));
	if (!cli->quiet)
		print_each(changes);
	print_each(restart);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct fault fault;
	json_t *result;
	int err = site_ask(cli, "reload", NULL, &result, &fault);

	(void)values;
	(void)operand;
	if (err)
		return cli_fail(&fault);
	print(cli, result);
	json_decref(result);
	return CLI_DONE;
}

const struct command command_reload = {
	.name = "reload",
	.operands = "",
	.help = "Read the configuration again, while recordings go on",
	.run = run,
};
