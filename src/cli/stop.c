/* SPDX-License-Identifier: MIT */
/*
 * spate stop: ends a recording and waits until all of it is on the disks;
 * cancels a recording that has not begun; or ends a transfer.
 */
#include <stdio.h>

#include "cli/send/sends.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/site.h"

static void
print_cancelled(const struct cli *cli, const json_t *scans)
{
	const json_t *scan;
	size_t i;

	json_array_foreach(scans, i, scan) {
		if (cli->json)
			cli_print_json(scan);
		else if (!cli->quiet)
			printf("%s was cancelled before it began\n",
			       field_text(scan, "name"));
	}
}

static void
print_sends(const struct cli *cli, const json_t *sends)
{
	const json_t *send;
	size_t i;

	json_array_foreach(sends, i, send) {
		if (cli->json)
			cli_print_json(send);
		else if (!cli->quiet)
			sends_tell(send);
	}
}

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
	print_cancelled(cli, json_object_get(result, "scans"));
	print_sends(cli, json_object_get(result, "sends"));
	show_infos(cli, *operand, json_object_get(result, "recordings"), false);
	json_decref(result);
	return CLI_DONE;
}

const struct command command_stop = {
	.name = "stop",
	.operands = "NAME|ID",
	.help = "End a recording, once it is on the disks, or a transfer",
	.least = 1,
	.most = 1,
	.run = run,
};
