/* SPDX-License-Identifier: MIT */
/*
 * A column is a title and a function that makes its cells, for one table or
 * both.  A column without any content is left out.  Texts from a schedule file
 * may appear here, so they are cut and cleaned of control characters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "base/text.h"
#include "cli/show/field.h"
#include "cli/schedule/schedule.h"
#include "cli/show/table.h"

#define DAY (24 * 3600 * NS_SECOND)

enum { CELL = 512 };

typedef const char *cell_maker(char text[CELL], const json_t *scan);

static const char *
text_of(char text[CELL], const json_t *scan, const char *key)
{
	snprintf(text, CELL, "%.330s", field_text(scan, key));
	return text_clean(text);
}

static const char *
cell_id(char text[CELL], const json_t *scan)
{
	snprintf(text, CELL, "%" PRIu64, field_number(scan, "id"));
	return field_known(scan, "id") ? text : "";
}

static const char *
cell_name(char text[CELL], const json_t *scan)
{
	return text_of(text, scan, "name");
}

/* Schedules are made of whole seconds, so ".000" is left out. */
static const char *
cell_start(char text[CELL], const json_t *scan)
{
	char time[UNITS_TEXT], *dot;

	if (!field_time(scan, "start"))
		return "";
	units_show_time(time, field_time(scan, "start"));
	dot = strstr(time, ".000Z");
	if (dot)
		strcpy(dot, "Z");
	snprintf(text, CELL, "%s%s",
		 json_is_true(json_object_get(scan, "data")) ? "@" : "", time);
	return text;
}

static const char *
cell_length(char text[CELL], const json_t *scan)
{
	double s = field_real(scan, "duration_s");

	return s > 0 ? units_show_span(text, (int64_t)(s * 1e9)) : "";
}

static const char *
cell_streams(char text[CELL], const json_t *scan)
{
	const json_t *list = json_object_get(scan, "streams"), *one;
	size_t at = 0, i;

	*text = 0;
	json_array_foreach(list, i, one) {
		if (at < CELL - 1 && json_is_string(one))
			at += (size_t)snprintf(text + at, CELL - at, "%s%.64s",
					       at ? "," : "",
					       json_string_value(one));
	}
	return text_clean(text);
}

/* Writes where a scan is sent: by its action, or while it is recorded. */
static const char *
cell_to(char text[CELL], const json_t *scan)
{
	return text_of(text, scan, field_known(scan, "to") ? "to" : "send");
}

static const char *
cell_action(char text[CELL], const json_t *scan)
{
	const char *action = field_text(scan, "action");

	return strcmp(action, "record") ? text_of(text, scan, "action")
					: strcpy(text, "");
}

static const char *
cell_priority(char text[CELL], const json_t *scan)
{
	snprintf(text, CELL, "%" PRIu64, field_number(scan, "priority"));
	return field_known(scan, "priority") ? text : "";
}

static const char *
cell_state(char text[CELL], const json_t *scan)
{
	return text_of(text, scan, "state");
}

/* Writes "2d 04h" for spans of two days and more. */
static const char *
span_words(char text[UNITS_TEXT], int64_t ns)
{
	if (ns < 2 * DAY)
		return units_show_span(text, ns);
	snprintf(text, UNITS_TEXT, "%dd %02dh", (int)(ns / DAY),
		 (int)(ns % DAY / (3600 * NS_SECOND)));
	return text;
}

static const char *
cell_next(char text[CELL], const json_t *scan)
{
	bool runs = !strcmp(field_text(scan, "state"), "running");
	char span[UNITS_TEXT];
	double s = field_real(scan, "next_s");

	if (!field_known(scan, "next_s"))
		return "";
	/* Rounded: fractions of a second do not matter here. */
	span_words(span, s < 1e9 ? (int64_t)(s + 0.5) * NS_SECOND : INT64_MAX);
	snprintf(text, CELL, "%s %s", runs ? "ends in" : "in", span);
	return text;
}

static const char *
bytes_of(char text[CELL], const json_t *scan, const char *key)
{
	return field_known(scan, key)
		   ? units_show_bytes(text, field_number(scan, key))
		   : "";
}

static const char *
cell_volume(char text[CELL], const json_t *scan)
{
	return bytes_of(text, scan, "volume");
}

static const char *
cell_memory(char text[CELL], const json_t *scan)
{
	return bytes_of(text, scan, "memory");
}

static const char *
cell_free(char text[CELL], const json_t *scan)
{
	return bytes_of(text, scan, "free_after");
}

static const char *
cell_verdict(char text[CELL], const json_t *scan)
{
	return text_of(text, scan, "verdict");
}

/* Writes the real name of the recording, if it differs, and the reason. */
static const char *
cell_why(char text[CELL], const json_t *scan)
{
	const char *recording = field_text(scan, "recording");
	const char *why = field_text(scan, "reason");
	bool renamed =
	    *recording && strcmp(recording, field_text(scan, "name"));

	why = *why ? why : field_text(scan, "why");
	snprintf(text, CELL, "%s%.80s%s%.330s", renamed ? "as " : "",
		 renamed ? recording : "", renamed && *why ? "; " : "", why);
	return text_clean(text);
}

struct column {
	struct table_column head;
	cell_maker *cell;
	unsigned kinds;
};

