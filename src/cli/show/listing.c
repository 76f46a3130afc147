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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/show/field.h"
#include "cli/show/listing.h"
#include "cli/show/show.h"
#include "cli/show/site.h"
#include "cli/show/table.h"
#include "store/disk/remote.h"
#include "store/list/entry.h"
#include "store/recording/recording.h"

enum { LOOKERS = 15 }; /* threads at most, beside the first */

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
	return err ? fault_no_memory(fault) : 0;
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

/* A scan of disks reads the entries of all names, by several threads; the lock
 * guards what changes. */
struct entry_scan {
	struct listing *l;
	const struct disks *disks;
	const char *const *pattern;
	char **names;
	size_t n;
	pthread_mutex_t lock;
	size_t next; /* the first name that nobody has taken */
	int err;
};

static const char *
next_name(struct entry_scan *k)
{
	const char *name = NULL;

	pthread_mutex_lock(&k->lock);
	while (!name && k->next < k->n && !k->err) {
		if (is_asked(k->pattern, k->names[k->next]))
			name = k->names[k->next];
		k->next++;
	}
	pthread_mutex_unlock(&k->lock);
	return name;
}

static void *
scan_run(void *arg)
{
	struct entry_scan *k = arg;
	const char *name;
	struct entry e;

	while ((name = next_name(k)) != NULL) {
		if (entry_read(&e, k->disks, name, false, NULL))
			continue;
		pthread_mutex_lock(&k->lock);
		if (!k->err)
			k->err = add(k->l, &e);
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

static int
by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static bool
any_is_remote(const struct disks *disks)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (file_is_remote(disks->disk[i].fd))
			return true;
	}
	return false;
}

/* Reads the entries, by this thread, and with a remote disk by others beside
 * it: most of an entry's time is spent waiting for answers there. */
static int
scan_names(struct entry_scan *k)
{
	pthread_t thread[LOOKERS];
	unsigned threads = 0;

	pthread_mutex_init(&k->lock, NULL);
	if (any_is_remote(k->disks)) {
		while (threads < LOOKERS &&
		       !pthread_create(&thread[threads], NULL, scan_run, k))
			threads++;
	}
	scan_run(k);
	while (threads)
		pthread_join(thread[--threads], NULL);
	pthread_mutex_destroy(&k->lock);
	if (!k->err && k->l->n)
		qsort(k->l->entry, k->l->n, sizeof *k->l->entry, by_name);
	return k->err;
}

static int
scan_disks(struct listing *l, const struct disks *disks,
	   const char *const *pattern, struct fault *fault)
{
	struct entry_scan k = { .l = l, .disks = disks, .pattern = pattern };
	int err = recording_list(disks, &k.names, &k.n);

	if (err) {
		fault_set(fault, err, "io", "cannot list the disks");
		fault_why(fault, "%s", strerror(-err));
		return err;
	}
	err = scan_names(&k);
	l->recordings = k.n;
	free(k.names);
	add_space(l, disks);
	return err ? fault_no_memory(fault) : 0;
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

static const char *
state_show(char text[TABLE_CELL], const struct entry_report *e)
{
	const char *state = e->state ? e->state : "";

	if (!key_or_0(e->absent))
		return state;
	snprintf(text, TABLE_CELL, "%s, %" PRIu64 " block%s away", state,
		 e->absent, e->absent > 1 ? "s" : "");
	return text;
}

static const char *
loss_cell(char text[TABLE_CELL], const struct entry_report *e)
{
	if (e->packets_lost == KEY_UNKNOWN)
		return "";
	return e->packets_lost ? show_percent(text, e->packets_lost,
					      e->packets_lost + e->packets)
			       : "none";
}

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *json)
{
	struct entry_report e;

	keys_read(entry_keys, &e, json, 1);
	keys_drop(entry_keys, &e, 1);
	if (KEY_IS(key, struct entry_report, end))
		return e.end > e.start ? units_show_span(text, e.end - e.start)
				       : "";
	if (KEY_IS(key, struct entry_report, packets_lost))
		return loss_cell(text, &e);
	if (KEY_IS(key, struct entry_report, state))
		return state_show(text, &e);
	if (!KEY_IS(key, struct entry_report, disks))
		return NULL;
	snprintf(text, TABLE_CELL, "%zu", json_array_size(e.disks));
	return text;
}

void
listing_table(const struct listing *l, bool more)
{
	const struct table_keys t = { .keys = entry_keys,
				      .groups = KEY_COLUMN |
						(more ? KEY_COLUMN_MORE : 0),
				      .cell = cell };
	json_t *rows = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(rows,
				      entry_json(&l->entry[i], &l->disks));
	if (l->n)
		table_objects(&t, rows, 0);
	json_decref(rows);
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
