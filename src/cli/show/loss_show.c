/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "cli/show/field.h"
#include "cli/show/loss_show.h"
#include "cli/show/table.h"

enum { COLUMNS = 60, WORST = 5 };

static char
mark(const json_t *column)
{
	uint64_t lost = field_number(column, "packets_lost");
	uint64_t all = field_number(column, "packets") + lost;

	if (field_number(column, "packets_absent"))
		return 'x';
	if (!all)
		return ' ';
	if (!lost)
		return '.';
	if (lost * 1000 <= all)
		return '-';
	return lost * 100 <= all ? '+' : '#';
}

static bool
is_lossy(const json_t *map)
{
	const json_t *column;
	size_t i;

	json_array_foreach(map, i, column) {
		if (field_number(column, "packets_lost") ||
		    field_number(column, "packets_absent"))
			return true;
	}
	return false;
}

static void
show_bar(const json_t *map)
{
	const json_t *column = json_array_get(map, 0);
	int64_t span = field_time(column, "to") - field_time(column, "from");
	char bar[COLUMNS + 1] = "", text[UNITS_TEXT];
	size_t i;

	json_array_foreach(map, i, column) {
		if (i < COLUMNS)
			bar[i] = mark(column);
	}
	units_show_span(text, span);
	printf("  lost over time, each %s:  . nothing  - up to 0.1 %%  "
	       "+ up to 1 %%  # more  x not on the disks\n  |%s|\n",
	       text, bar);
}

static void
show_worst(const json_t *worst, bool subs)
{
	static const struct table_column columns[] = {
		{ "most lost from", false },
		{ "in", true },
		{ "packets", true },
		{ "", false },
	};
	struct table *t = table_open(columns, 4);
	char text[UNITS_TEXT];
	const json_t *s;
	size_t i;

	json_array_foreach(worst, i, s) {
		int64_t from = field_time(s, "from");

		if (i == WORST)
			break;
		table_cell(t, "%s", units_show_time(text, from));
		table_cell(t, "%s",
			   units_show_span(text, field_time(s, "to") - from));
		table_cell(t, "%" PRIu64, field_number(s, "packets_lost"));
		if (json_is_true(json_object_get(s, "absent")))
			table_cell(t, "not on the disks");
		else if (subs)
			table_cell(t, "substream %" PRIu64,
				   field_number(s, "sub"));
		else
			table_cell(t, "%s", "");
	}
	if (json_array_size(worst))
		table_print(t, 2, stdout);
	table_close(t);
}

void
loss_show(const json_t *info)
{
	const json_t *map = json_object_get(info, "loss_map");
	const json_t *subs = json_object_get(info, "subs");

	if (!is_lossy(map))
		return;
	show_bar(map);
	show_worst(json_object_get(info, "loss_worst"),
		   json_array_size(subs) > 1);
}
