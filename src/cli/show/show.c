/* SPDX-License-Identifier: MIT */
/*
 * Numbers that are 0 are left out, except the packets lost, which everybody
 * looks for.  Unknown values leave their cells empty; without a daemon that is
 * most of the table of disks.
 *
 * Hundreds of substreams would fill a page, so only those that lost most are
 * shown, silent ones first.  One substream with one run is the usual case, and
 * nothing is printed of it.
 */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/show/field.h"
#include "cli/show/losses.h"
#include "cli/show/show.h"
#include "cli/show/table.h"
#include "control/answer.h"
#include "store/disk/disk_keys.h"
#include "store/recording/recording_info.h"

/* ---- disks --------------------------------------------------------- */

void
show_disks(const json_t *disks, unsigned indent, bool all)
{
	const struct table_keys t = {
		.keys = disk_keys,
		.groups = KEY_COLUMN | (all ? KEY_COLUMN_MORE : 0),
	};

	table_objects(&t, disks, indent);
}

void
show_space(const json_t *space)
{
	struct answer_space s = answer_space(space);
	char left[UNITS_TEXT], span[UNITS_TEXT], rate[UNITS_TEXT];

	if (!json_is_object(space))
		return;
	printf("%s free", units_show_bytes(left, key_or_0(s.free)));
	if (!isnan(s.full_s))
		printf(", full in %s at %s",
		       units_show_span(span, (int64_t)s.full_s * 1000000000),
		       units_show_rate(rate, s.rate * 8));
	putchar('\n');
}

enum { WORST = 10, NAMED = 12 };

/* ---- substreams and runs ------------------------------------------- */

/* The daemon's list is preferred: it also has substreams that fell silent. */
size_t
subs_silent(const json_t *info, size_t *n)
{
	const json_t *subs = json_object_get(info, "subs"), *sub;
	const json_t *list = json_object_get(info, "silent");
	size_t i, silent = 0;

	*n = json_array_size(subs);
	if (json_is_array(list))
		return json_array_size(list);
	json_array_foreach(subs, i, sub)
		silent += !field_number(sub, "packets");
	return silent;
}

/* Writes ": 41007, 41012 ...". */
static const char *
silent_names(char *text, size_t bytes, const json_t *info)
{
	const json_t *list = json_object_get(info, "silent"), *name;
	size_t i, at = 0;

	*text = '\0';
	json_array_foreach(list, i, name) {
		if (at < bytes && i < NAMED)
			at += (size_t)snprintf(text + at, bytes - at, "%s%s",
					       i ? ", " : ": ",
					       json_string_value(name));
	}
	if (i > NAMED && at < bytes)
		snprintf(text + at, bytes - at, " ...");
	return text;
}

/*
 * Prints a line that names the silent substreams of a running recording by
 * their ports; nothing if there are none.
 */
static void
subs_silent_line(const json_t *info, unsigned indent)
{
	size_t n, silent = json_array_size(json_object_get(info, "silent"));
	char names[200];

	if (!silent)
		return;
	subs_silent(info, &n);
	printf("%*s%s: %zu of %zu substreams silent%s\n", (int)indent, "",
	       field_text(info, "name"), silent, n,
	       silent_names(names, sizeof names, info));
}

static size_t
began_anew(const json_t *subs)
{
	const json_t *sub;
	size_t i, n = 0;

	json_array_foreach(subs, i, sub)
		n += field_number(sub, "runs") > 1;
	return n;
}

static bool
resumed(const json_t *info)
{
	return json_array_size(json_object_get(info, "resumed"));
}

/*
 * Adds rows of two cells to a table: how many substreams there are, how many
 * are silent, how many began another run.
 */
static void
subs_rows(struct table *t, const json_t *info)
{
	const json_t *subs = json_object_get(info, "subs");
	size_t n, silent = subs_silent(info, &n);
	size_t runs = json_array_size(json_object_get(info, "runs"));
	char names[200];

	if (n < 2 && runs > 1) {
		table_cell(t, "runs");
		table_cell(t, "%zu: %s", runs,
			   resumed(info)
			       ? "it was resumed, or the sender's counter "
				 "began anew"
			       : "the sender's counter began anew");
	}
	if (n < 2)
		return;
	table_cell(t, "substreams");
	if (silent)
		table_cell(t, "%zu, of which %zu silent%s", n, silent,
			   silent_names(names, sizeof names, info));
	else
		table_cell(t, "%zu", n);
	if (began_anew(subs)) {
		table_cell(t, "runs");
		table_cell(t,
			   "%zu: %sthe counters of %zu substreams began anew",
			   runs, resumed(info) ? "it was resumed, or " : "",
			   began_anew(subs));
	}
}

