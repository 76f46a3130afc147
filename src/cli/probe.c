/* SPDX-License-Identifier: MIT */
/* spate probe: looks at the packets of a stream without recording it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/table.h"

enum { NAMED = 12, SHOWN = 8 };

struct probe_args {
	int64_t span_ns;
};

static const struct table_column pair[] = { { NULL, false }, { NULL, false } };

/*
 * Adds a row with the first sender and the number of all; there may be
 * hundreds.
 */
static void
from_row(struct table *t, const json_t *seen)
{
	const json_t *sources = json_object_get(seen, "sources"), *source;
	uint64_t senders = field_number(seen, "senders");
	const char *first = "";
	size_t i;

	json_array_foreach(sources, i, source) {
		if (!*first)
			first = field_text(source, "sender");
	}
	if (!*first && !senders)
		return;
	table_cell(t, "from");
	if (senders > 1)
		table_cell(t, "%s and others: %" PRIu64 " senders", first,
			   senders);
	else
		table_cell(t, "%s", *first ? first : "one sender");
}

static void
rate_row(struct table *t, const json_t *seen)
{
	double seconds = field_real(seen, "seconds");
	uint64_t n = field_number(seen, "datagrams");
	char rate[UNITS_TEXT], span[UNITS_TEXT];

	table_cell(t, "came");
	table_cell(t, "%" PRIu64 " datagrams in %s, %.0f per second, %s", n,
		   units_show_span(span, (int64_t)(seconds * 1e9)),
		   seconds > 0 ? (double)n / seconds : 0,
		   units_show_rate(rate, field_real(seen, "rate")));
}

static void
sizes_row(struct table *t, const json_t *seen)
{
	const json_t *sizes = json_object_get(seen, "sizes"), *size;
	char text[320] = "";
	size_t i, at = 0;

	json_array_foreach(sizes, i, size) {
		if (i < SHOWN && at < sizeof text)
			at += (size_t)snprintf(
			    text + at, sizeof text - at,
			    "%s%" PRIu64 " x %" PRIu64 " bytes", i ? ", " : "",
			    field_number(size, "datagrams"),
			    field_number(size, "bytes"));
	}
	if (!*text)
		return;
	table_cell(t, "sizes");
	table_cell(t, "%s%s", text,
		   json_array_size(sizes) > SHOWN ? ", ..." : "");
}

static void
lost_row(struct table *t, const json_t *seen)
{
	uint64_t lost = field_number(seen, "lost");
	bool heaps = field_known(seen, "heaps");

	if (!field_number(seen, "datagrams"))
		return;
	table_cell(t, "lost");
	if (!field_known(seen, "lost"))
		table_cell(t, "not known: packets have no number, or `fps` is "
			      "not known");
	else
		table_cell(t, "%" PRIu64 " %s", lost,
			   heaps ? "bytes of heaps" : "packets");
}

static void
number_row(struct table *t, const json_t *seen, const char *key,
	   const char *what)
{
	if (!field_number(seen, key))
		return;
	table_cell(t, "%s", what);
	table_cell(t, "%" PRIu64, field_number(seen, key));
}

/* Adds a row for the clock of the data; of a second's first frames where no more
 * is known, else of the last one. */
static void
time_row(struct table *t, const json_t *seen)
{
	double ahead = field_real(seen, "ahead_s");
	double behind = field_real(seen, "clock_s");

	if (field_known(seen, "clock_s")) {
		table_cell(t, "time");
		table_cell(t, "of the data is %.4f s %s arrival", fabs(behind),
			   behind < 0 ? "ahead of" : "behind");
		number_row(t, seen, "fps", "frames/s");
		return;
	}

	if (!field_known(seen, "ahead_s"))
		return;
	table_cell(t, "time");
	table_cell(t, "of the data is %.3f s %s UTC%s",
		   ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "before",
		   field_number(seen, "fps") ? ""
					     : ", to a second: `fps` is not "
					       "known");
	number_row(t, seen, "fps", "frames/s");
}

/* Adds a row with the ports of sources that brought nothing. */
static void
silent_row(struct table *t, const json_t *seen)
{
	const json_t *sources = json_object_get(seen, "sources"), *source;
	uint64_t silent = field_number(seen, "silent");
	char text[200] = "";
	size_t i, at = 0, n = 0;

	if (field_number(seen, "subs") < 2)
		return;
	json_array_foreach(sources, i, source) {
		const char *address = field_text(source, "address");
		const char *colon = strrchr(address, ':');

		if (field_number(source, "datagrams") || !colon)
			continue;
		if (n++ < NAMED && at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "%s%s", n > 1 ? ", " : "",
					       colon + 1);
	}
	table_cell(t, "substreams");
	table_cell(t, "%" PRIu64 ", of which %" PRIu64 " silent%s%s%s",
		   field_number(seen, "subs"), silent, silent ? ": " : "",
		   silent ? text : "", n > NAMED ? " ..." : "");
}

