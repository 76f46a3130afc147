/* SPDX-License-Identifier: MIT */
/*
 * Entries are in an array sorted by name, each with its text as JSON.  A client
 * that asks for all 10 000 of them gets these texts copied together, a page at
 * a time, and the lock is held no longer than that takes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/list/catalogue_priv.h"

int
catalogue_make(struct catalogue **catalogue)
{
	struct catalogue *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	for (unsigned i = 0; i < ENTRY_DISKS; i++)
		c->disk[i].fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	*catalogue = c;
	return 0;
}

void
catalogue_free(struct catalogue *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->items; i++) {
		free(c->item[i]->text);
		free(c->item[i]);
	}
	for (unsigned i = 0; i < c->disks; i++) {
		disk_close(&c->disk[i]);
		free(c->disk[i].path);
	}
	pthread_mutex_destroy(&c->lock);
	free(c->item);
	free(c);
}

void
catalogue_count_no_live(struct catalogue *c)
{
	c->no_live = true;
}

void
catalogue_stop(struct catalogue *c)
{
	atomic_store(&c->stop, true);
}

/* ---- items ----------------------------------------------------------- */

size_t
catalogue_place(const struct catalogue *c, const char *name, bool *is)
{
	size_t low = 0, high = c->items;

	*is = false;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(c->item[middle]->entry.name, name);

		if (!order) {
			*is = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
has_room(struct catalogue *c)
{
	size_t room = c->room ? 2 * c->room : 64;
	struct item **grown;

	if (c->items < c->room)
		return true;
	grown = realloc(c->item, room * sizeof *grown);
	if (!grown)
		return false;
	c->item = grown;
	c->room = room;
	return true;
}

struct item *
catalogue_item(struct catalogue *c, const char *name)
{
	struct item *item;
	bool is;
	size_t at = catalogue_place(c, name, &is);

	if (is)
		return c->item[at];
	item = has_room(c) ? calloc(1, sizeof *item) : NULL;
	if (!item)
		return NULL;
	snprintf(item->entry.name, sizeof item->entry.name, "%s", name);
	item->entry.subs = 1;
	memmove(c->item + at + 1, c->item + at,
		(c->items - at) * sizeof *c->item);
	c->item[at] = item;
	c->items++;
	c->unread++;
	return item;
}

void
catalogue_stale(struct catalogue *c, struct item *item, bool urgent)
{
	c->urgent += urgent && !item->urgent;
	item->urgent |= urgent;
	item->stale = true;
}

void
catalogue_set(struct catalogue *c, struct item *item, const struct entry *e,
	      char *text)
{
	c->unread -= item->entry.state == ENTRY_UNREAD;
	c->unread += e->state == ENTRY_UNREAD;
	c->changes += !entry_same(&item->entry, e);
	free(item->text);
	item->entry = *e;
	item->text = text;
}

void
catalogue_drop(struct catalogue *c, const char *name)
{
	struct item *item;
	bool is;
	size_t at = catalogue_place(c, name, &is);

	if (!is)
		return;
	item = c->item[at];
	c->unread -= item->entry.state == ENTRY_UNREAD;
	c->urgent -= item->urgent;
	c->items--;
	c->changes += item->entry.state != ENTRY_UNREAD;
	memmove(c->item + at, c->item + at + 1,
		(c->items - at) * sizeof *c->item);
	free(item->text);
	free(item);
}

char *
catalogue_text(const struct entry *e)
{
	json_t *json = entry_row(e);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

/* ---- disks ----------------------------------------------------------- */

static int
find_disk(const struct catalogue *c, const char *path)
{
	for (unsigned i = 0; i < c->disks; i++) {
		if (!strcmp(c->disk[i].path, path))
			return (int)i;
	}
	return -1;
}

int
catalogue_join(struct catalogue *c, const char *path, bool mount)
{
	int at, err = 0;

	pthread_mutex_lock(&c->lock);
	at = find_disk(c, path);
	if (at >= 0) {
		c->left[at] = false;
	} else if (c->disks == ENTRY_DISKS) {
		err = -ENOSPC;
	} else {
		c->disk[c->disks].path = strdup(path);
		c->disk[c->disks].mount = mount;
		err = c->disk[c->disks].path ? 0 : -ENOMEM;
		c->disks += !err;
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

void
catalogue_leave(struct catalogue *c, const char *path)
{
	int at;

	pthread_mutex_lock(&c->lock);
	at = find_disk(c, path);
	if (at >= 0)
		c->left[at] = true;
	pthread_mutex_unlock(&c->lock);
}

/* ---- entries of single recordings -------------------------------------- */

/* Keeps the fields that only a look at the disks can set. */
static void
keep_seen(struct entry *to, const struct entry *seen)
{
	memcpy(to->disk, seen->disk, sizeof to->disk);
	to->stamp = seen->stamp;
	to->protected = seen->protected;
}

int
catalogue_live(struct catalogue *c, const struct entry *e)
{
	struct entry entry = *e;
	struct item *item;

	pthread_mutex_lock(&c->lock);
	item = catalogue_item(c, e->name);
	if (item) {
		keep_seen(&entry, &item->entry);
		item->live = true;
		catalogue_set(c, item, &entry, catalogue_text(&entry));
	}
	pthread_mutex_unlock(&c->lock);
	return item ? 0 : -ENOMEM;
}

int
catalogue_touch(struct catalogue *c, const char *name)
{
	struct item *item;

	pthread_mutex_lock(&c->lock);
	item = catalogue_item(c, name);
	if (item) {
		item->live = false;
		item->touched++;
		catalogue_stale(c, item, true);
	}
	pthread_mutex_unlock(&c->lock);
	return item ? 0 : -ENOMEM;
}

bool
catalogue_pending(struct catalogue *c, const char *name)
{
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = catalogue_place(c, name, &is);
	is = is &&
	     (c->item[at]->stale || c->item[at]->entry.state == ENTRY_UNREAD);
	pthread_mutex_unlock(&c->lock);
	return is;
}

void
catalogue_forget(struct catalogue *c, const char *name)
{
	pthread_mutex_lock(&c->lock);
	catalogue_drop(c, name);
	pthread_mutex_unlock(&c->lock);
}

/* A path stays valid as long as the catalogue. */
const char *
catalogue_path(struct catalogue *c, unsigned disk)
{
	const char *path = NULL;

	pthread_mutex_lock(&c->lock);
	if (disk < c->disks)
		path = c->disk[disk].path;
	pthread_mutex_unlock(&c->lock);
	return path;
}

bool
catalogue_find(struct catalogue *c, const char *name, struct entry *e)
{
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = catalogue_place(c, name, &is);
	if (is && e)
		*e = c->item[at]->entry;
	pthread_mutex_unlock(&c->lock);
	return is;
}

bool
catalogue_has(struct catalogue *c, const char *name, const char *path)
{
	size_t at;
	bool is;
	int disk;

	pthread_mutex_lock(&c->lock);
	disk = find_disk(c, path);
	at = catalogue_place(c, name, &is);
	is = is && disk >= 0 && entry_has(&c->item[at]->entry, (unsigned)disk);
	pthread_mutex_unlock(&c->lock);
	return is;
}

void
catalogue_facts(struct catalogue *c, struct catalogue_facts *f)
{
	pthread_mutex_lock(&c->lock);
	*f = (struct catalogue_facts){ .disks = c->disks,
				       .listed = c->listed,
				       .recordings = c->items,
				       .unread = c->unread,
				       .unnamed = c->unnamed,
				       .changes = c->changes,
				       .work = c->work };
	pthread_mutex_unlock(&c->lock);
}

void
catalogue_each(struct catalogue *c,
	       void (*each)(void *arg, const struct entry *e), void *arg)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->items; i++)
		each(arg, &c->item[i]->entry);
	pthread_mutex_unlock(&c->lock);
}
