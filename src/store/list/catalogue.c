/* SPDX-License-Identifier: MIT */
/*
 * Entries are in an array sorted by name, each with its text as JSON.  A client
 * that asks for all 10 000 of them gets these texts copied together, a page at
 * a time, and the lock is held no longer than that takes.
 *
 * A pass finds the disks that changed, lists the names on them, and reads the
 * entries that are affected.  A folder's modification time has the grain of a
 * clock tick: what is made right after the folder was listed may leave it the
 * same.  So a folder that changed a moment before it was listed is listed again
 * in the next pass.
 */
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "store/list/catalogue.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording.h"
#include "store/disk/file.h"

enum {
	SETTLED_S = 2, /* seconds; more than the grain of any file system */
	/* seconds in which a complete recording is looked at again */
	RECENT_S = 60,
};

/* A recording in the catalogue. */
struct catalogue_item {
	struct entry entry;
	char *text;	  /* entry_row() as text; NULL: not made yet */
	unsigned touched; /* how often it was touched */
	bool stale;	  /* is to be read */
	bool urgent;	  /* read this item before others */
	bool live;	  /* the recording is live; its session counts it */
};

/* State of a disk's folder when it was last listed.  Used by the catalogue
 * thread only. */
struct disk_state {
	bool listed; /* the disk was listed at least once */
	bool there;
	dev_t device;
	ino_t inode;
	/* modification time; 0: list it again in any case */
	struct timespec changed;
	size_t unnamed;
};

struct catalogue {
	atomic_bool stop;
	bool no_live; /* set before the first pass */
	struct disk_state shelf[ENTRY_DISKS];
	/* paths never change; fd is used by the catalogue thread only */
	struct disk disk[ENTRY_DISKS];

	pthread_mutex_t lock; /* protects everything below */
	unsigned disks;
	/* disks that were taken away */
	bool left[ENTRY_DISKS];
	unsigned listed;
	struct catalogue_item **item; /* sorted by name */
	size_t items, room;
	size_t unread, urgent, unnamed;
	size_t cursor; /* index of the last stale item that was read */
	uint64_t changes;
	struct entry_work work;
};

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

/* ---- items ------------------------------------------------------------- */

/* Index of a name, or where it would be inserted.  The lock is held, here and
 * in the functions below. */
static size_t
place_of(const struct catalogue *c, const char *name, bool *is)
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
	struct catalogue_item **grown;

	if (c->items < c->room)
		return true;
	grown = realloc(c->item, room * sizeof *grown);
	if (!grown)
		return false;
	c->item = grown;
	c->room = room;
	return true;
}