static double
share_lost(const json_t *sub)
{
	uint64_t lost = field_number(sub, "packets_lost");
	uint64_t packets = field_number(sub, "packets");

	if (!packets)
		return 2; /* above any share: nothing is worse */
	return (double)lost / (double)(packets + lost);
}

static int
by_share(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	double lost_x = share_lost(x), lost_y = share_lost(y);
	uint64_t number_x = field_number(x, "sub");

	if (lost_x != lost_y)
		return lost_x > lost_y ? -1 : 1;
	return number_x < field_number(y, "sub") ? -1 : 1;
}

static void
sub_row(struct table *t, const json_t *sub, bool from)
{
	uint64_t lost = field_number(sub, "packets_lost");
	uint64_t packets = field_number(sub, "packets");
	int64_t start = field_time(sub, "start"), end = field_time(sub, "end");
	char text[UNITS_TEXT], percent[SHOW_PERCENT];

	table_cell(t, "%" PRIu64, field_number(sub, "sub"));
	if (from) {
		table_cell(t, "%s", field_text(sub, "address"));
		table_cell(t, "%s", field_text(sub, "sender"));
	}
	table_cell(t, "%" PRIu64, packets);
	table_cell(t, "%" PRIu64, lost);
	table_cell(t, "%s", show_percent(percent, lost, packets + lost));
	table_cell(t, "%s", units_show_bytes(text, field_number(sub, "bytes")));
	table_cell(t, "%" PRIu64, field_number(sub, "runs"));
	table_cell(t, "%s", start ? units_show_time(text, start) : "");
	table_cell(t, "%s", end ? units_show_time(text, end) : "");
}

/* Addresses are known only while a recording runs, and just after. */
static struct table *
subs_table(bool from)
{
	static const struct table_column columns[] = {
		{ "substream", true }, { "address", false },
		{ "sender", false },   { "packets", true },
		{ "lost", true },      { "share", true },
		{ "size", true },      { "runs", true },
		{ "start", false },    { "end", false },
	};
	static const struct table_column without[] = {
		{ "substream", true }, { "packets", true }, { "lost", true },
		{ "share", true },     { "size", true },    { "runs", true },
		{ "start", false },    { "end", false },
	};

	return from ? table_open(columns, sizeof columns / sizeof *columns)
		    : table_open(without, sizeof without / sizeof *without);
}

static void
show_subs(const json_t *subs, bool all)
{
	bool from = field_known(json_array_get(subs, 0), "address");
	size_t n = json_array_size(subs), shown = n, i;
	json_t **sorted = calloc(n + 1, sizeof(json_t *)), *sub;
	struct table *t = subs_table(from);

	if (!sorted || !t)
		goto out;
	json_array_foreach(subs, i, sub)
		sorted[i] = sub;
	if (!all) {
		qsort(sorted, n, sizeof(json_t *), by_share);
		shown = n < WORST ? n : WORST;
	}
	for (i = 0; i < shown; i++)
		sub_row(t, sorted[i], from);
	table_print(t, 2, stdout);
	if (shown < n)
		printf("  and %zu that are no worse: --all shows them\n",
		       n - shown);
out:
	table_close(t);
	free(sorted);
}

static void
run_row(struct table *t, const json_t *run)
{
	char text[UNITS_TEXT];

	if (field_known(run, "sub"))
		table_cell(t, "%" PRIu64, field_number(run, "sub"));
	table_cell(t, "%" PRIu64, field_number(run, "run"));
	table_cell(t, "%" PRIu64,
		   field_number(run, "base") + field_number(run, "first"));
	table_cell(t, "%" PRIu64, field_number(run, "packets"));
	table_cell(t, "%" PRIu64, field_number(run, "packets_lost"));
	table_cell(t, "%s", units_show_time(text, field_time(run, "start")));
}

static void
show_runs(const json_t *runs)
{
	static const struct table_column columns[] = {
		{ "substream", true },	    { "run", true },
		{ "first sequence", true }, { "packets", true },
		{ "lost", true },	    { "start", false },
	};
	bool of_subs = field_known(json_array_get(runs, 0), "sub");
	struct table *t = table_open(columns + !of_subs, 5 + of_subs);
	const json_t *run;
	size_t i;

	json_array_foreach(runs, i, run)
		run_row(t, run);
	table_print(t, 2, stdout);
	table_close(t);
}

/*
 * Prints a table of substreams on stdout, sorted by loss and only the worst,
 * unless `all`; and one of runs.
 */
static void
subs_show(const json_t *info, bool all)
{
	const json_t *subs = json_object_get(info, "subs");
	const json_t *runs = json_object_get(info, "runs");
	bool several = json_array_size(subs) > 1;

	if (several ? all && began_anew(subs) : json_array_size(runs) > 1)
		show_runs(runs);
	if (several)
		show_subs(subs, all);
}

