/* SPDX-License-Identifier: MIT */
/*
 * Hundreds of substreams would fill a page, so only those that lost most are
 * shown, silent ones first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/subs.h"

enum { WORST = 10, NAMED = 12 };

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

void
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

void
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

void
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
