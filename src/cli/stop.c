/* SPDX-License-Identifier: MIT */
/* spate stop: ends a recording, and waits until all of it is on the disks. */
#include "cli/cli.h"
#include "cli/info.h"
#include "cli/site.h"

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct control *control;
	struct fault fault;
	json_t *result;
	int err = site_connect(cli, &control, &fault);

	(void)values;
	if (err)
		return cli_fail(&fault);
	control_wait(control, -1);
	err = control_ask(control, "stop", json_pack("{s:s}", "name", *operand),
			  &result, &fault);
	control_close(control);
	if (err)
		return cli_fail(&fault);
	info_print(cli, *operand, json_object_get(result, "recordings"), false);
	json_decref(result);
	return CLI_DONE;
}

const struct command command_stop = {
	.name = "stop",
	.operands = "NAME|ID",
	.help = "End a recording, and wait until it is on the disks",
	.least = 1,
	.most = 1,
	.run = run,
};
