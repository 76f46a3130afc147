/* SPDX-License-Identifier: MIT */
/*
 * The worker is the only thread here that waits for disks.  Every second the
 * catalogue finds out which recordings have changed, and statvfs tells how much
 * space there is.  If a disk hangs, it holds up the worker; the other threads
 * go on with what is known and do not wait for it, and tree_free() leaves it
 * behind.  It also takes in disks that the source of the mount has later.  None
 * leaves: one that is unmounted looks missing, as it does from the beginning.
 *
 * Names are made from the catalogue by the first thread that needs them after a
 * change, which works while the first pass is still under way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/worker.h"
#include "fuse/tree/mount_source.h"
#include "fuse/tree/tree_priv.h"
#include "store/disk/file.h"
#include "store/read/open_recordings.h"

#define PAUSE NS_SECOND
#define END   (2 * NS_SECOND)

static const int64_t ms = 1000000;
/* ns, least time between two makings */
static const int64_t names_least = 100 * 1000000;
static const int64_t look_most = 3 * NS_SECOND;

/* ---- space ----------------------------------------------------------- */

/*
 * Tells whether a disk before disk i is on the same file system, which counts
 * once.
 */
static bool
is_counted(const struct disks *disks, unsigned i)
{
	for (unsigned k = 0; k < i; k++) {
		if (disks->disk[k].fd >= 0 &&
		    disks->disk[k].id.device == disks->disk[i].id.device)
			return true;
	}
	return false;
}

static void
add_space(struct statvfs *sum, int fd)
{
	struct statvfs vfs;
	fsblkcnt_t unit;

	if (file_space(fd, &vfs) < 0)
		return;
	unit = vfs.f_frsize ? vfs.f_frsize : vfs.f_bsize;
	sum->f_blocks += vfs.f_blocks * unit / sum->f_frsize;
	sum->f_bfree += vfs.f_bfree * unit / sum->f_frsize;
	sum->f_bavail += vfs.f_bavail * unit / sum->f_frsize;
	sum->f_files += vfs.f_files;
	sum->f_ffree += vfs.f_ffree;
	sum->f_favail += vfs.f_favail;
}

static struct statvfs
find_space(struct disks *disks)
{
	struct statvfs sum = { .f_bsize = 4096,
			       .f_frsize = 4096,
			       .f_namemax = TREE_NAME - 1,
			       .f_flag = ST_RDONLY | ST_NOSUID };

	for (unsigned i = 0; i < disks->n; i++) {
		if (disk_open(&disks->disk[i]))
			disks->disk[i].id = (struct disk_id){ .device = 0 };
		else if (!is_counted(disks, i))
			add_space(&sum, disks->disk[i].fd);
	}
	for (unsigned i = 0; i < disks->n; i++)
		disk_close(&disks->disk[i]);
	return sum;
}

/* ---- disks that join ------------------------------------------------- */

static bool
is_known(const struct disks *disks, const struct disk *disk)
{
	for (unsigned i = 0; i < disks->n; i++) {
		if (!strcmp(disks->disk[i].path, disk->path) ||
		    disk_same(&disks->disk[i].id, &disk->id))
			return true;
	}
	return false;
}

/* Appends a disk to the tree's own list. */
static int
add_disk(struct disks *disks, const struct disk *disk)
{
	struct disk new = { .path = strdup(disk->path),
			    .fd = -1,
			    .id = disk->id,
			    .mount = disk->mount };
	struct disk *grown =
	    realloc(disks->disk, (disks->n + 1) * sizeof *grown);

	if (grown)
		disks->disk = grown;
	if (!grown || !new.path) {
		free(new.path);
		return -ENOMEM;
	}
	grown[disks->n++] = new;
	return 0;
}

/*
 * Readers get the disk first: the catalogue must not show a recording that
 * cannot be opened.
 */
static void
join(struct tree *t, const struct disk *disk)
{
	int err = open_recordings_join(t->opened, disk->path, disk->mount);

	if (!err)
		err = catalogue_join(t->catalogue, disk->path, disk->mount);
	if (!err)
		err = add_disk(&t->disks, disk);
	if (!err) {
		log_line(LEVEL_INFO, disk->path, "joins");
	} else if (!t->full) {
		log_line(LEVEL_WARN, disk->path,
			 "cannot join: %s; mount again to see what is on it",
			 err == -ENOSPC ? "too many disks have joined"
					: strerror(-err));
		t->full = true;
	}
}

static void
look_for_disks(struct tree *t)
{
	int64_t began = clock_steady();
	struct disks now;
	bool all;

	if (!t->source || t->full || began - t->looked_ns < PAUSE)
		return;
	t->looked_ns = began;
	all = source_look(t->source, &now);
	for (unsigned i = 0; i < now.n; i++) {
		if (now.disk[i].fd >= 0 && !is_known(&t->disks, &now.disk[i]))
			join(t, &now.disk[i]);
	}
	disks_clear(&now);
	if (t->full || all)
		open_recordings_complete(t->opened,
					 t->full ? INT64_MAX : began);
}

/* ---- the thread ------------------------------------------------------ */

