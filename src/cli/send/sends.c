/* SPDX-License-Identifier: MIT */
/* spate sends, rate, pause and resume: list transfers, and change them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/send/sends.h"
#include "cli/show/site.h"
#include "cli/show/terminal.h"

struct sends_args {
	bool all, watch;
};

static int
print_once(const struct cli *cli, struct control *control,
	   const struct sends_args *args, struct fault *fault)
{
	const json_t *sends;
	json_t *result;
	int err =
	    control_ask(control, "sends", json_pack("{s:b}", "all", args->all),
			&result, fault);

	if (err)
		return err;
	sends = json_object_get(result, "sends");
	if (args->watch && !cli->json && isatty(STDOUT_FILENO))
		terminal_do(stdout, CLEAR_SCREEN);
	sends_print(cli, sends);
	if (!json_array_size(sends) && !cli->json && !cli->quiet)
		printf("nothing is being sent%s\n",
		       args->all ? "" : "; spate sends --all shows what was");
	json_decref(result);
	return 0;
}

static int
run_sends(const struct cli *cli, const void *values, char **operand)
{
	const struct timespec second = { .tv_sec = 1 };
	const struct sends_args *args = values;
	struct control *control;
	struct fault fault;
	int err = site_connect(cli, &control, &fault);

	(void)operand;
	if (err)
		return cli_fail(&fault);
	do
		err = print_once(cli, control, args, &fault);
	while (!err && args->watch && fflush(stdout) == 0 &&
	       nanosleep(&second, NULL) == 0);
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

/* ---- orders ---------------------------------------------------------- */

static bool
is_meant(const json_t *send, const char *which)
{
	char *end;
	unsigned long long id = strtoull(which, &end, 10);

	if (*which && !*end)
		return field_number(send, "id") == id;
	return !strcmp(field_text(send, "name"), which);
}

static int
order_one(struct control *control, const char *verb, uint64_t id,
	  const char *rate, json_t *done, struct fault *fault)
{
	json_t *request = json_pack("{s:I}", "send", (json_int_t)id), *result;
	int err;

	if (rate)
		json_object_set_new(request, "rate", json_string(rate));
	err = control_ask(control, verb, request, &result, fault);
	if (err)
		return err;
	json_array_extend(done, json_object_get(result, "sends"));
	json_decref(result);
	return 0;
}

/* Gives an order to all transfers of a name, or to one by its number. */
static int
order_all(struct control *control, const char *verb, char **operand,
	  json_t *done, struct fault *fault)
{
	const json_t *send;
	json_t *result;
	size_t i;
	int err = control_ask(control, "sends", NULL, &result, fault);
	bool any = false;

	if (err)
		return err;
	json_array_foreach(json_object_get(result, "sends"), i, send) {
		if (!is_meant(send, operand[0]))
			continue;
		any = true;
		err = order_one(control, verb, field_number(send, "id"),
				operand[1], done, fault);
		if (err)
			break;
	}
	json_decref(result);
	if (any)
		return err;
	fault_set(fault, -ENOENT, "not-found",
		  "nothing of the name or number '%.80s' is being sent",
		  operand[0]);
	fault_hint(fault, "'spate sends' lists what is");
	return -ENOENT;
}

static int
order(const struct cli *cli, const char *verb, char **operand)
{
	struct control *control;
	struct fault fault;
	json_t *done;
	int err = site_connect(cli, &control, &fault);

	if (err)
		return cli_fail(&fault);
	done = json_array();
	err = order_all(control, verb, operand, done, &fault);
	if (!cli->quiet || cli->json)
		sends_print(cli, done);
	json_decref(done);
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static int
run_rate(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "rate", operand);
}

static int
run_pause(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "pause", operand);
}

static int
run_resume(const struct cli *cli, const void *values, char **operand)
{
	(void)values;
	return order(cli, "resume-send", operand);
}

/* ---- commands -------------------------------------------------------- */

static const struct args_option options[] = {
	{ "all", 'a', ARGS_FLAG, offsetof(struct sends_args, all), NULL,
	  "also the last ones that have ended" },
	{ "watch", 'w', ARGS_FLAG, offsetof(struct sends_args, watch), NULL,
	  "print it anew every second" },
	{ .name = NULL },
};

const struct command command_sends = {
	.name = "sends",
	.operands = "",
	.help = "List what is being sent, or waits to be",
	.options = options,
	.bytes = sizeof(struct sends_args),
	.run = run_sends,
};

const struct command command_rate = {
	.name = "rate",
	.operands = "ID|NAME RATE",
	.help = "Change how fast it is sent: 8Gbps, data or free",
	.least = 2,
	.most = 2,
	.run = run_rate,
};

const struct command command_pause = {
	.name = "pause",
	.operands = "ID|NAME",
	.help = "Stop sending it for a while",
	.least = 1,
	.most = 1,
	.run = run_pause,
};

const struct command command_resume = {
	.name = "resume",
	.operands = "ID|NAME",
	.help = "Go on with sending what was paused",
	.least = 1,
	.most = 1,
	.run = run_resume,
};
