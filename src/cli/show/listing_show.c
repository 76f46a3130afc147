/* SPDX-License-Identifier: MIT */
/* An unknown value leaves its cell empty. */
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/show/listing_show.h"
#include "cli/show/show.h"
#include "cli/show/table.h"

static void
cell_size(struct table *t, const struct entry *e)
{
	char text[UNITS_TEXT] = "";

	if (e->counted)
		units_show_bytes(text, e->bytes);
	table_cell(t, "%s", text);
}

static void
cell_loss(struct table *t, const struct entry *e)
{
	char text[SHOW_PERCENT];

	if (!e->counted)
		table_cell(t, "%s", "");
	else if (!e->missing)
		table_cell(t, "%s", "none");
	else
		table_cell(
		    t, "%s",
		    show_percent(text, e->missing, e->missing + e->packets));
}

static void
cell_state(struct table *t, const struct entry *e)
{
	const char *state = entry_state_show(e->state);

	if (e->absent)
		table_cell(t, "%s, %" PRIu64 " blocks away", state, e->absent);
	else
		table_cell(t, "%s", state);
}

static unsigned
count_disks(const struct entry *e)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ENTRY_DISKS; i++)
		n += entry_has(e, i);
	return n;
}

static void
cells_more(struct table *t, const struct entry *e)
{
	table_cell(t, "%s", e->stream);
	table_cell(t, "%s", e->format);
	table_cell(t, "%s", e->layout);
	if (e->counted)
		table_cell(t, "%" PRIu64, e->packets);
	else
		table_cell(t, "%s", "");
	table_cell(t, "%u", count_disks(e));
	table_cell(t, "%u", e->subs);
}

static void
row(struct table *t, const struct entry *e, bool more)
{
	char start[UNITS_TEXT] = "", length[UNITS_TEXT] = "";

	if (e->start_ns)
		units_show_time(start, e->start_ns);
	if (e->end_ns > e->start_ns)
		units_show_span(length, e->end_ns - e->start_ns);
	table_cell(t, "%s", e->name);
	table_cell(t, "%s", start);
	table_cell(t, "%s", length);
	cell_size(t, e);
	cell_loss(t, e);
	cell_state(t, e);
	table_cell(t, "%s", e->protected ? "protected" : "");
	if (more)
		cells_more(t, e);
}

void
listing_table(const struct listing *l, bool more)
{
	static const struct table_column columns[] = {
		{ "name", false },	{ "start", false },
		{ "length", true },	{ "size", true },
		{ "loss", true },	{ "state", false },
		{ "", false },		{ "stream", false },
		{ "format", false },	{ "layout", false },
		{ "packets", true },	{ "disks", true },
		{ "substreams", true },
	};
	enum { FEW = 7 };
	struct table *t =
	    table_open(columns, more ? sizeof columns / sizeof *columns : FEW);

	for (size_t i = 0; i < l->n; i++)
		row(t, &l->entry[i], more);
	if (l->n)
		table_print(t, 0, stdout);
	table_close(t);
}

void
listing_total(const struct listing *l)
{
	char size[UNITS_TEXT], left[UNITS_TEXT], rate[UNITS_TEXT];
	uint64_t bytes = 0;

	for (size_t i = 0; i < l->n; i++)
		bytes += l->entry[i].bytes;
	printf("%zu recording%s, %s; %s free", l->n, l->n == 1 ? "" : "s",
	       units_show_bytes(size, bytes), units_show_bytes(left, l->free));
	if (l->rate >= 1)
		printf(
		    ", full in %s at %s",
		    units_show_span(left, (int64_t)((double)l->free / l->rate) *
					      1000000000),
		    units_show_rate(rate, l->rate * 8));
	putchar('\n');
}
