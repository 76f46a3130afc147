/* SPDX-License-Identifier: MIT */
/*
 * A fixed array instead of one that grows: writers and recordings keep their
 * own arrays by disk number, which then never move.
 *
 * News from the scout is compared with its earlier news, not with the writers'
 * state.  A disk that fails while it is there is its writer's business, and a
 * disk that was dropped by hand stays dropped until it is taken out.
 */
#include "daemon/disks/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* FLEET_SHARES: files are divided by at least 16 disks, so that the first disks
 * leave some for disks that come later. */
enum { FLEET_SHARES = 16 };

int
fleet_enlist(struct fleet *f, unsigned i, const struct disk *disk)
{
	struct fleet_disk *d = &f->disk[i];
	struct writer_args args = { .number = i,
				    .disk = &d->disk,
				    .queue = f->a.queue,
				    .plugin = f->a.plugin,
				    .plugins = f->a.plugins,
				    .arena = f->a.arena,
				    .arena_bytes = f->a.arena_bytes,
				    .files = f->files,
				    .changed = f->a.changed,
				    .arg = f->a.arg };
	char *path;
	int err;

	if (i == FLEET_MOST)
		return -ENOSPC;
	path = i < f->n ? d->disk.path : strdup(disk->path);
	if (!path)
		return -ENOMEM;
	*d = (struct fleet_disk){ .disk = *disk, .there = disk->id.device };
	d->disk.path = path;
	d->disk.fd = -1;
	err = writer_start(&d->writer, &args);
	if (!err && i == f->n)
		f->n++;
	else if (err && i == f->n)
		free(path);
	return err;
}

int
fleet_start(struct fleet *f, struct disks *disks, const struct fleet_args *args)
{
	unsigned shares = disks->n > FLEET_SHARES ? disks->n : FLEET_SHARES;
	int err = 0;

	*f = (struct fleet){ .a = *args, .files = args->files / shares };
	f->sampled[0] = clock_steady();
	f->samples = 1;
	for (unsigned i = 0; i < disks->n && !err; i++) {
		/* The writer opens the disk while it needs it, because an open
		 * disk cannot be unmounted. */
		disk_close(&disks->disk[i]);
		err = fleet_enlist(f, i, &disks->disk[i]);
	}
	if (!err)
		err = scout_start(&f->scout, args->patterns, args->changed,
				  args->arg);
	return err;
}

bool
fleet_stop(struct fleet *f)
{
	bool all = true;

	scout_stop(f->scout);
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer && !writer_stop(f->disk[i].writer))
			all = false;
	}
	for (unsigned i = 0; i < f->n && all; i++)
		free(f->disk[i].disk.path);
	f->n = 0;
	return all;
}

unsigned
fleet_writers(const struct fleet *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		n += fleet_writer(f, i) != NULL;
	return n;
}

struct writer *
fleet_writer(const struct fleet *f, unsigned i)
{
	return f->disk[i].leaving ? NULL : f->disk[i].writer;
}

const char *
fleet_path(const struct fleet *f, unsigned i)
{
	return f->disk[i].disk.path;
}

int
fleet_find(const struct fleet *f, const char *path)
{
	for (unsigned i = 0; i < f->n; i++) {
		if (!strcmp(f->disk[i].disk.path, path))
			return (int)i;
	}
	return -1;
}

/* ---- news from the scout --------------------------------------------- */

static void
join(struct fleet *f, unsigned i, const struct scout_disk *seen)
{
	struct disk disk = { .path = seen->path,
			     .id = seen->id,
			     .mount = seen->mount,
			     .reserve_asked = f->a.reserve };
	int err = fleet_enlist(f, i, &disk);

	if (err)
		log_line(LEVEL_ERROR, seen->path, "cannot take part: %s",
			 strerror(-err));
	else
		log_line(LEVEL_INFO, seen->path, "takes part from now on");
}

/* Drops a disk that came back as another disk's folder, by a link or a second
 * mount. */
static void
twin_leave(struct fleet_disk *d)
{
	log_line(LEVEL_WARN, d->disk.path,
		 "it is the folder of another disk: it counts once");
	writer_drop(d->writer);
	d->leaving = true;
}

static void
seen_again(struct fleet *f, unsigned i, const struct scout_disk *seen)
{
	struct fleet_disk *d = &f->disk[i];
	bool changed = d->there != seen->there ||
		       (seen->there && !disk_same(&d->disk.id, &seen->id));

	d->there = seen->there;
	d->disk.id = seen->id;
	if (seen->twin && d->writer && !d->leaving)
		twin_leave(d);
	if (d->leaving || !changed)
		return;
	if (d->writer)
		writer_retry(d->writer);
	else if (seen->there && !d->by_hand)
		join(f, i, seen);
}

static const struct scout_disk *
list_find(const struct scout_list *list, const char *path)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (!strcmp(list->disk[i].path, path))
			return &list->disk[i];
	}
	return NULL;
}

static void
scouted(struct fleet *f)
{
	struct scout_list list;
	unsigned known = f->n;

	if (!scout_take(f->scout, &list))
		return;
	for (unsigned i = 0; i < known; i++) {
		const struct scout_disk *seen =
		    list_find(&list, fleet_path(f, i));

		seen_again(f, i, seen ? seen : &(struct scout_disk){ 0 });
	}
	for (unsigned i = 0; i < list.n; i++) {
		if (!list.disk[i].twin && fleet_find(f, list.disk[i].path) < 0)
			join(f, f->n, &list.disk[i]);
	}
	scout_clear(&list);
}

/* ---- once a second --------------------------------------------------- */

static void
disk_sample(struct fleet *f, struct fleet_disk *d)
{
	unsigned last = f->samples % (FLEET_MINUTE + 1);
	unsigned before = (f->samples - 1) % (FLEET_MINUTE + 1);
	unsigned first = f->samples > FLEET_MINUTE
			     ? (f->samples + 1) % (FLEET_MINUTE + 1)
			     : 0;
	struct writer_facts facts;

	writer_facts(d->writer, &facts);
	d->written[last] = facts.written;
	d->rate = (double)(facts.written - d->written[before]) * 1e9 /
		  (double)(f->sampled[last] - f->sampled[before]);
	d->minute = (double)(facts.written - d->written[first]) * 1e9 /
		    (double)(f->sampled[last] - f->sampled[first]);
	if (facts.speed > d->fastest)
		d->fastest = facts.speed;
}

static void
sample(struct fleet *f, int64_t now)
{
	if (now - f->sampled[(f->samples - 1) % (FLEET_MINUTE + 1)] < NS_SECOND)
		return;
	fleet_watch(f, now);
	f->sampled[f->samples % (FLEET_MINUTE + 1)] = now;
	for (unsigned i = 0; i < f->n; i++) {
		if (f->disk[i].writer)
			disk_sample(f, &f->disk[i]);
	}
	f->samples++;
}

static void
leave(struct fleet_disk *d)
{
	if (!d->leaving || !writer_dropped(d->writer))
		return;
	writer_stop(d->writer); /* returns at once: the thread has ended */
	d->writer = NULL;
	d->leaving = false;
	log_line(LEVEL_INFO, d->disk.path, "takes part no more");
}

void
fleet_step(struct fleet *f, int64_t now)
{
	scouted(f);
	for (unsigned i = 0; i < f->n; i++)
		leave(&f->disk[i]);
	sample(f, now);
}
