/* SPDX-License-Identifier: MIT */
/*
 * Numbers that are 0 are left out, except the packets lost, which everybody
 * looks for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/loss_show.h"
#include "cli/show/losses.h"
#include "cli/show/show.h"
#include "cli/show/subs.h"
#include "cli/show/table.h"

#define BEFORE_START "before_start" /* a key of `drops` */

static const struct table_column pair[] = { { NULL, false }, { NULL, false } };

const char *
show_percent(char text[SHOW_PERCENT], uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && percent < 0.0001)
		return strcpy(text, "< 0.0001 %");
	snprintf(text, SHOW_PERCENT, percent ? "%.4f %%" : "%.0f %%", percent);
	return text;
}

const char *
show_station(char name[SHOW_STATION], uint64_t station)
{
	char a = (char)(station >> 8), b = (char)station;

	if (a > ' ' && a < 127 && b > ' ' && b < 127)
		snprintf(name, SHOW_STATION, "%c%c", a, b);
	else
		snprintf(name, SHOW_STATION, "%" PRIu64, station);
	return name;
}

static void
bytes_cell(struct table *t, const json_t *object, const char *key,
	   const char *unit)
{
	char text[UNITS_TEXT] = "";

	if (field_known(object, key))
		units_show_bytes(text, field_number(object, key));
	table_cell(t, "%s%s", text, *text ? unit : "");
}

static void
lost_row(struct table *t, const json_t *info)
{
	uint64_t lost = field_number(info, "packets_lost");
	uint64_t all = field_number(info, "packets") + lost;
	char percent[SHOW_PERCENT];

	table_cell(t, "lost");
	table_cell(t, "%s%" PRIu64 " of %" PRIu64 " packets, %s",
		   json_is_true(json_object_get(info, "packets_lost_estimated"))
		       ? "about "
		       : "",
		   lost, all, show_percent(percent, lost, all));
}

/*
 * Adds rows for counters that only the daemon keeps; they are unknown for an
 * interrupted recording, and no row is added.
 */
static void
counter_rows(struct table *t, const json_t *info)
{
	static const char *const counter[][2] = {
		{ "packets_reordered", "reordered" },
		{ "packets_late", "late" },
		{ "packets_duplicate", "duplicate" },
		{ "packets_unreadable", "unreadable" },
		{ "packets_at_risk", "at risk" },
		{ "overruns", "overruns" },
	};

	for (size_t i = 0; i < sizeof counter / sizeof *counter; i++) {
		uint64_t n = field_number(info, counter[i][0]);

		if (!n)
			continue;
		table_cell(t, "%s", counter[i][1]);
		table_cell(t, "%" PRIu64, n);
	}
}

/*
 * Adds a row for packets that came while the recording was armed, before its
 * start.
 */
static void
early_row(struct table *t, const json_t *info)
{
	const json_t *drops = json_object_get(info, "drops");
	uint64_t n = field_number(drops, BEFORE_START);

	if (!n)
		return;
	table_cell(t, "early");
	table_cell(t, "%" PRIu64 " packets came before the start", n);
}

void
show_drops(char text[SHOW_DROPS], const json_t *drops,
	   bool (*wanted)(const char *reason))
{
	const char *reason, *between = "";
	json_t *count;
	size_t n = 0;

	*text = '\0';
	json_object_foreach((json_t *)drops, reason, count) {
		if (json_integer_value(count) == 0 || n >= SHOW_DROPS ||
		    !wanted(reason))
			continue;
		n += (size_t)snprintf(text + n, SHOW_DROPS - n,
				      "%s%" JSON_INTEGER_FORMAT " %s", between,
				      json_integer_value(count), reason);
		between = ", ";
	}
}

static bool
is_not_early(const char *reason)
{
	return strcmp(reason, BEFORE_START) != 0;
}

static void
drops_row(struct table *t, const json_t *info)
{
	char text[SHOW_DROPS];

	show_drops(text, json_object_get(info, "drops"), is_not_early);
	if (!*text)
		return;
	table_cell(t, "dropped");
	table_cell(t, "%s", text);
}

/*
 * Adds rows for the program that made the recording, if it was not spate, and
 * for damage found in it.
 */
