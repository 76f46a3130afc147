/* SPDX-License-Identifier: MIT */
/*
 * spate status: prints the daemon, its recordings and its disks, once or every
 * second.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/send/sends.h"
#include "cli/show/site.h"
#include "cli/show/show.h"
#include "cli/show/terminal.h"

struct status_args {
	bool watch;
};

static void
print_memory(const json_t *memory)
{
	char all[UNITS_TEXT], used[UNITS_TEXT];

	printf("memory %s, %s in use, %s pages, %s\n",
	       units_show_bytes(all, field_number(memory, "bytes")),
	       units_show_bytes(used, field_number(memory, "borrowed")),
	       field_text(memory, "pages"),
	       json_is_true(json_object_get(memory, "locked")) ? "locked"
							       : "not locked");
}

/* Prints copies that other spates are sending to this one. */
static void
print_inbox(const json_t *inbox)
{
	char bytes[UNITS_TEXT], total[UNITS_TEXT], rate[UNITS_TEXT];
	const json_t *copy;
	size_t i;

	if (json_array_size(inbox))
		printf("copies that come in\n");
	json_array_foreach(inbox, i, copy)
		printf("  %" PRIu64 "  %s  from %s  %s of %s  %s  %s%s%s\n",
		       field_number(copy, "id"), field_text(copy, "name"),
		       field_text(copy, "from"),
		       units_show_bytes(bytes, field_number(copy, "bytes")),
		       units_show_bytes(total, field_number(copy, "total")),
		       units_show_rate(rate, field_number(copy, "rate")),
		       field_text(copy, "state"),
		       *field_text(copy, "why") ? ": " : "",
		       field_text(copy, "why"));
}

static void
print(const json_t *status)
{
	const json_t *running = json_object_get(status, "recordings");
	char up[UNITS_TEXT];

	printf("spated %s, process %" PRIu64 ", up %s\n",
	       field_text(status, "version"), field_number(status, "pid"),
	       units_show_span(up, (int64_t)field_number(status, "uptime_s") *
				       1000000000));
	print_memory(json_object_get(status, "memory"));
	if (json_array_size(running)) {
		printf("recordings\n");
		show_running(running, 2);
	} else {
		printf("nothing is being recorded\n");
	}
	if (json_array_size(json_object_get(status, "sends"))) {
		printf("transfers\n");
		sends_show(json_object_get(status, "sends"), 2);
	}
	print_inbox(json_object_get(status, "inbox"));
	printf("disks\n");
	show_disks(json_object_get(status, "disks"), 2, false);
	show_space(json_object_get(status, "space"));
}

/* Prints the status; with --watch until a signal or the end of the daemon. */
static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct status_args *args = values;
	const struct timespec second = { .tv_sec = 1 };
	struct control *control;
	struct fault fault;
	json_t *status;
	int err = site_connect(cli, &control, &fault);

	(void)operand;
	if (err)
		return cli_fail(&fault);
	do {
		err = control_ask(control, "status", NULL, &status, &fault);
		if (err)
			break;
		if (args->watch && !cli->json && isatty(STDOUT_FILENO))
			terminal_do(stdout, CLEAR_SCREEN);
		if (cli->json)
			cli_print_json(status);
		else
			print(status);
		json_decref(status);
		if (fflush(stdout) != 0)
			break;
	} while (args->watch && nanosleep(&second, NULL) == 0);
	control_close(control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

static const struct args_option options[] = {
	{ "watch", 'w', ARGS_FLAG, offsetof(struct status_args, watch), NULL,
	  "print it anew every second" },
	{ .name = NULL },
};

const struct command command_status = {
	.name = "status",
	.operands = "",
	.help = "Print what the daemon is doing",
	.options = options,
	.bytes = sizeof(struct status_args),
	.run = run,
};
