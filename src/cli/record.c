/* SPDX-License-Identifier: MIT */
/*
 * spate record: has the daemon record streams, and waits for the end with
 * --wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/follow.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "control/answer.h"
#include "store/disk/layout.h"

struct record_args {
	const char *streams, *send;
	int64_t run_ns, backlog_ns;
	struct args_when at, until;
	uint64_t priority;
	bool wait, resume;
};

static int
times_check(const struct record_args *a, struct fault *fault)
{
	const char *wrong = NULL;

	if (a->run_ns && a->until.ns)
		wrong = "either --for or --until, not both";
	else if (!a->at.ns && a->until.data)
		wrong = "--until of the data takes an --at of the data";
	else if (!a->at.ns && (a->backlog_ns || a->priority))
		wrong = "--backlog and --priority are for --at";
	else if (a->at.ns && a->resume)
		wrong = "--resume goes on at once: not with --at";
	else if (a->at.ns && a->until.ns && a->at.data != a->until.data)
		wrong = "--at and --until have to be both of the data, "
			"with @, or none";
	if (wrong)
		return fault_set(fault, -EINVAL, "usage", "%s", wrong);
	if (!a->until.ns || a->until.data || a->until.ns > clock_now())
		return 0;
	fault_set(fault, -EINVAL, "usage", "the time of --until is over");
	fault_hint(fault, "times are UTC; +30s is half a minute from now");
	return -EINVAL;
}

/* Checks the arguments without the daemon, which checks all of them again. */
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
	return times_check(a, fault);
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

/* Spans are sent in nanoseconds, so nothing is rounded. */
static void
span_put(json_t *request, const char *key, int64_t ns)
{
	char text[UNITS_TEXT];

	snprintf(text, sizeof text, "%lldns", (long long)ns);
	if (ns)
		json_object_set_new(request, key, json_string(text));
}

static void
when_put(json_t *request, const char *key, const struct args_when *when)
{
	char text[UNITS_TEXT + 1] = "@";

	units_show_time_ns(text + 1, when->ns);
	if (when->ns)
		json_object_set_new(request, key,
				    json_string(text + !when->data));
}

static json_t *
request_of(const struct record_args *a, const char *name)
{
	json_t *request = json_pack("{s:s s:o}", "name", name, "streams",
				    streams_of(a->streams));

	span_put(request, "for", a->run_ns);
	span_put(request, "backlog", a->backlog_ns);
	when_put(request, "at", &a->at);
	when_put(request, "until", &a->until);
	if (a->priority)
		json_object_set_new(request, "priority",
				    json_integer((json_int_t)a->priority));
	if (a->resume)
		json_object_set_new(request, "resume", json_true());
	if (a->send)
		json_object_set_new(request, "send", json_string(a->send));
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
		if (a->until.ns)
			printf(" until %s", units_show_time(text, a->until.ns));
		if (!a->run_ns && !a->until.ns)
			printf("; spate stop %s ends it",
			       field_text(one, "name"));
		putchar('\n');
	}
}

/*
 * Returns an error if a recording did not end well.  Lost packets are shown and
 * are no error.
 */
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

static void
print_waiting(const struct cli *cli, const json_t *scan)
{
	struct answer_scan s = answer_scan(scan);
	char text[UNITS_TEXT];

	if (cli->json) {
		cli_print_json(scan);
		return;
	}
	units_show_time(text, s.start);
	printf("%s waits for %s%s; spate stop %s cancels it\n", s.name,
	       s.data ? "data of " : "", text, s.name);
}

static int
follow_to_end(struct follow *f, struct fault *fault)
{
	json_t *ended;
	int err = follow_run(f, &ended, fault);

	if (err)
		return err;
	show_infos(f->cli, f->name, ended, false);
	err = ended_check(ended, fault);
	json_decref(ended);
	return err;
}

/*
 * Handles a recording that begins later: waits for its start first, with
 * --wait.
 */
static int
record_at(struct follow *f, const struct record_args *args, const json_t *scan,
	  struct fault *fault)
{
	struct await a = { .cli = f->cli, .control = f->control };
	int err;

	if (!args->wait) {
		print_waiting(f->cli, scan);
		return 0;
	}
	err = await_run(&a, scan, fault);
	if (err)
		return err;
	f->name = a.recording;
	f->started = a.started;
	err = follow_to_end(f, fault);
	json_decref(a.started);
	return err;
}

static int
record(struct follow *f, const struct record_args *args, struct fault *fault)
{
	json_t *result;
	const json_t *scan;
	int err;

	if (args->wait)
		follow_prepare();
	err = control_ask(f->control, "record", request_of(args, f->name),
			  &result, fault);
	if (err)
		return err;
	f->started = json_object_get(result, "recordings");
	scan = json_object_get(result, "scan");
	if (scan)
		err = record_at(f, args, scan, fault);
	else if (args->wait)
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
	{ "until", 0, ARGS_WHEN, AT(until), "TIME",
	  "when it ends, UTC or +30s" },
	{ "at", 0, ARGS_WHEN, AT(at), "TIME",
	  "when it begins; @TIME: when the data say so" },
	{ "backlog", 0, ARGS_SPAN, AT(backlog_ns), "SPAN",
	  "record what came so long before --at, too" },
	{ "priority", 0, ARGS_COUNT, AT(priority), "N",
	  "with --at: above those that have less" },
	{ "send", 0, ARGS_TEXT, AT(send), "URL",
	  "send it there while it is made" },
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