#define BEFORE_START "before_start" /* a key of `drops` */

static const struct table_column pair[] = { { NULL, false }, { NULL, false } };

/* ---- a recording --------------------------------------------------- */

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

/* Adds a row for the clock of the data, with what it cannot tell. */
static void
clock_row(struct table *t, const json_t *info)
{
	double behind = field_real(info, "clock_s");
	bool read = !strcmp(field_text(info, "clock_stamps"), "read");
	char spread[40] = "";

	if (!field_known(info, "clock_s"))
		return;
	if (field_known(info, "clock_spread_s"))
		snprintf(spread, sizeof spread,
			 ", +-%.3f ms from second to "
			 "second",
			 field_real(info, "clock_spread_s") * 1e3);
	table_cell(t, "clock");
	table_cell(t, "%.4f s %s arrival%s%s", fabs(behind),
		   behind < 0 ? "ahead of" : "behind", spread,
		   read ? "; packets have no time stamps: up to 2 ms less"
			: "");
	if (*field_text(info, "clock")) {
		table_cell(t, "%s", "");
		table_cell(t, "%s", field_text(info, "clock"));
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
	char text[UNITS_TEXT], less[64];

	if (field_number(info, "absent")) {
		table_cell(t, "absent");
		table_cell(t, "%" PRIu64 " blocks are on none of the disks",
			   field_number(info, "absent"));
	}
	if (field_number(info, "parity")) {
		table_cell(t, "parity");
		snprintf(less, sizeof less, ", of 1 disk for %" PRIu64,
			 field_number(info, "with_less_parity"));
		table_cell(t,
			   "of %" PRIu64 " disk%s, for %" PRIu64 " of %" PRIu64
			   " chunks%s",
			   field_number(info, "parity"),
			   field_number(info, "parity") > 1 ? "s" : "",
			   field_number(info, "with_parity"),
			   field_number(info, "chunks"),
			   field_number(info, "with_less_parity") ? less : "");
	}
	if (field_number(info, "computed")) {
		table_cell(t, "computed");
		table_cell(t,
			   "%" PRIu64 " chunks of disks that are away, from "
			   "parity",
			   field_number(info, "computed"));
	}
	if (field_number(info, "left_out")) {
		table_cell(t, "left out");
		table_cell(
		    t, "%s of chunks that are missing or short",
		    units_show_bytes(text, field_number(info, "left_out")));
	}
}

void
show_info(const json_t *info, bool all)
{
	static const struct table_keys parts = { .keys = info_disk_keys,
						 .groups = KEY_COLUMN };
	const json_t *disks = json_object_get(info, "disks");
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
	clock_row(t, info);
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
	if (json_array_size(disks))
		table_objects(&parts, disks, 2);
}

/* Prints the sum of several streams that were recorded together. */
static void
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
	table_cell(t, "%s", field_text(info, "quality"));
}

/* Prints a line for each link of a running recording that does not hold. */
static void
links_lines(const json_t *info, unsigned indent)
{
	const json_t *link;
	char since[UNITS_TEXT];
	size_t i;

	json_array_foreach(json_object_get(info, "links"), i, link) {
		if (*field_text(link, "why"))
			printf(
			    "%*s%s: %s, since %s\n", (int)indent, "",
			    field_text(info, "name"), field_text(link, "why"),
			    units_show_time(since, field_time(link, "since")));
	}
}

void
show_running(const json_t *infos, unsigned indent)
{
	static const struct table_column columns[] = {
		{ "id", true },		 { "name", false },
		{ "stream", false },	 { "state", false },
		{ "left", true },	 { "rate", true },
		{ "packets", true },	 { "lost", true },
		{ "buffers", true },	 { "signal", false },
		{ "substreams", false },
	};
	bool subs = has_subs(infos);
	struct table *t = table_open(columns, 10 + subs);
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
		links_lines(info, indent);
		if (*field_text(info, "clock"))
			printf("%*s%s: %s\n", (int)indent, "",
			       field_text(info, "name"),
			       field_text(info, "clock"));
		subs_silent_line(info, indent);
		losses_lines(info, indent);
	}
}

void
show_infos(const struct cli *cli, const char *name, const json_t *infos,
	   bool all)
{
	const json_t *info;
	size_t i;

	json_array_foreach(infos, i, info) {
		if (cli->json)
			cli_print_json(info);
		else
			show_info(info, all);
	}
	if (!cli->json && json_array_size(infos) > 1)
		show_sum(name, infos);
}

void
show_renamed(const char *name)
{
	printf(
	    "%s: what is called .aside now may be deleted when all disks are "
	    "there and spate verify %s finds nothing wrong\n",
	    name, name);
}