static void
origin_rows(struct table *t, const json_t *info)
{
	const json_t *notes = json_object_get(info, "notes"), *note;
	const char *made_by = field_text(info, "made_by");
	enum { SHOWN = 8 };
	size_t i;

	if (*made_by && strcmp(made_by, "spate") != 0) {
		table_cell(t, "made by");
		table_cell(t, "%s", made_by);
	}
	json_array_foreach(notes, i, note) {
		if (i < SHOWN) {
			table_cell(t, "%s", i ? "" : "damage");
			table_cell(t, "%s", json_string_value(note));
		}
	}
	if (json_array_size(notes) > SHOWN) {
		table_cell(t, "%s", "");
		table_cell(t, "... and %zu more: spate verify tells them",
			   json_array_size(notes) - SHOWN);
	}
}

static void
time_rows(struct table *t, const json_t *info)
{
	int64_t start = field_time(info, "start");
	int64_t end = field_time(info, "end");
	char text[UNITS_TEXT];

	if (start) {
		table_cell(t, "start");
		table_cell(t, "%s", units_show_time(text, start));
	}
	if (field_known(info, "left_s")) {
		table_cell(t, "left");
		table_cell(
		    t, "%s",
		    units_show_span(
			text, (int64_t)(field_real(info, "left_s") * 1e9)));
	}
	if (end > start) {
		table_cell(t, "length");
		table_cell(t, "%s", units_show_span(text, end - start));
	}
}

/* Adds a row for each time that a daemon was killed and another resumed. */
static void
resumed_rows(struct table *t, const json_t *info)
{
	char text[UNITS_TEXT], span[UNITS_TEXT];
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(info, "resumed"), i, one) {
		int64_t at = field_time(one, "resumed");
		int64_t stopped = field_time(one, "stopped");

		table_cell(t, "resumed");
		table_cell(t, "%s, %s after it was interrupted",
			   units_show_time(text, at),
			   units_show_span(span, at - stopped));
	}
}

static void
size_row(struct table *t, const json_t *info)
{
	const char *store = field_text(info, "store");
	uint64_t payload = field_number(info, "payload");
	char text[UNITS_TEXT];

	units_show_bytes(text, field_number(info, "bytes"));
	table_cell(t, "size");
	if (strcmp(store, "heap") == 0)
		table_cell(t, "%s, of whole heaps", text);
	else if (strcmp(store, "cube") == 0)
		table_cell(t, "%s, of items of %" PRIu64 " bytes", text,
			   payload);
	else if (field_known(info, "payload"))
		table_cell(t, "%s, in packets of %" PRIu64 " bytes", text,
			   payload);
	else
		table_cell(t, "%s", text);
}

static void
heap_rows(struct table *t, const json_t *info)
{
	uint64_t heaps = field_number(info, "heaps");
	uint64_t part = field_number(info, "heaps_incomplete");
	uint64_t controls = field_number(info, "controls");

	if (field_known(info, "heaps") && (heaps || part)) {
		table_cell(t, "heaps");
		table_cell(t, "%" PRIu64 ", of which %" PRIu64 " incomplete",
			   heaps, part);
	}
	if (field_number(info, "descriptors") || controls) {
		table_cell(t, "kept");
		table_cell(t,
			   "%" PRIu64 " descriptors, %" PRIu64 " control heaps",
			   field_number(info, "descriptors"), controls);
	}
}

/* Adds rows for data that a reader does not get. */
static void
absent_rows(struct table *t, const json_t *info)
{
	char text[UNITS_TEXT];

	if (field_number(info, "absent")) {
		table_cell(t, "absent");
		table_cell(t, "%" PRIu64 " blocks are on none of the disks",
			   field_number(info, "absent"));
	}
	if (field_number(info, "left_out")) {
		table_cell(t, "left out");
		table_cell(
		    t, "%s of chunks that are missing or short",
		    units_show_bytes(text, field_number(info, "left_out")));
	}
}

static void
show_parts(const json_t *disks)
{
	static const struct table_column columns[] = {
		{ "disk", false },
		{ "chunks", true },
		{ "size", true },
	};
	struct table *t = table_open(columns, 3);
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk) {
		table_cell(t, "%s", field_text(disk, "path"));
		table_cell(t, "%" PRIu64, field_number(disk, "chunks"));
		bytes_cell(t, disk, "bytes", "");
	}
	if (json_array_size(disks))
		table_print(t, 2, stdout);
	table_close(t);
}

