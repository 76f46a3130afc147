/* SPDX-License-Identifier: MIT */
/* spate protect: keeps recordings from being removed, also by patterns. */
#include <stdio.h>

#include "cli/rm_each.h"

struct protect_args {
	bool off;
};

static int
protect(const struct cli *cli, struct remover *r, const char *name, bool on)
{
	struct fault fault;
	json_t *done;

	if (remover_protect(r, name, on, &done, &fault))
		return cli_fail(&fault);
	if (cli->json)
		cli_print_json(done);
	else
		printf("%s is %s\n", name,
		       on ? "protected" : "not protected any more");
	json_decref(done);
	return CLI_DONE;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct protect_args *args = values;
	struct fault fault;
	struct remover r;
	bool patterns;
	json_t *names = names_meant(cli, operand, &patterns, &fault), *name;
	int status = CLI_DONE;
	size_t i;

	if (!names)
		return cli_fail(&fault);
	if (remover_open(&r, cli, &fault)) {
		status = cli_fail(&fault);
		goto out;
	}
	json_array_foreach(names, i, name) {
		int one = protect(cli, &r, json_string_value(name), !args->off);

		status = one == CLI_DONE ? status : one;
	}
out:
	remover_close(&r);
	json_decref(names);
	return status;
}

static const struct args_option options[] = {
	{ "off", 0, ARGS_FLAG, offsetof(struct protect_args, off), NULL,
	  "let rm remove them again" },
	{ .name = NULL },
};

const struct command command_protect = {
	.name = "protect",
	.operands = "NAME|PATTERN...",
	.help = "Let no rm remove recordings",
	.least = 1,
	.most = 64,
	.options = options,
	.bytes = sizeof(struct protect_args),
	.run = run,
};
