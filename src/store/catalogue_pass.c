/* SPDX-License-Identifier: MIT */
/*
 * A pass: which disks have changed, what are the names there now, and what is
 * to be read of that.
 *
 * A folder's time of change has the grain of a clock tick: what is made right
 * after it was listed may leave the same.  So one that changed a moment before
 * it was listed is listed again with the next pass.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/catalogue_priv.h"
#include "store/recording.h"

enum { SETTLED_S = 2 }; /* more than the grain of any file system */

/* The disks of this pass. */
static void
open_disks(struct catalogue *c, struct disks *disks)
{
	bool left[ENTRY_DISKS];

	pthread_mutex_lock(&c->lock);
	*disks = (struct disks){ .disk = c->disk, .n = c->disks };
	memcpy(left, c->left, sizeof left);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < disks->n; i++) {
		if (left[i])
			disk_close(&disks->disk[i]);
		else
			disk_open(&disks->disk[i]);
	}
}

/* An open disk cannot be unmounted. */
static void
close_left(struct catalogue *c, struct disks *disks)
{
	bool left[ENTRY_DISKS];

	pthread_mutex_lock(&c->lock);
	memcpy(left, c->left, sizeof left);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < disks->n; i++) {
		if (left[i])
			disk_close(&disks->disk[i]);
	}
}

static void
close_disks(struct disks *disks)
{
	for (unsigned i = 0; i < disks->n; i++)
		disk_close(&disks->disk[i]);
}

/* ---- names ----------------------------------------------------------- */

/* Is it as it was when it was listed?  Else it is noted as it is now. */
static bool
shelf_same(struct shelf *s, const struct disk *disk)
{
	struct shelf now = { .listed = true };
	struct timespec clock;
	struct stat st;
	bool same;

	if (disk->fd >= 0 && !fstat(disk->fd, &st)) {
		now.there = true;
		now.device = st.st_dev;
		now.inode = st.st_ino;
		now.changed = st.st_mtim;
	}
	same = s->listed && s->there == now.there &&
	       (!now.there ||
		(s->device == now.device && s->inode == now.inode &&
		 s->changed.tv_sec && s->changed.tv_sec == now.changed.tv_sec &&
		 s->changed.tv_nsec == now.changed.tv_nsec));
	clock_gettime(CLOCK_REALTIME, &clock);
	if (clock.tv_sec - now.changed.tv_sec < SETTLED_S)
		now.changed = (struct timespec){ 0 };
	*s = now;
	return same;
}

static bool
is_among(char *const *names, size_t n, size_t *at, const char *name)
{
	while (*at < n && strcmp(names[*at], name) < 0)
		(*at)++;
	return *at < n && !strcmp(names[*at], name);
}

/* What is new on this disk, or gone from it, is to be read. */
static int
compare(struct catalogue *c, unsigned disk, char *const *names, size_t n)
{
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; i < c->items; i++) {
		struct item *item = c->item[i];
		bool is = is_among(names, n, &at, item->entry.name);

		if (is != entry_has(&item->entry, disk))
			catalogue_stale(c, item, false);
	}
	for (size_t i = 0; i < n && !err; i++) {
		struct item *item;
		bool is;

		catalogue_place(c, names[i], &is);
		if (is)
			continue;
		item = catalogue_item(c, names[i]);
		if (item)
			catalogue_stale(c, item, false);
		else
			err = -ENOMEM;
	}
	return err;
}

static void
list_disk(struct catalogue *c, struct disks *disks, unsigned i)
{
	const struct disks one = { .disk = &disks->disk[i], .n = 1 };
	bool first = !c->shelf[i].listed;
	char **names = NULL;
	size_t n = 0;
	int err;

	if (shelf_same(&c->shelf[i], &disks->disk[i]))
		return;
	err = recording_list(&one, &names, &n);
	pthread_mutex_lock(&c->lock);
	if (!err)
		err = compare(c, i, names, n);
	c->listed += first;
	pthread_mutex_unlock(&c->lock);
	free(names);
	if (err)
		c->shelf[i].changed = (struct timespec){ 0 };
}

