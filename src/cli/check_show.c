/* SPDX-License-Identifier: MIT */
/* Makes JSON of a quick check, and a table of that JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/check.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/table.h"

static json_t *
number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *
time_of(int64_t ns)
{
	char text[UNITS_TEXT];

	return ns ? json_string(units_show_time_ns(text, ns)) : json_null();
}

static json_t *
threads_of(const struct glance_second *s)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < GLANCE_THREADS; i++)
		if (glance_has_thread(s, i))
			json_array_append_new(list, json_integer(i));
	return list;
}

static json_t *
stations_of(const struct glance_second *s)
{
	json_t *list = json_array();
	char name[SHOW_STATION];

	for (unsigned i = 0; i < s->stations; i++)
		json_array_append_new(
		    list, json_string(show_station(name, s->station[i])));
	return list;
}

static json_t *
second_of(const struct glance_second *s, const char *name)
{
	json_t *line = json_pack(
	    "{s:s s:o s:o s:o s:o s:o s:o s:o s:o s:o s:o}", "second", name,
	    "from", time_of(s->from_ns), "to", time_of(s->to_ns), "packets",
	    number(s->packets), "packets_lost", number(s->missing), "looked",
	    number(s->looked), "unreadable", number(s->unreadable), "misplaced",
	    number(s->misplaced), "backwards", number(s->backwards), "invalid",
	    number(s->invalid), "heaps_incomplete", number(s->incomplete));

	json_object_set_new(line, "threads",
			    s->threaded ? threads_of(s) : json_null());
	json_object_set_new(line, "stations",
			    s->threaded ? stations_of(s) : json_null());
	json_object_set_new(line, "offset_s",
			    s->timed ? json_real((double)s->offset_ns / 1e9)
				     : json_null());
	return line;
}

static json_t *
seconds_of(const struct glance *g)
{
	static const char *const names[] = { "first", "middle", "last" };
	json_t *list = json_array();

	for (unsigned i = 0; i < GLANCE_SECONDS; i++)
		if (g->second[i].to_ns)
			json_array_append_new(
			    list, second_of(&g->second[i], names[i]));
	return list;
}

json_t *
check_json(const struct recording *rec, const struct glance *g)
{
	static const char *const keys[] = {
		"name", "state", "why",	    "stream",	    "format", "start",
		"end",	"bytes", "packets", "packets_lost", "drops",
	};
	const struct recording_facts *f = recording_facts(rec);
	double all = (double)(f->packets + f->missing);
	json_t *info = recording_info(rec), *line = json_object();

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		json_object_set(line, keys[i], json_object_get(info, keys[i]));
	json_decref(info);
	json_object_set_new(line, "loss",
			    json_real(all ? (double)f->missing / all : 0));
	json_object_set_new(line, "rate",
			    g->rate ? json_real(g->rate) : json_null());
	json_object_set_new(line, "rate_expected",
			    g->rate_wanted ? json_real(g->rate_wanted)
					   : json_null());
	json_object_set_new(line, "substreams", json_integer(f->subs));
	json_object_set_new(line, "substreams_looked", json_integer(g->looked));
	json_object_set_new(line, "substreams_silent", json_integer(g->silent));
	json_object_set_new(line, "seconds", seconds_of(g));
	return line;
}

/* ---- for people ------------------------------------------------------ */

/* Adds a cell "0-3,8" for a sorted list. */
static void
threads_cell(struct table *t, const json_t *list)
{
	char text[64] = "";
	size_t n = json_array_size(list), at = 0, end;

	for (size_t i = 0; i < n && at < sizeof text; i = end + 1) {
		json_int_t from = json_integer_value(json_array_get(list, i));

		for (end = i; end + 1 < n; end++)
			if (json_integer_value(json_array_get(list, end + 1)) !=
			    from + (json_int_t)(end + 1 - i))
				break;
		at += (size_t)snprintf(text + at, sizeof text - at,
				       "%s%" JSON_INTEGER_FORMAT, at ? "," : "",
				       from);
		if (end > i && at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "-%" JSON_INTEGER_FORMAT,
					       from + (json_int_t)(end - i));
	}
	table_cell(t, "%s", text);
}

static void
stations_cell(struct table *t, const json_t *list)
{
	char text[64] = "";
	size_t i, at = 0;
	json_t *name;

	json_array_foreach(list, i, name) {
		if (at < sizeof text)
			at += (size_t)snprintf(text + at, sizeof text - at,
					       "%s%s", at ? "," : "",
					       json_string_value(name));
	}
	table_cell(t, "%s", text);
}

static void
second_row(struct table *t, const json_t *s)
{
	uint64_t looked = field_number(s, "looked");
	uint64_t bad = field_number(s, "unreadable") +
		       field_number(s, "misplaced") +
		       field_number(s, "backwards");
	char text[UNITS_TEXT];

	table_cell(t, "%s", field_text(s, "second"));
	table_cell(t, "%s", units_show_time(text, field_time(s, "from")));
	table_cell(t, "%" PRIu64, field_number(s, "packets"));
	table_cell(t, "%" PRIu64, field_number(s, "packets_lost"));
	table_cell(t, "%" PRIu64, looked);
	table_cell(t, "%" PRIu64, bad);
	threads_cell(t, json_object_get(s, "threads"));
	stations_cell(t, json_object_get(s, "stations"));
	if (field_known(s, "offset_s"))
		table_cell(t, "%+.3f s", field_real(s, "offset_s"));
	else
		table_cell(t, "%s", "");
}

static void
show_seconds(const json_t *seconds)
{
	static const struct table_column columns[] = {
		{ "second", false },	    { "from", false },
		{ "packets", true },	    { "lost", true },
		{ "looked at", true },	    { "bad", true },
		{ "threads", false },	    { "station", false },
		{ "data - arrival", true },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *s;
	size_t i;

	json_array_foreach(seconds, i, s)
		second_row(t, s);
	if (json_array_size(seconds))
		table_print(t, 2, stdout);
	table_close(t);
}

static void
show_head(const json_t *line)
{
	uint64_t lost = field_number(line, "packets_lost");
	uint64_t all = field_number(line, "packets") + lost;
	int64_t span = field_time(line, "end") - field_time(line, "start");
	char text[UNITS_TEXT], percent[SHOW_PERCENT];

	printf("%s: %s, %s", field_text(line, "name"),
	       field_text(line, "state"), field_text(line, "format"));
	if (span > 0)
		printf(", %s", units_show_span(text, span));
	printf(", %s", units_show_bytes(text, field_number(line, "bytes")));
	if (field_known(line, "rate"))
		printf(", %s", units_show_rate(text, field_real(line, "rate")));
	printf(", lost %" PRIu64 " of %" PRIu64 " packets, %s\n", lost, all,
	       show_percent(percent, lost, all));
}

void
check_show(const json_t *line)
{
	const json_t *said;
	size_t i;

	show_head(line);
	show_seconds(json_object_get(line, "seconds"));
	json_array_foreach(json_object_get(line, "wrong"), i, said)
		printf("  WRONG: %s\n", json_string_value(said));
	json_array_foreach(json_object_get(line, "remarks"), i, said)
		printf("  note: %s\n", json_string_value(said));
	printf("  %s\n",
	       json_is_true(json_object_get(line, "ok")) ? "good" : "NOT GOOD");
}
