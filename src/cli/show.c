/* SPDX-License-Identifier: MIT */
/*
 * What is zero is left out, except the one number that everybody looks for:
 * the packets that were lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/field.h"
#include "cli/show.h"
#include "cli/table.h"

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
	table_cell(t, "%" PRIu64 " of %" PRIu64 " packets, %s", lost, all,
		   show_percent(percent, lost, all));
}

/* Counters that only the daemon keeps; of an interrupted recording they are
 * not known, and nothing is said. */
static void
counter_rows(struct table *t, const json_t *info)
{
	static const char *const counter[][2] = {
		{ "packets_reordered", "reordered" },
		{ "packets_late", "late" },
		{ "packets_duplicate", "duplicate" },
		{ "packets_unreadable", "unreadable" },
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

static void
drops_row(struct table *t, const json_t *info)
{
	const char *reason, *between = "";
	char text[256] = "";
	json_t *drops = json_object_get(info, "drops"), *count;
	size_t n = 0;

	json_object_foreach(drops, reason, count) {
		if (json_integer_value(count) == 0 || n >= sizeof text)
			continue;
		n += (size_t)snprintf(text + n, sizeof text - n,
				      "%s%" JSON_INTEGER_FORMAT " %s", between,
				      json_integer_value(count), reason);
		between = ", ";
	}
	if (!*text)
		return;
	table_cell(t, "dropped");
	table_cell(t, "%s", text);
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

static void
size_row(struct table *t, const json_t *info)
{
	char text[UNITS_TEXT];

	table_cell(t, "size");
	if (field_known(info, "payload"))
		table_cell(t, "%s, in packets of %" PRIu64 " bytes",
			   units_show_bytes(text, field_number(info, "bytes")),
			   field_number(info, "payload"));
	else
		table_cell(t, "%s",
			   units_show_bytes(text, field_number(info, "bytes")));
}

/* One run is the rule, and told by the rows above. */
static void
show_runs(const json_t *runs)
{
	static const struct table_column columns[] = {
		{ "run", true },     { "first sequence", true },
		{ "packets", true }, { "lost", true },
		{ "start", false },
	};
	struct table *t;
	const json_t *run;
	size_t i;

	if (json_array_size(runs) < 2)
		return;
	t = table_open(columns, sizeof columns / sizeof *columns);
	json_array_foreach(runs, i, run) {
		char text[UNITS_TEXT];

		table_cell(t, "%" PRIu64, field_number(run, "run"));
		table_cell(t, "%" PRIu64,
			   field_number(run, "base") +
			       field_number(run, "first"));
		table_cell(t, "%" PRIu64, field_number(run, "packets"));
		table_cell(t, "%" PRIu64, field_number(run, "packets_lost"));
		table_cell(t, "%s",
			   units_show_time(text, field_time(run, "start")));
	}
	table_print(t, 2, stdout);
	table_close(t);
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
show_info(const json_t *info)
{
	struct table *t = table_open(pair, 2);

	printf("%s\n", field_text(info, "name"));
	table_cell(t, "state");
	table_cell(t, "%s%s%s", field_text(info, "state"),
		   *field_text(info, "why") ? ": " : "",
		   field_text(info, "why"));
	table_cell(t, "stream");
	table_cell(t, "%s, %s", field_text(info, "stream"),
		   field_text(info, "format"));
	time_rows(t, info);
	size_row(t, info);
	lost_row(t, info);
	counter_rows(t, info);
	drops_row(t, info);
	if (json_array_size(json_object_get(info, "runs")) > 1) {
		table_cell(t, "runs");
		table_cell(t, "%zu: the sender's counter began anew",
			   json_array_size(json_object_get(info, "runs")));
	}
	table_print(t, 2, stdout);
	table_close(t);
	show_runs(json_object_get(info, "runs"));
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

void
show_running(const json_t *infos, unsigned indent)
{
	static const struct table_column columns[] = {
		{ "id", true },	     { "name", false }, { "stream", false },
		{ "state", false },  { "left", true },	{ "rate", true },
		{ "packets", true }, { "lost", true },	{ "buffers", true },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *info;
	char text[UNITS_TEXT];
	size_t i;

	json_array_foreach(infos, i, info) {
		const json_t *blocks = json_object_get(info, "blocks");
		uint64_t total = field_number(blocks, "total");

		table_cell(t, "%" PRIu64, field_number(info, "id"));
		table_cell(t, "%s", field_text(info, "name"));
		table_cell(t, "%s", field_text(info, "stream"));
		table_cell(t, "%s", field_text(info, "state"));
		table_cell(t, "%s",
			   field_known(info, "left_s")
			       ? units_show_span(
				     text, (int64_t)field_real(info, "left_s") *
					       1000000000)
			       : "");
		table_cell(t, "%s",
			   units_show_rate(text, field_real(info, "rate")));
		table_cell(t, "%" PRIu64, field_number(info, "packets"));
		table_cell(t, "%" PRIu64, field_number(info, "packets_lost"));
		table_cell(t, "%" PRIu64 "/%" PRIu64,
			   total - field_number(blocks, "free"), total);
	}
	table_print(t, indent, stdout);
	table_close(t);
}

void
show_disks(const json_t *disks, unsigned indent)
{
	static const struct table_column columns[] = {
		{ "disk", false },  { "state", false },	 { "free", true },
		{ "total", true },  { "written", true }, { "rate", true },
		{ "errors", true }, { "writer", false }, { "", false },
	};
	struct table *t = table_open(columns, sizeof columns / sizeof *columns);
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk) {
		table_cell(t, "%s", field_text(disk, "path"));
		table_cell(t, "%s", field_text(disk, "state"));
		bytes_cell(t, disk, "free", "");
		bytes_cell(t, disk, "total", "");
		bytes_cell(t, disk, "written", "");
		bytes_cell(t, disk, "rate", "/s");
		if (field_known(disk, "errors"))
			table_cell(t, "%" PRIu64, field_number(disk, "errors"));
		else
			table_cell(t, "%s", "");
		table_cell(t, "%s", field_text(disk, "writer"));
		table_cell(t, "%s", field_text(disk, "why"));
	}
	table_print(t, indent, stdout);
	table_close(t);
}
