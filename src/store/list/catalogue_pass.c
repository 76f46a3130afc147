/* SPDX-License-Identifier: MIT */
/*
 * A pass finds the disks that changed, lists the names on them, and reads the
 * entries that are affected.
 *
 * A folder's modification time has the grain of a clock tick: what is made
 * right after the folder was listed may leave it the same.  So a folder that
 * changed a moment before it was listed is listed again in the next pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/list/catalogue_priv.h"
#include "store/recording/foreign.h"
#include "store/recording/recording.h"

enum {
	SETTLED_S = 2, /* seconds; more than the grain of any file system */
	/* seconds in which a complete recording is looked at again */
	RECENT_S = 60,
};

/* Opens the disks of this pass, and closes those that were taken away. */
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

/* Closes disks that were taken away during the pass: an open disk cannot be
 * unmounted. */
static void
close_left(struct catalogue *c, const struct disks *disks)
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

/* ---- entries --------------------------------------------------------- */

/* The entry that is being read, as it was when reading began. */
struct reading {
	char name[LAYOUT_FILE];
	unsigned touched;
	bool live;
};

/* Chooses the next entry to read: urgent ones first (and only those with
 * urgent_alone), then round-robin from the last one on.  False if there is
 * none. */
static bool
take_stale(struct catalogue *c, struct reading *r, bool urgent_alone)
{
	bool urgent, found = false;

	pthread_mutex_lock(&c->lock);
	if (urgent_alone && !c->urgent)
		goto out;
	urgent = urgent_alone || c->urgent;
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
out:
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* Stores an entry that was read.  If it was touched meanwhile, it stays stale
 * and is read once more.  If a session began to count it meanwhile, the
 * session's counts are kept. */
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

/* Reads the entries that are stale. */
static void
read_stale(struct catalogue *c, const struct disks *disks, bool urgent_alone)
{
	struct reading r;
	struct entry e;
	int err;

	while (!atomic_load(&c->stop) && take_stale(c, &r, urgent_alone)) {
		struct entry_work work = { 0 };
		enum entry_live live = c->no_live ? ENTRY_SKIP : ENTRY_COUNT;

		if (r.live)
			live = ENTRY_TOLD;
		err = entry_read(&e, disks, r.name, live, &work);
		put_read(c, &r, &e, err);
		pthread_mutex_lock(&c->lock);
		c->work.entries += work.entries;
		c->work.whole += work.whole;
		pthread_mutex_unlock(&c->lock);
		close_left(c, disks);
	}
}

/* ---- names ----------------------------------------------------------- */

static bool
is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
				      : a->tv_nsec < b->tv_nsec;
}

/* True if the disk is as it was when it was last listed.  Notes how it is
 * now. */
static bool
shelf_same(struct shelf *s, const struct disk *disk)
{
	struct shelf now = { .listed = true, .unnamed = s->unnamed };
	struct timespec clock;
	struct stat st;
	bool same;

	if (disk->fd >= 0 && !fstat(disk->fd, &st)) {
		now.there = true;
		now.device = st.st_dev;
		now.inode = st.st_ino;
		now.changed = st.st_mtim;
		if (!fstatat(disk->fd, FOREIGN_DATA, &st, 0) &&
		    is_before(&now.changed, &st.st_mtim))
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

static void
make_stale(struct catalogue *c, const char *name)
{
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = catalogue_place(c, name, &is);
	if (is)
		catalogue_stale(c, c->item[at], false);
	pthread_mutex_unlock(&c->lock);
}

static bool
is_among(char *const *names, size_t n, size_t *at, const char *name)
{
	while (*at < n && strcmp(names[*at], name) < 0)
		(*at)++;
	return *at < n && !strcmp(names[*at], name);
}

/* Marks recordings as stale that are new on this disk or gone from it.  0 or
 * -ENOMEM.  The lock is held. */
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

/* The first disk that has the recording; ENTRY_DISKS: none has. */
static unsigned
first_disk(const struct entry *e)
{
	unsigned i = 0;

	while (i < ENTRY_DISKS && !entry_has(e, i))
		i++;
	return i;
}

/*
 * Finds recordings that were removed and recorded anew under the same name
 * since the last pass.  Their name is on the same disks, but the folder on the
 * first of these is another one.
 */
static void
find_anew(struct catalogue *c, const struct disks *disks, unsigned disk,
	  char *const *names, size_t n)
{
	for (size_t i = 0; i < n && !atomic_load(&c->stop); i++) {
		const struct disks one = { .disk = disks->disk + disk, .n = 1 };
		struct entry e;

		if (catalogue_find(c, names[i], &e) && entry_ended(&e) &&
		    first_disk(&e) == disk &&
		    entry_stamp(&one, e.name) != e.first)
			make_stale(c, names[i]);
		read_stale(c, disks, true);
	}
}

static void
list_disk(struct catalogue *c, struct disks *disks, unsigned i)
{
	const struct disks one = { .disk = &disks->disk[i], .n = 1 };
	bool first = !c->shelf[i].listed;
	char **names = NULL;
	size_t n = 0, unnamed;
	int err;

	if (shelf_same(&c->shelf[i], &disks->disk[i]))
		return;
	err = recording_list(&one, &names, &n);
	unnamed = one.disk->fd >= 0 ? foreign_unnamed(one.disk->fd) : 0;
	pthread_mutex_lock(&c->lock);
	c->unnamed += unnamed - c->shelf[i].unnamed;
	c->shelf[i].unnamed = unnamed;
	if (!err)
		err = compare(c, i, names, n);
	c->listed += first;
	pthread_mutex_unlock(&c->lock);
	if (!err)
		find_anew(c, disks, i, names, n);
	free(names);
	if (err)
		c->shelf[i].changed = (struct timespec){ 0 };
}

/* ---- recordings that are not final ------------------------------------- */

static bool
is_recent(const struct entry *e)
{
	return llabs(clock_now() - e->changed_ns) < RECENT_S * NS_SECOND;
}

/* The next recording that may change without a change of its disk's folder.
 * False if there is no further one.  The lock is held. */
static bool
restless(struct catalogue *c, size_t *at, struct entry *e)
{
	while (*at < c->items) {
		struct item *item = c->item[(*at)++];

		if (item->stale || item->live ||
		    (entry_ended(&item->entry) && !is_recent(&item->entry)))
			continue;
		*e = item->entry;
		return true;
	}
	return false;
}

/* True if the recording changed.  The last file of another program's recording
 * may grow without changing its folder, so such recordings are read again while
 * they are recent. */
static bool
has_moved(const struct disks *disks, const struct entry *e)
{
	return e->state == ENTRY_LIVE || e->state == ENTRY_REMOVING ||
	       (e->foreign && is_recent(e)) ||
	       entry_stamp(disks, e->name) != e->stamp;
}

/* Looks again at recordings that are not final. */
static void
look_again(struct catalogue *c, const struct disks *disks)
{
	struct entry e;
	size_t at = 0;
	bool any = true;

	while (any && !atomic_load(&c->stop)) {
		pthread_mutex_lock(&c->lock);
		any = restless(c, &at, &e);
		pthread_mutex_unlock(&c->lock);
		if (any && has_moved(disks, &e))
			make_stale(c, e.name);
		read_stale(c, disks, true);
	}
}

void
catalogue_pass(struct catalogue *c)
{
	struct disks disks;

	open_disks(c, &disks);
	read_stale(c, &disks, true);
	for (unsigned i = 0; i < disks.n && !atomic_load(&c->stop); i++)
		list_disk(c, &disks, i);
	look_again(c, &disks);
	read_stale(c, &disks, false);
	close_disks(&disks);
}
