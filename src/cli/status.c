/* SPDX-License-Identifier: MIT */
/* spate status: prints the daemon, its recordings and its disks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/send/sends.h"
#include "cli/show/site.h"
#include "cli/show/show.h"
#include "cli/watch/watch.h"
#include "control/answer.h"

struct status_args {
	bool watch;
};

static void
print_memory(const struct answer_memory *m)
{
	char all[UNITS_TEXT], used[UNITS_TEXT], ready[UNITS_TEXT];

	printf("memory %s, %s in use, %s pages, %s",
	       units_show_bytes(all, key_or_0(m->bytes)),
	       units_show_bytes(used, key_or_0(m->borrowed)),
	       m->pages ? m->pages : "", m->locked ? "locked" : "not locked");
	if (m->ready < key_or_0(m->bytes))
		printf(", %s ready", units_show_bytes(ready, m->ready));
	putchar('\n');
}

static const char *
or_empty(const char *text)
{
	return text ? text : "";
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
	json_array_foreach(inbox, i, copy) {
		struct answer_copy c = answer_copy(copy);
		const char *why = or_empty(c.why);

		printf("  %" PRIu64 "  %s  from %s  %s of %s  %s  %s%s%s\n",
		       c.id, or_empty(c.name), or_empty(c.from),
		       units_show_bytes(bytes, key_or_0(c.bytes)),
		       units_show_bytes(total, key_or_0(c.total)),
		       units_show_rate(rate, c.rate), or_empty(c.state),
		       *why ? ": " : "", why);
	}
}

static void
print(const json_t *json)
{
	struct answer_status s = answer_status(json);
	struct answer_memory memory = answer_memory(s.memory);
	char up[UNITS_TEXT];

	printf("spated %s%s%s, process %" PRIu64 ", up %s\n",
	       or_empty(s.version), s.station ? ", station " : "",
	       or_empty(s.station), s.pid,
	       units_show_span(up, (int64_t)s.uptime_s * 1000000000));
	print_memory(&memory);
	if (json_array_size(s.recordings)) {
		printf("recordings\n");
		show_running(s.recordings, 2);
	} else {
		printf("nothing is being recorded\n");
	}
	if (json_array_size(s.sends)) {
		printf("transfers\n");
		sends_show(s.sends, 2);
	}
	if (key_or_0(s.sends_failed))
		printf("%" PRIu64 " transfer%s failed since spated was "
		       "started: 'spate sends --all' and 'spate schedule ls "
		       "--all' say why\n",
		       s.sends_failed, s.sends_failed == 1 ? "" : "s");
	print_inbox(s.inbox);
	printf("disks\n");
	show_disks(s.disks, 2, false);
	show_space(s.space);
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct status_args *args = values;
	struct fault fault;
	json_t *status;
	int err;

	(void)operand;
	if (args->watch)
		return watch_run(cli);
	err = site_ask(cli, "status", NULL, &status, &fault);
	if (err)
		return cli_fail(&fault);
	if (cli->json)
		cli_print_json(status);
	else
		print(status);
	json_decref(status);
	return CLI_DONE;
}

static const struct args_option options[] = {
	{ "watch", 'w', ARGS_FLAG, offsetof(struct status_args, watch), NULL,
	  "show it on the whole terminal, anew every second" },
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
