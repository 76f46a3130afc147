/* SPDX-License-Identifier: MIT */
/* spate record: has the daemon record streams, and waits for the end with
 * --wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/field.h"
#include "cli/follow.h"
#include "cli/info.h"
#include "cli/site.h"
#include "store/layout.h"

struct record_args {
	const char *streams;
	int64_t run_ns, until_ns;
	bool wait, resume;
};

/* The daemon checks all of it; this saves the way there. */
static int
args_check(const struct record_args *a, const char *name, struct fault *fault)
{
	const char *wrong = layout_name_fault(name);

	if (wrong) {
		fault_set(fault, -EINVAL, "bad-name", "cannot record %s", name);
		fault_why(fault, "%s", wrong);
		return -EINVAL;
	}
	if (!a->streams || !*a->streams) {
		fault_set(fault, -EINVAL, "usage", "record which stream?");
		fault_hint(fault, "--stream S; spate streams lists them");
		return -EINVAL;
	}
	if (a->run_ns && a->until_ns) {
		fault_set(fault, -EINVAL, "usage",
			  "either --for or --until, not both");
		return -EINVAL;
	}
	if (a->until_ns && a->until_ns <= clock_now()) {
		fault_set(fault, -EINVAL, "usage",
			  "the time of --until is over");
		fault_hint(fault, "times are UTC; +30s is half a minute from "
				  "now");
		return -EINVAL;
	}
	return 0;
}

static json_t *
streams_of(const char *list)
{
	json_t *streams = json_array();
	char *text = strdup(list), *rest = text, *one;

	while (text && (one = strsep(&rest, ",")))
		if (*one)
			json_array_append_new(streams, json_string(one));
	free(text);
	return streams;
}

/* Spans go as nanoseconds with their unit: nothing is rounded. */
static json_t *
request_of(const struct record_args *a, const char *name)
{
	json_t *request = json_pack("{s:s s:o}", "name", name, "streams",
				    streams_of(a->streams));
	char text[UNITS_TEXT];

	if (a->run_ns) {
		snprintf(text, sizeof text, "%lldns", (long long)a->run_ns);
		json_object_set_new(request, "for", json_string(text));
	}
	if (a->until_ns) {
		units_show_time_ns(text, a->until_ns);
		json_object_set_new(request, "until", json_string(text));
	}
	if (a->resume)
		json_object_set_new(request, "resume", json_true());
	return request;
}

static void
print_started(const struct cli *cli, const struct record_args *a,
	      const json_t *started)
{
	char text[UNITS_TEXT];
	const json_t *one;
	size_t i;

	json_array_foreach(started, i, one) {
		if (cli->json) {
			cli_print_json(one);
			continue;
		}
		printf("%s records %s", field_text(one, "name"),
		       field_text(one, "stream"));
		if (a->run_ns)
			printf(" for %s", units_show_span(text, a->run_ns));
		if (a->until_ns)
			printf(" until %s", units_show_time(text, a->until_ns));
		if (!a->run_ns && !a->until_ns)
			printf("; spate stop %s ends it",
			       field_text(one, "name"));
		putchar('\n');
	}
}

/* Lost packets are told and are no failure: this is what recording is. */
static int
ended_check(const json_t *infos, struct fault *fault)
{
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info) {
		if (strcmp(field_text(info, "state"), "complete") == 0)
			continue;
		fault_set(fault, -EIO, "io", "%s did not end well: it is %s",
			  field_text(info, "name"), field_text(info, "state"));
		fault_why(fault, "%s", field_text(info, "why"));
		fault_hint(fault, "the log of spated says more");
		return -EIO;
	}
	return 0;
}

static int
follow_to_end(struct follow *f, struct fault *fault)
{
	json_t *ended;
	int err = follow_run(f, &ended, fault);

	if (err)
		return err;
	info_print(f->cli, f->name, ended, false);
	err = ended_check(ended, fault);
	json_decref(ended);
	return err;
}

static int
record(struct follow *f, const struct record_args *args, struct fault *fault)
{
	json_t *result;
	int err;

	if (args->wait)
		follow_prepare();
	err = control_ask(f->control, "record", request_of(args, f->name),
			  &result, fault);
	if (err)
		return err;
	f->started = json_object_get(result, "recordings");
	if (args->wait)
		err = follow_to_end(f, fault);
	else
		print_started(f->cli, args, f->started);
	json_decref(result);
	return err;
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	struct follow f = { .cli = cli, .name = *operand };
	struct fault fault;
	int err = args_check(values, f.name, &fault);

	if (!err)
		err = site_connect(cli, &f.control, &fault);
	if (err)
		return cli_fail(&fault);
	err = record(&f, values, &fault);
	control_close(f.control);
	return err ? cli_fail(&fault) : CLI_DONE;
}

#define AT(field) offsetof(struct record_args, field)

static const struct args_option options[] = {
	{ "stream", 's', ARGS_TEXT, AT(streams), "S[,S...]",
	  "what to record; several make NAME_dsS each" },
	{ "for", 0, ARGS_SPAN, AT(run_ns), "SPAN", "how long, as 30s" },
	{ "until", 0, ARGS_TIME, AT(until_ns), "TIME",
	  "when it ends, UTC or +30s" },
	{ "resume", 0, ARGS_FLAG, AT(resume), NULL,
	  "go on with a recording of that name that was interrupted" },
	{ "wait", 'w', ARGS_FLAG, AT(wait), NULL,
	  "show how it goes until it ends; Ctrl-C ends it" },
	{ .name = NULL },
};

const struct command command_record = {
	.name = "record",
	.operands = "NAME",
	.help = "Record a stream under a new name",
	.least = 1,
	.most = 1,
	.options = options,
	.bytes = sizeof(struct record_args),
	.run = run,
};
