/* SPDX-License-Identifier: MIT */
/*
 * A disk is slow if it has less than SLOW percent of the median speed.  Disks
 * of one model differ by 10 or 20 %, and a failing one is slower by half or
 * more.
 */
#include <stdio.h>

#include "base/units.h"
#include "cli/show/cli.h"
#include "cli/disks/disks_test.h"
#include "cli/show/table.h"

enum { SLOW = 70 };

/* ---- judging ---------------------------------------------------------- */

/*
 * Returns the median speed of the disks that worked: the highest speed that at
 * least half of them reach.
 */
static double
median(const struct tested *disk, unsigned n, bool read)
{
	double best = 0;

	for (unsigned i = 0; i < n; i++) {
		double speed = read ? disk[i].alone.read : disk[i].alone.write;
		unsigned of = 0, as_fast = 0;

		for (unsigned k = 0; k < n; k++) {
			of += !*disk[k].error;
			as_fast += !*disk[k].error &&
				   (read ? disk[k].alone.read
					 : disk[k].alone.write) >= speed;
		}
		if (!*disk[i].error && 2 * as_fast >= of && speed > best)
			best = speed;
	}
	return best;
}

static int
shares(const struct tested *disk, unsigned i)
{
	for (unsigned k = 0; k < i; k++) {
		if (disk[i].device && disk[k].device == disk[i].device)
			return (int)k;
	}
	return -1;
}

void
tested_judge(struct tested *disk, unsigned n)
{
	double write = median(disk, n, false), read = median(disk, n, true);

	for (unsigned i = 0; i < n; i++) {
		struct tested *d = &disk[i];

		d->shares = shares(disk, i);
		d->slow = !*d->error && (d->alone.write * 100 < write * SLOW ||
					 d->alone.read * 100 < read * SLOW);
	}
}

/* ---- for people ------------------------------------------------------- */

static void
speed_cell(struct table *t, double speed)
{
	if (speed > 0)
		table_cell(t, "%.3f", speed / 1e9);
	else
		table_cell(t, "%s", "");
}

static void
span_cell(struct table *t, int64_t ns)
{
	char text[UNITS_TEXT] = "";

	if (ns)
		units_show_span(text, ns);
	table_cell(t, "%s", text);
}

static void
note_cell(struct table *t, const struct tested *all, const struct tested *d)
{
	if (*d->error)
		table_cell(t, "%s", d->error);
	else if (d->shares >= 0)
		table_cell(t, "%sshares its file system with %s",
			   d->slow ? "slow; " : "", all[d->shares].path);
	else
		table_cell(t, "%s", d->slow ? "slow" : "");
}

static void
row(struct table *t, const struct tested *all, const struct tested *d,
    bool together)
{
	table_cell(t, "%s", d->path);
	speed_cell(t, d->alone.write);
	speed_cell(t, d->alone.read);
	span_cell(t, d->alone.write_p50);
	span_cell(t, d->alone.write_p99);
	if (together) {
		speed_cell(t, d->together.write);
		speed_cell(t, d->together.read);
		span_cell(t, d->together.write_p99);
	}
	table_cell(t, "%s", d->writer ? d->writer : "");
	note_cell(t, all, d);
}

static void
text_show(const struct tested *disk, unsigned n)
{
	static const struct table_column alone[] = {
		{ "disk", false },     { "write GB/s", true },
		{ "read GB/s", true }, { "p50", true },
		{ "p99", true },       { "writer", false },
		{ "", false },
	};
	static const struct table_column both[] = {
		{ "disk", false },     { "write GB/s", true },
		{ "read GB/s", true }, { "p50", true },
		{ "p99", true },       { "all: write", true },
		{ "all: read", true }, { "p99", true },
		{ "writer", false },   { "", false },
	};
	double write = 0, read = 0;
	struct table *t;

	for (unsigned i = 0; i < n; i++) {
		write += disk[i].together.write;
		read += disk[i].together.read;
	}
	t = write > 0 ? table_open(both, 10) : table_open(alone, 7);
	for (unsigned i = 0; i < n; i++)
		row(t, disk, &disk[i], write > 0);
	table_print(t, 0, stdout);
	table_close(t);
	if (write > 0)
		printf("all together write %.3f GB/s, read %.3f GB/s\n",
		       write / 1e9, read / 1e9);
}

/* ---- for programs ----------------------------------------------------- */

static json_t *
result_json(const struct try_result *r)
{
	if (r->write <= 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "write", r->write,
			 "read", r->read, "write_p50_ms",
			 (double)r->write_p50 / 1e6, "write_p99_ms",
			 (double)r->write_p99 / 1e6, "read_p50_ms",
			 (double)r->read_p50 / 1e6, "read_p99_ms",
			 (double)r->read_p99 / 1e6);
}

static void
json_show(const struct tested *all, const struct tested *d)
{
	json_t *line = json_pack(
	    "{s:s, s:s?, s:o, s:o, s:b, s:s?, s:s?}", "path", d->path, "writer",
	    d->writer, "alone", result_json(&d->alone), "together",
	    result_json(&d->together), "slow", (int)d->slow, "shares",
	    d->shares >= 0 ? all[d->shares].path : NULL, "error",
	    *d->error ? d->error : NULL);

	cli_print_json(line);
	json_decref(line);
}

void
tested_show(const struct tested *disk, unsigned n, bool json)
{
	if (!json)
		text_show(disk, n);
	for (unsigned i = 0; i < n && json; i++)
		json_show(disk, &disk[i]);
}