/* ---- entries --------------------------------------------------------- */

/* The next that moves without its disk's folder: NULL, no more. */
static struct item *
restless(struct catalogue *c, size_t *at, struct entry *e)
{
	while (*at < c->items) {
		struct item *item = c->item[(*at)++];

		if (item->stale || item->live ||
		    item->entry.state == ENTRY_COMPLETE)
			continue;
		*e = item->entry;
		return item;
	}
	return NULL;
}

/* Of what has not come to its end. */
static void
look_again(struct catalogue *c, const struct disks *disks)
{
	struct entry e;
	size_t at = 0;
	bool any = true;

	while (any && !atomic_load(&c->stop)) {
		struct item *item;
		bool moved, is;
		size_t place;

		pthread_mutex_lock(&c->lock);
		any = restless(c, &at, &e) != NULL;
		pthread_mutex_unlock(&c->lock);
		if (!any)
			break;
		moved = e.state == ENTRY_LIVE || e.state == ENTRY_REMOVING ||
			entry_stamp(disks, e.name) != e.stamp;
		if (!moved)
			continue;
		pthread_mutex_lock(&c->lock);
		place = catalogue_place(c, e.name, &is);
		item = is ? c->item[place] : NULL;
		if (item)
			catalogue_stale(c, item, false);
		pthread_mutex_unlock(&c->lock);
	}
}

/* What a reading is of. */
struct reading {
	char name[LAYOUT_FILE];
	unsigned touched;
	bool live;
};

/* The urgent ones first, then from the last one on. */
static bool
take_stale(struct catalogue *c, struct reading *r)
{
	bool urgent, found = false;

	pthread_mutex_lock(&c->lock);
	urgent = c->urgent;
	for (size_t i = 0; i < c->items && !found; i++) {
		size_t at = (c->cursor + i) % c->items;
		const struct item *item = c->item[at];

		if (!(urgent ? item->urgent : item->stale))
			continue;
		if (!urgent)
			c->cursor = at;
		strcpy(r->name, item->entry.name);
		r->touched = item->touched;
		r->live = item->live;
		found = true;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* It may have been touched meanwhile, and is then read once more; or has
 * begun to be counted by another, who knows better. */
static void
put_read(struct catalogue *c, const struct reading *r, const struct entry *e,
	 int err)
{
	char *text = err ? NULL : catalogue_text(e);
	struct item *item;
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = catalogue_place(c, r->name, &is);
	item = is ? c->item[at] : NULL;
	if (!item)
		goto out;
	if (item->touched == r->touched) {
		c->urgent -= item->urgent;
		item->stale = item->urgent = false;
	}
	if (item->live && !err) {
		memcpy(item->entry.disk, e->disk, sizeof e->disk);
		item->entry.protected = e->protected;
		item->entry.stamp = e->stamp;
	} else if (err == -ENOENT && !item->live && !item->stale) {
		catalogue_drop(c, r->name);
	} else if (!err) {
		catalogue_set(c, item, e, text);
		text = NULL;
	}
out:
	pthread_mutex_unlock(&c->lock);
	free(text);
}

void
catalogue_pass(struct catalogue *c)
{
	struct entry_work work = { 0 };
	struct reading r;
	struct disks disks;
	struct entry e;
	int err;

	open_disks(c, &disks);
	for (unsigned i = 0; i < disks.n && !atomic_load(&c->stop); i++)
		list_disk(c, &disks, i);
	look_again(c, &disks);
	while (!atomic_load(&c->stop) && take_stale(c, &r)) {
		err = entry_read(&e, &disks, r.name, r.live, &work);
		put_read(c, &r, &e, err);
		pthread_mutex_lock(&c->lock);
		c->work.entries += work.entries;
		c->work.whole += work.whole;
		pthread_mutex_unlock(&c->lock);
		work = (struct entry_work){ 0 };
		close_left(c, &disks);
	}
	close_disks(&disks);
}