#define IN(kind) (1u << (kind))
#define BOTH	 (IN(SCHEDULE_STATE) | IN(SCHEDULE_CHECK))

static const struct column columns[] = {
	{ { "id", true }, cell_id, IN(SCHEDULE_STATE) },
	{ { "name", false }, cell_name, BOTH },
	{ { "start", false }, cell_start, BOTH },
	{ { "length", true }, cell_length, BOTH },
	{ { "action", false }, cell_action, BOTH },
	{ { "stream", false }, cell_streams, BOTH },
	{ { "to", false }, cell_to, BOTH },
	{ { "priority", true }, cell_priority, BOTH },
	{ { "volume", true }, cell_volume, IN(SCHEDULE_CHECK) },
	{ { "memory", true }, cell_memory, IN(SCHEDULE_CHECK) },
	{ { "free then", true }, cell_free, IN(SCHEDULE_CHECK) },
	{ { "fits", false }, cell_verdict, IN(SCHEDULE_CHECK) },
	{ { "state", false }, cell_state, IN(SCHEDULE_STATE) },
	{ { "next", false }, cell_next, IN(SCHEDULE_STATE) },
	{ { "", false }, cell_why, BOTH },
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static bool
has_any(const struct column *c, const json_t *scans)
{
	const json_t *scan;
	char text[CELL];
	size_t i;

	json_array_foreach(scans, i, scan)
		if (*c->cell(text, scan))
			return true;
	return false;
}

void
schedule_show(const struct cli *cli, const json_t *scans,
	      enum schedule_columns kind)
{
	struct table_column head[COLUMNS];
	const struct column *used[COLUMNS];
	const json_t *scan;
	struct table *t;
	unsigned n = 0;
	char text[CELL];
	size_t i;

	for (i = 0; i < COLUMNS && !cli->json; i++) {
		if (!(columns[i].kinds & IN(kind)) ||
		    !has_any(&columns[i], scans))
			continue;
		used[n] = &columns[i];
		head[n++] = columns[i].head;
	}
	t = table_open(head, n);
	json_array_foreach(scans, i, scan) {
		if (cli->json)
			cli_print_json(scan);
		for (unsigned k = 0; k < n; k++)
			table_cell(t, "%s", used[k]->cell(text, scan));
	}
	if (n)
		table_print(t, 0, stdout);
	table_close(t);
}

/* ---- lines below the table ------------------------------------------- */

static const json_t *
next_of(const json_t *scans)
{
	const json_t *scan, *next = NULL;
	size_t i;

	json_array_foreach(scans, i, scan) {
		if (!field_known(scan, "next_s") ||
		    !strcmp(field_text(scan, "state"), "running"))
			continue;
		if (!next ||
		    field_real(scan, "next_s") < field_real(next, "next_s"))
			next = scan;
	}
	return next;
}

void
schedule_show_next(const json_t *result)
{
	const json_t *scans = json_object_get(result, "scans");
	const json_t *next = next_of(scans);
	const char *folder = field_text(result, "folder");
	char text[CELL];

	printf("%zu scan%s", json_array_size(scans),
	       json_array_size(scans) == 1 ? "" : "s");
	if (next)
		printf("; next is %s %s", field_text(next, "name"),
		       cell_next(text, next));
	if (!*folder)
		printf("; `schedule` of spate.conf names no folder");
	putchar('\n');
}

static void
time_print(const char *before, const json_t *of, const char *key)
{
	char text[UNITS_TEXT];

	if (field_known(of, key))
		printf("%s%s", before,
		       units_show_time(text, field_time(of, key)));
}

static void
memory_print(const json_t *memory)
{
	char most[UNITS_TEXT], all[UNITS_TEXT];

	printf("memory  at most %s of %s",
	       units_show_bytes(most, field_number(memory, "peak")),
	       units_show_bytes(all, field_number(memory, "bytes")));
	time_print(", at ", memory, "peak_at");
	putchar('\n');
}

static void
rate_print(const json_t *rate)
{
	char text[UNITS_TEXT];

	printf("rate    at most %s",
	       units_show_rate(text, field_real(rate, "peak")));
	if (field_known(rate, "speed"))
		printf(" of %s that the disks take",
		       units_show_rate(text, field_real(rate, "speed")));
	time_print(", at ", rate, "peak_at");
	putchar('\n');
}

static void
sum_json(const json_t *result)
{
	json_t *sum = json_copy((json_t *)result);

	json_object_del(sum, "scans");
	cli_print_json(sum);
	json_decref(sum);
}

void
schedule_show_sum(const struct cli *cli, const json_t *result)
{
	const json_t *disks = json_object_get(result, "disks");
	char volume[UNITS_TEXT], left[UNITS_TEXT];

	if (cli->json)
		sum_json(result);
	if (cli->json || cli->quiet)
		return;
	printf("disks   %s to come, %s free",
	       units_show_bytes(volume, field_number(result, "volume")),
	       units_show_bytes(left, field_number(disks, "free")));
	time_print("; full at ", result, "full_at");
	putchar('\n');
	memory_print(json_object_get(result, "memory"));
	rate_print(json_object_get(result, "rate"));
	if (field_number(result, "unknown"))
		printf("%" PRIu64 " scan(s) of streams without a `rate`: what "
		       "these will make is not counted\n",
		       field_number(result, "unknown"));
}
