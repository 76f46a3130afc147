/* SPDX-License-Identifier: MIT */
/*
 * The daemon answers in pages, sorted by name, so a change between two pages
 * makes no name appear twice.
 *
 * An unknown value leaves its cell empty.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/listing.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "store/list/entry.h"
#include "store/recording/recording.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "no memory");
}

/* ---- recordings of the daemon ------------------------------------------ */

static json_t *
request(const char *const *pattern, const char *after)
{
	json_t *list = json_array();

	for (; *pattern; pattern++)
		json_array_append_new(list, json_string(*pattern));
	return json_pack("{s:o, s:s?}", "patterns", list, "after", after);
}

static int
add(struct listing *l, const struct entry *e)
{
	struct entry *grown = l->entry;

	/* Room doubles: whenever n is a power of two, all room is in use. */
	if (!(l->n & (l->n - 1)))
		grown = realloc(grown, (2 * l->n + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	l->entry = grown;
	l->entry[l->n++] = *e;
	return 0;
}

static int
add_disk(struct listing *l, const char *path)
{
	struct disk *grown =
	    realloc(l->disks.disk, (l->disks.n + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	l->disks.disk = grown;
	grown[l->disks.n] = (struct disk){ .path = strdup(path), .fd = -1 };
	if (!grown[l->disks.n].path)
		return -ENOMEM;
	l->disks.n++;
	return 0;
}

static int
take_rows(struct listing *l, const json_t *rows)
{
	const json_t *row;
	struct entry e;
	int err = 0;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (!err && !entry_from_row(&e, row))
			err = add(l, &e);
	}
	return err;
}

/* Adds the paths that are new in this page; the daemon only ever appends. */
static int
take_disks(struct listing *l, const json_t *paths)
{
	int err = 0;

	while (!err && l->disks.n < json_array_size(paths)) {
		const char *path =
		    json_string_value(json_array_get(paths, l->disks.n));

		err = add_disk(l, path ? path : "?");
	}
	return err;
}

static void
take_about(struct listing *l, const json_t *page)
{
	const json_t *space = json_object_get(page, "space");

	l->listed = (unsigned)field_number(page, "listed");
	l->recordings = field_number(page, "recordings_n");
	l->unread = field_number(page, "unread");
	l->free = field_number(space, "free");
	l->rate = field_real(space, "rate");
}

static int
ask_pages(struct listing *l, struct control *control,
	  const char *const *pattern, struct fault *fault)
{
	char after[LAYOUT_FILE] = "";
	json_t *page;
	int err;

	do {
		err = control_ask(control, "ls",
				  request(pattern, *after ? after : NULL),
				  &page, fault);
		if (err)
			return err;
		err = take_rows(l, json_object_get(page, "rows"));
		if (!err)
			err = take_disks(l, json_object_get(page, "disks"));
		take_about(l, page);
		snprintf(after, sizeof after, "%s", field_text(page, "more"));
		json_decref(page);
	} while (!err && *after);
	return err ? no_memory(fault) : 0;
}

/* Asks the daemon; *asked: there is one, and the return value is its answer. */
static int
ask(struct listing *l, const struct cli *cli, const char *const *pattern,
    bool *asked, struct fault *fault)
{
	struct control *control;
	int err;

	*asked = !cli->disks && !site_connect(cli, &control, fault);
	if (!*asked)
		return 0;
	err = ask_pages(l, control, pattern, fault);
	control_close(control);
	return err;
}

/* ---- recordings on the disks ------------------------------------------- */

static bool
is_asked(const char *const *pattern, const char *name)
{
	if (!*pattern)
		return true;
	for (; *pattern; pattern++) {
		if (!fnmatch(*pattern, name, 0))
			return true;
	}
	return false;
}

static void
add_space(struct listing *l, const struct disks *disks)
{
	for (unsigned i = 0; i < disks->n; i++) {
		struct disk_space space;
		bool again = false;

		for (unsigned k = 0; k < i; k++)
			again |= disks->disk[k].fd >= 0 &&
				 disks->disk[k].id.device ==
				     disks->disk[i].id.device;
		if (!again && !disk_space(&disks->disk[i], &space))
			l->free += space.free;
	}
	l->listed = disks->n;
}

static int
scan_disks(struct listing *l, const struct disks *disks,
	   const char *const *pattern, struct fault *fault)
{
	char **names = NULL;
	struct entry e;
	size_t n = 0;
	int err = recording_list(disks, &names, &n);

	if (err) {
		fault_set(fault, err, "io", "cannot list the disks");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	for (size_t i = 0; i < n && !err; i++) {
		if (is_asked(pattern, names[i]) &&
		    !entry_read(&e, disks, names[i], false, NULL))
			err = add(l, &e);
	}
	l->recordings = n;
	free(names);
	add_space(l, disks);
	return err ? no_memory(fault) : 0;
}

static int
scan(struct listing *l, const struct cli *cli, const char *const *pattern,
     struct fault *fault)
{
	int err = site_disks(cli, &l->disks, fault);

	return err ? err : scan_disks(l, &l->disks, pattern, fault);
}

/* ---- the listing ------------------------------------------------------ */

int
listing_get(struct listing *l, const struct cli *cli,
	    const char *const *pattern, struct fault *fault)
{
	bool asked;
	int err;

	*l = (struct listing){ 0 };
	err = ask(l, cli, pattern, &asked, fault);
	if (!asked)
		err = scan(l, cli, pattern, fault);
	if (err)
		listing_clear(l);
	return err;
}

void
listing_clear(struct listing *l)
{
	free(l->entry);
	disks_clear(&l->disks);
	*l = (struct listing){ 0 };
}

void
listing_warn(const struct listing *l, const struct cli *cli)
{
	if (cli->quiet)
		return;
	if (l->listed < l->disks.n)
		fprintf(stderr,
			"spate: still reading: of %u disks, names on %u are "
			"known\n",
			l->disks.n, l->listed);
	else if (l->unread)
		fprintf(stderr,
			"spate: still reading: %" PRIu64 " of %" PRIu64
			" recordings, the others are known by name\n",
			l->recordings - l->unread, l->recordings);
}

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