static void
heaps_rows(struct table *t, const json_t *seen)
{
	const json_t *heaps = json_object_get(seen, "heaps");
	const json_t *lengths = json_object_get(heaps, "lengths"), *one;
	char text[320] = "";
	size_t i, at = 0;

	if (!field_known(seen, "heaps"))
		return;
	table_cell(t, "heaps");
	table_cell(t, "%" PRIu64 " complete, %" PRIu64 " incomplete, 64-%u",
		   field_number(heaps, "complete"),
		   field_number(heaps, "incomplete"),
		   (unsigned)field_number(heaps, "flavour") & 0xff);
	json_array_foreach(lengths, i, one) {
		if (at < sizeof text)
			at += (size_t)snprintf(
			    text + at, sizeof text - at,
			    "%s%" PRIu64 " x %" PRIu64 " bytes", i ? ", " : "",
			    field_number(one, "heaps"),
			    field_number(one, "bytes"));
	}
	table_cell(t, "lengths");
	table_cell(t, "%s", text);
	number_row(t, heaps, "control", "control");
	number_row(t, heaps, "malformed", "malformed");
}

static void
show_items(const json_t *items)
{
	static const struct table_column columns[] = { { "item", true },
						       { "bytes", true },
						       { "value", true } };
	struct table *t = table_open(columns, 3);
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item) {
		bool immediate =
		    json_is_true(json_object_get(item, "immediate"));

		table_cell(t, "0x%04" PRIx64, field_number(item, "id"));
		if (immediate) {
			table_cell(t, "%s", "");
			table_cell(t, "%" PRIu64, field_number(item, "value"));
		} else {
			table_cell(t, "%" PRIu64, field_number(item, "bytes"));
			table_cell(t, "%s", "");
		}
	}
	if (json_array_size(items))
		table_print(t, 2, stdout);
	table_close(t);
}

static void
show_threads(const json_t *threads)
{
	static const struct table_column columns[] = {
		{ "thread", true },
		{ "station", true },
		{ "frames", true },
		{ "lost", true },
	};
	struct table *t = table_open(columns, 4);
	const json_t *thread;
	char name[SHOW_STATION];
	size_t i;

	json_array_foreach(threads, i, thread) {
		if (i >= 4 * SHOWN)
			break;
		table_cell(t, "%" PRIu64, field_number(thread, "thread"));
		table_cell(t, "%s",
			   show_station(name, field_number(thread, "station")));
		table_cell(t, "%" PRIu64, field_number(thread, "frames"));
		if (field_known(thread, "lost"))
			table_cell(t, "%" PRIu64, field_number(thread, "lost"));
		else
			table_cell(t, "%s", "?");
	}
	if (json_array_size(threads))
		table_print(t, 2, stdout);
	table_close(t);
}

static void
show(const json_t *seen)
{
	const json_t *hints = json_object_get(seen, "hints"), *hint;
	struct table *t = table_open(pair, 2);
	size_t i;

	printf("%s: %s, %s\n", field_text(seen, "stream"),
	       field_text(seen, "format"),
	       field_number(seen, "datagrams") ? "it comes" : "it is silent");
	from_row(t, seen);
	rate_row(t, seen);
	sizes_row(t, seen);
	lost_row(t, seen);
	number_row(t, seen, "restarts", "restarts");
	number_row(t, seen, "overruns", "overruns");
	number_row(t, seen, "foreign", "foreign");
	number_row(t, seen, "invalid", "invalid");
	time_row(t, seen);
	silent_row(t, seen);
	heaps_rows(t, seen);
	table_print(t, 2, stdout);
	table_close(t);
	show_threads(json_object_get(seen, "threads"));
	show_items(json_object_get(json_object_get(seen, "heaps"), "items"));
	json_array_foreach(hints, i, hint)
		printf("  ! %s\n", json_string_value(hint));
}

static void
print(const struct cli *cli, const json_t *seen)
{
	const json_t *recordings = json_object_get(seen, "recordings");

	if (cli->json) {
		cli_print_json(seen);
	} else if (field_known(seen, "recording")) {
		printf("%s is being recorded as %s, which counts:\n",
		       field_text(seen, "stream"),
		       field_text(seen, "recording"));
		show_running(recordings, 2);
		show_infos(cli, field_text(seen, "recording"), recordings,
			   false);
	} else {
		show(seen);
	}
}

static int
run(const struct cli *cli, const void *values, char **operand)
{
	const struct probe_args *args = values;
	json_t *request = json_pack("{s:s}", "stream", *operand), *seen;
	struct control *control;
	struct fault fault;
	char span[32];
	int err;

	snprintf(span, sizeof span, "%" PRId64 "ns", args->span_ns);
	json_object_set_new(request, "for", json_string(span));
	err = site_connect(cli, &control, &fault);
	if (err) {
		json_decref(request);
		return cli_fail(&fault);
	}
	control_wait(control, (int)(args->span_ns / 1000000) + CONTROL_WAIT_MS);
	err = control_ask(control, "probe", request, &seen, &fault);
	control_close(control);
	if (err)
		return cli_fail(&fault);
	print(cli, seen);
	json_decref(seen);
	return CLI_DONE;
}

static const struct probe_args defaults = { .span_ns = 3000000000 };

static const struct args_option options[] = {
	{ "for", 0, ARGS_SPAN, offsetof(struct probe_args, span_ns), "SPAN",
	  "how long to look (default 3s, at most 10m)" },
	{ .name = NULL },
};

const struct command command_probe = {
	.name = "probe",
	.operands = "STREAM",
	.help = "Look at what comes in, without recording it",
	.least = 1,
	.most = 1,
	.options = options,
	.defaults = &defaults,
	.bytes = sizeof(struct probe_args),
	.run = run,
};