/* Logs once that there are folders which are not shown. */
static void
tell_unnamed(struct tree *t)
{
	struct catalogue_facts facts;

	catalogue_facts(t->catalogue, &facts);
	if (facts.unnamed > t->unnamed)
		log_line(LEVEL_WARN, NULL,
			 "%zu folders on the disks are not shown: their names "
			 "have control characters, or are too long",
			 facts.unnamed);
	t->unnamed = facts.unnamed;
}

static int64_t
pass(void *arg)
{
	struct tree *t = arg;
	struct statvfs space = find_space(&t->disks);

	pthread_mutex_lock(&t->lock);
	t->space = space;
	pthread_mutex_unlock(&t->lock);
	catalogue_pass(t->catalogue);
	look_for_disks(t);
	pthread_mutex_lock(&t->lock);
	tell_unnamed(t);
	pthread_mutex_unlock(&t->lock);
	return PAUSE;
}

int
tree_worker_start(struct tree *t)
{
	const struct worker_args args = { .name = "spate-tree",
					  .round = pass,
					  .arg = t,
					  .first = WORKER_RESTS };
	int err = worker_start(&t->worker, &args);

	if (!err)
		t->first = worker_poke(t->worker);
	return err;
}

bool
tree_worker_stop(struct tree *t)
{
	catalogue_stop(t->catalogue);
	if (worker_stop(t->worker, END))
		return true;
	log_line(LEVEL_WARN, NULL,
		 "a disk hangs: the thread that looks for recordings is "
		 "left behind");
	return false;
}

/* ---- names ----------------------------------------------------------- */

struct gather {
	struct names_item *item;
	size_t n, room;
	bool failed;
};

static bool
has_room(struct gather *g)
{
	size_t room = g->room ? 2 * g->room : 256;
	struct names_item *grown;

	if (g->n < g->room)
		return true;
	grown = realloc(g->item, room * sizeof *grown);
	if (!grown)
		return false;
	g->item = grown;
	g->room = room;
	return true;
}

static void
gather(void *arg, const struct entry *e)
{
	struct gather *g = arg;
	struct record *r = NULL;

	if (e->state == ENTRY_UNREAD || e->state == ENTRY_REMOVING)
		return;
	if (has_room(g))
		r = record_make(e);
	if (!r)
		g->failed = true;
	else
		g->item[g->n++] = (struct names_item){ .record = r };
}

static bool
are_same(const struct mount_names *a, const struct mount_names *b)
{
	for (size_t i = 0; a->n == b->n && i < a->n; i++) {
		if (!record_same(a->item[i].record, b->item[i].record))
			return false;
	}
	return a->n == b->n;
}

/* Makes the names anew; without memory they stay as they were. */
static void
make_names(struct tree *t, uint64_t changes)
{
	struct gather g = { 0 };
	struct mount_names *made;

	catalogue_each(t->catalogue, gather, &g);
	t->names_ns = clock_steady();
	if (names_make(&made, g.item, g.n))
		return;
	if (g.failed) {
		names_drop(made);
		return;
	}
	if (are_same(made, t->names))
		made->made_ns = t->names->made_ns;
	names_drop(t->names);
	t->names = made;
	t->changes = changes;
}

const struct mount_names *
tree_names(struct tree *t, bool sure)
{
	struct catalogue_facts facts;

	if (!sure && clock_steady() - t->names_ns < names_least)
		return t->names;
	catalogue_facts(t->catalogue, &facts);
	if (facts.changes != t->changes)
		make_names(t, facts.changes);
	return t->names;
}

/* ---- waiting --------------------------------------------------------- */

void
tree_wait_first(struct tree *t)
{
	worker_wait(t->worker, t->first, t->patience_ns);
}

/*
 * Tells whether a pass takes longer than patience_ns: a disk does not answer.
 * The first one may take as long as it likes.
 */
static bool
hangs(struct tree *t)
{
	return worker_wait(t->worker, t->first, 0) &&
	       worker_hangs(t->worker, t->patience_ns);
}

static bool
are_pending(struct tree *t, char name[][LAYOUT_FILE], unsigned n)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++)
		any |= catalogue_pending(t->catalogue, name[i]);
	return any;
}

static bool
touch(struct tree *t, char name[][LAYOUT_FILE], unsigned n, bool again)
{
	bool any = false;

	for (unsigned i = 0; i < n; i++) {
		bool known = catalogue_find(t->catalogue, name[i], NULL);

		if (known && !again &&
		    !catalogue_pending(t->catalogue, name[i]))
			continue;
		any |= !catalogue_touch(t->catalogue, name[i]);
	}
	return any;
}

void
tree_look(struct tree *t, char name[][LAYOUT_FILE], unsigned n, bool again)
{
	int64_t most = t->patience_ns < look_most ? t->patience_ns : look_most;
	int64_t until = clock_steady() + most, nap = ms / 2;

	if (hangs(t) || !touch(t, name, n, again))
		return;
	worker_poke(t->worker);
	while (are_pending(t, name, n) && clock_steady() < until) {
		usleep((useconds_t)(nap / 1000));
		nap = nap < 16 * ms ? 2 * nap : nap;
	}
}