/* Finds an item, or adds it; NULL without memory. */
static struct catalogue_item *
find_item(struct catalogue *c, const char *name)
{
	struct catalogue_item *item;
	bool is;
	size_t at = place_of(c, name, &is);

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

/* Marks an item to be read; urgent ones are read first. */
static void
mark_stale(struct catalogue *c, struct catalogue_item *item, bool urgent)
{
	c->urgent += urgent && !item->urgent;
	item->urgent |= urgent;
	item->stale = true;
}

/* Sets entry and text; takes over `text`. */
static void
set_item(struct catalogue *c, struct catalogue_item *item,
	 const struct entry *e, char *text)
{
	c->unread -= item->entry.state == ENTRY_UNREAD;
	c->unread += e->state == ENTRY_UNREAD;
	c->changes += !entry_same(&item->entry, e);
	free(item->text);
	item->entry = *e;
	item->text = text;
}

/* Removes an item, if there is one of that name. */
static void
drop_item(struct catalogue *c, const char *name)
{
	struct catalogue_item *item;
	bool is;
	size_t at = place_of(c, name, &is);

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

/* The entry_row() of an entry as text, malloc'ed; NULL without memory. */
static char *
text_of(const struct entry *e)
{
	json_t *json = entry_row(e);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

/* ---- disks ------------------------------------------------------------- */

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
	struct catalogue_item *item;

	pthread_mutex_lock(&c->lock);
	item = find_item(c, e->name);
	if (item) {
		keep_seen(&entry, &item->entry);
		item->live = true;
		set_item(c, item, &entry, text_of(&entry));
	}
	pthread_mutex_unlock(&c->lock);
	return item ? 0 : -ENOMEM;
}

int
catalogue_touch(struct catalogue *c, const char *name)
{
	struct catalogue_item *item;

	pthread_mutex_lock(&c->lock);
	item = find_item(c, name);
	if (item) {
		item->live = false;
		item->touched++;
		mark_stale(c, item, true);
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
	at = place_of(c, name, &is);
	is = is &&
	     (c->item[at]->stale || c->item[at]->entry.state == ENTRY_UNREAD);
	pthread_mutex_unlock(&c->lock);
	return is;
}

void
catalogue_forget(struct catalogue *c, const char *name)
{
	pthread_mutex_lock(&c->lock);
	drop_item(c, name);
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
	at = place_of(c, name, &is);
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
	at = place_of(c, name, &is);
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

/* ---- pages ------------------------------------------------------------- */

static bool
is_asked(const struct catalogue_query *q, const char *name)
{
	for (unsigned i = 0; i < q->patterns; i++) {
		if (!fnmatch(q->pattern[i], name, 0))
			return true;
	}
	return !q->patterns;
}

/* Writes the text of an entry; it is made here if only the name is known. */
static void
put_item(const struct catalogue_item *item, FILE *to)
{
	char *text;

	if (item->text) {
		fputs(item->text, to);
		return;
	}
	text = text_of(&item->entry);
	fputs(text ? text : "[]", to);
	free(text);
}

static void
put_page(const struct catalogue *c, const struct catalogue_query *q, char *last,
	 FILE *to)
{
	size_t put = 0, at = 0;
	bool is = false;

	if (q->after)
		at = place_of(c, q->after, &is);
	/* only now: `after` may point to `last` */
	*last = '\0';
	for (at += is; at < c->items; at++) {
		const struct catalogue_item *item = c->item[at];

		if (!is_asked(q, item->entry.name))
			continue;
		if (put == q->most)
			return;
		strcpy(last, item->entry.name);
		if (put++)
			putc(',', to);
		put_item(item, to);
	}
	*last = '\0';
}

char *
catalogue_page(struct catalogue *c, const struct catalogue_query *q, char *last)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return NULL;
	putc_unlocked('[', to);
	pthread_mutex_lock(&c->lock);
	put_page(c, q, last, to);
	pthread_mutex_unlock(&c->lock);
	putc_unlocked(']', to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* ---- a pass: disks ----------------------------------------------------- */

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

/* ---- entries ----------------------------------------------------------- */

/* The entry that is being read, as it was when reading began. */
struct stale_entry {
	char name[LAYOUT_FILE];
	unsigned touched;
	bool live;
};

/* Chooses the next entry to read: urgent ones first (and only those with
 * urgent_alone), then round-robin from the last one on.  False if there is
 * none. */
static bool
take_stale(struct catalogue *c, struct stale_entry *r, bool urgent_alone)
{
	bool urgent, found = false;

	pthread_mutex_lock(&c->lock);
	if (urgent_alone && !c->urgent)
		goto out;
	urgent = urgent_alone || c->urgent;
	for (size_t i = 0; i < c->items && !found; i++) {
		size_t at = (c->cursor + i) % c->items;
		const struct catalogue_item *item = c->item[at];

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
put_read(struct catalogue *c, const struct stale_entry *r,
	 const struct entry *e, int err)
{
	char *text = err ? NULL : text_of(e);
	struct catalogue_item *item;
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = place_of(c, r->name, &is);
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
		drop_item(c, r->name);
	} else if (!err) {
		set_item(c, item, e, text);
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
	struct stale_entry r;
	struct entry e;
	int err;

	while (!atomic_load(&c->stop) && take_stale(c, &r, urgent_alone)) {
		struct entry_work work = { 0 };
		enum entry_live live = c->no_live ? ENTRY_SKIP : ENTRY_COUNT;

		if (r.live)
			live = ENTRY_BY_SESSION;
		err = entry_read(&e, disks, r.name, live, &work);
		put_read(c, &r, &e, err);
		pthread_mutex_lock(&c->lock);
		c->work.entries += work.entries;
		c->work.whole += work.whole;
		pthread_mutex_unlock(&c->lock);
		close_left(c, disks);
	}
}

/* ---- names ------------------------------------------------------------- */

static bool
is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
				      : a->tv_nsec < b->tv_nsec;
}

/* True if the disk is as it was when it was last listed.  Notes how it is
 * now. */
static bool
is_unchanged(struct disk_state *s, const struct disk *disk)
{
	struct disk_state now = { .listed = true, .unnamed = s->unnamed };
	struct timespec clock;
	struct stat st;
	bool same;

	if (disk->fd >= 0 && !file_stat(disk->fd, &st)) {
		now.there = true;
		now.device = st.st_dev;
		now.inode = st.st_ino;
		now.changed = st.st_mtim;
		if (!file_stat_at(disk->fd, FOREIGN_DATA, &st, 0) &&
		    is_earlier(&now.changed, &st.st_mtim))
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
mark_name_stale(struct catalogue *c, const char *name)
{
	size_t at;
	bool is;

	pthread_mutex_lock(&c->lock);
	at = place_of(c, name, &is);
	if (is)
		mark_stale(c, c->item[at], false);
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
		struct catalogue_item *item = c->item[i];
		bool is = is_among(names, n, &at, item->entry.name);

		if (is != entry_has(&item->entry, disk))
			mark_stale(c, item, false);
	}
	for (size_t i = 0; i < n && !err; i++) {
		struct catalogue_item *item;
		bool is;

		place_of(c, names[i], &is);
		if (is)
			continue;
		item = find_item(c, names[i]);
		if (item)
			mark_stale(c, item, false);
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
			mark_name_stale(c, names[i]);
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

	if (is_unchanged(&c->shelf[i], &disks->disk[i]))
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
		struct catalogue_item *item = c->item[(*at)++];

		if (item->stale || item->live ||
		    (entry_ended(&item->entry) && !is_recent(&item->entry)))
			continue;
		*e = item->entry;
		return true;
	}
	return false;
}

/* True if the recording changed.  A recorder that goes on with one, or recover,
 * may write only to files that are there, and its folder stays the same.  The
 * last file of another program's recording may grow like that, so such
 * recordings are read again while they are recent. */
static bool
has_moved(const struct disks *disks, const struct entry *e)
{
	return e->state == ENTRY_LIVE || e->state == ENTRY_REMOVING ||
	       (e->foreign && is_recent(e)) ||
	       entry_stamp(disks, e->name) != e->stamp ||
	       (!entry_ended(e) && entry_noted(disks, e->name) != e->noted);
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
			mark_name_stale(c, e.name);
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