void
show_info(const json_t *info, bool all)
{
	struct table *t = table_open(pair, 2);

	printf("%s\n", field_text(info, "name"));
	table_cell(t, "state");
	table_cell(t, "%s%s%s", field_text(info, "state"),
		   *field_text(info, "why") ? ": " : "",
		   field_text(info, "why"));
	if (*field_text(info, "stream")) {
		table_cell(t, "stream");
		table_cell(t, "%s, %s", field_text(info, "stream"),
			   field_text(info, "format"));
	} else {
		table_cell(t, "format");
		table_cell(t, "%s", field_text(info, "format"));
	}
	origin_rows(t, info);
	time_rows(t, info);
	resumed_rows(t, info);
	size_row(t, info);
	lost_row(t, info);
	heap_rows(t, info);
	counter_rows(t, info);
	drops_row(t, info);
	early_row(t, info);
	losses_rows(t, info);
	absent_rows(t, info);
	subs_rows(t, info);
	table_print(t, 2, stdout);
	table_close(t);
	loss_show(info);
	subs_show(info, all);
	show_parts(json_object_get(info, "disks"));
}

void
show_sum(const char *name, const json_t *infos)
{
	uint64_t bytes = 0, lost = 0, packets = 0;
	char text[UNITS_TEXT], percent[SHOW_PERCENT];
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info) {
		bytes += field_number(info, "bytes");
		lost += field_number(info, "packets_lost");
		packets += field_number(info, "packets");
	}
	printf("%s: %zu streams, %s, lost %" PRIu64 " of %" PRIu64
	       " packets, %s\n",
	       name, json_array_size(infos), units_show_bytes(text, bytes),
	       lost, packets + lost,
	       show_percent(percent, lost, packets + lost));
}

static bool
has_subs(const json_t *infos)
{
	const json_t *info;
	size_t i, n, most = 0;

	json_array_foreach(infos, i, info) {
		subs_silent(info, &n);
		most = n > most ? n : most;
	}
	return most > 1;
}

static void
subs_cell(struct table *t, const json_t *info)
{
	size_t n, silent = subs_silent(info, &n);

	if (silent)
		table_cell(t, "%zu, %zu silent", n, silent);
	else
		table_cell(t, "%zu", n);
}

static void
running_row(struct table *t, const json_t *info)
{
	const json_t *blocks = json_object_get(info, "blocks");
	uint64_t total = field_number(blocks, "total");
	char text[UNITS_TEXT] = "";

	if (field_known(info, "left_s"))
		units_show_span(text, (int64_t)field_real(info, "left_s") *
					  1000000000);
	table_cell(t, "%" PRIu64, field_number(info, "id"));
	table_cell(t, "%s", field_text(info, "name"));
	table_cell(t, "%s", field_text(info, "stream"));
	table_cell(t, "%s", field_text(info, "state"));
	table_cell(t, "%s", text);
	table_cell(t, "%s", units_show_rate(text, field_real(info, "rate")));
	table_cell(t, "%" PRIu64, field_number(info, "packets"));
	table_cell(t, "%" PRIu64, field_number(info, "packets_lost"));
	table_cell(t, "%" PRIu64 "/%" PRIu64,
		   total - field_number(blocks, "free"), total);
}

void
show_running(const json_t *infos, unsigned indent)
{
	static const struct table_column columns[] = {
		{ "id", true },		 { "name", false }, { "stream", false },
		{ "state", false },	 { "left", true },  { "rate", true },
		{ "packets", true },	 { "lost", true },  { "buffers", true },
		{ "substreams", false },
	};
	bool subs = has_subs(infos);
	struct table *t = table_open(columns, 9 + subs);
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info) {
		running_row(t, info);
		if (subs)
			subs_cell(t, info);
	}
	table_print(t, indent, stdout);
	table_close(t);
	json_array_foreach(infos, i, info) {
		if (*field_text(info, "why"))
			printf("%*s%s: %s\n", (int)indent, "",
			       field_text(info, "name"),
			       field_text(info, "why"));
		subs_silent_line(info, indent);
		losses_lines(info, indent);
	}
}
