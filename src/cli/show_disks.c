/* SPDX-License-Identifier: MIT */
/*
 * Unknown values leave their cells empty; without a daemon that is most of
 * them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/show.h"
#include "cli/show/table.h"

static void
bytes_cell(struct table *t, const json_t *disk, const char *key,
	   const char *unit)
{
	char text[UNITS_TEXT] = "";

	if (field_known(disk, key))
		units_show_bytes(text, (uint64_t)field_real(disk, key));
	table_cell(t, "%s%s", text, *text ? unit : "");
}

static void
number_cell(struct table *t, const json_t *disk, const char *key)
{
	if (field_known(disk, key))
		table_cell(t, "%" PRIu64, field_number(disk, key));
	else
		table_cell(t, "%s", "");
}

static void
ms_cell(struct table *t, const json_t *disk, const char *key)
{
	char text[UNITS_TEXT] = "";

	if (field_known(disk, key))
		units_show_span(text, (int64_t)(field_real(disk, key) * 1e6));
	table_cell(t, "%s", text);
}

static void
full_cell(struct table *t, const json_t *disk)
{
	char text[UNITS_TEXT] = "";

	if (field_known(disk, "full_s"))
		units_show_span(text, (int64_t)field_real(disk, "full_s") *
					  1000000000);
	table_cell(t, "%s", text);
}

static void
disk_row(struct table *t, const json_t *disk, bool all)
{
	table_cell(t, "%s", field_text(disk, "path"));
	table_cell(t, "%s", field_text(disk, "state"));
	bytes_cell(t, disk, "free", "");
	bytes_cell(t, disk, "total", "");
	full_cell(t, disk);
	bytes_cell(t, disk, "written", "");
	bytes_cell(t, disk, "rate", "/s");
	number_cell(t, disk, "errors");
	if (all) {
		number_cell(t, disk, "queued");
		ms_cell(t, disk, "latency_ms");
		ms_cell(t, disk, "latency_p99_ms");
		bytes_cell(t, disk, "speed", "/s");
	}
	table_cell(t, "%s", field_text(disk, "writer"));
	table_cell(t, "%s", field_text(disk, "why"));
}

void
show_disks(const json_t *disks, unsigned indent, bool all)
{
	static const struct table_column few[] = {
		{ "disk", false }, { "state", false },	{ "free", true },
		{ "total", true }, { "full in", true }, { "written", true },
		{ "rate", true },  { "errors", true },	{ "writer", false },
		{ "", false },
	};
	static const struct table_column many[] = {
		{ "disk", false },   { "state", false },  { "free", true },
		{ "total", true },   { "full in", true }, { "written", true },
		{ "rate", true },    { "errors", true },  { "blocks", true },
		{ "latency", true }, { "p99", true },	  { "speed", true },
		{ "writer", false }, { "", false },
	};
	struct table *t = all ? table_open(many, sizeof many / sizeof *many)
			      : table_open(few, sizeof few / sizeof *few);
	const json_t *disk;
	size_t i;

	json_array_foreach(disks, i, disk)
		disk_row(t, disk, all);
	table_print(t, indent, stdout);
	table_close(t);
}

void
show_space(const json_t *space)
{
	char left[UNITS_TEXT], span[UNITS_TEXT], rate[UNITS_TEXT];

	if (!json_is_object(space))
		return;
	printf("%s free", units_show_bytes(left, field_number(space, "free")));
	if (field_known(space, "full_s"))
		printf(
		    ", full in %s at %s",
		    units_show_span(span, (int64_t)field_real(space, "full_s") *
					      1000000000),
		    units_show_rate(rate, field_real(space, "rate") * 8));
	putchar('\n');
}
