/* SPDX-License-Identifier: MIT */
/*
 * An array with room for all, and not one that grows: writers and recordings
 * keep what they know of a disk under its number, in arrays of the same
 * length, which then never have to move under them.
 */
#include "daemon/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Disks may come later: those that are there first leave files for them. */
enum { FLEET_SHARES = 16 };

static int
disk_add(struct fleet *f, const struct disk *disk)
{
	struct fleet_disk *d = &f->disk[f->n];
	struct writer_args args = { .number = f->n,
				    .disk = &d->disk,
				    .queue = f->a.queue,
				    .way = f->a.way,
				    .ways = f->a.ways,
				    .arena = f->a.arena,
				    .arena_bytes = f->a.arena_bytes,
				    .files = f->files,
				    .changed = f->a.changed,
				    .arg = f->a.arg };
	int err;

	if (f->n == FLEET_MOST)
		return -ENOSPC;
	*d = (struct fleet_disk){ .disk = *disk };
	d->disk.fd = -1;
	d->disk.path = strdup(disk->path);
	err = d->disk.path ? writer_start(&d->writer, &args) : -ENOMEM;
	if (err)
		free(d->disk.path);
	else
		f->n++;
	return err;
}

int
fleet_start(struct fleet *f, struct disks *disks, const struct fleet_args *args)
{
	unsigned shares = disks->n > FLEET_SHARES ? disks->n : FLEET_SHARES;
	int err = 0;

	*f = (struct fleet){ .a = *args, .files = args->files / shares };
	f->sampled = clock_steady();
	for (unsigned i = 0; i < disks->n && !err; i++) {
		/* Its writer opens it while it is needed: an open disk cannot
		 * be unmounted. */
		disk_close(&disks->disk[i]);
		err = disk_add(f, &disks->disk[i]);
	}
	return err;
}

bool
fleet_stop(struct fleet *f)
{
	bool all = true;

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
		n += f->disk[i].writer != NULL;
	return n;
}

struct writer *
fleet_writer(const struct fleet *f, unsigned i)
{
	return f->disk[i].writer;
}

const char *
fleet_path(const struct fleet *f, unsigned i)
{
	return f->disk[i].disk.path;
}

void
fleet_step(struct fleet *f, int64_t now)
{
	double seconds = (double)(now - f->sampled) / 1e9;

	if (seconds < 1)
		return;
	f->sampled = now;
	fleet_watch(f, now);
	for (unsigned i = 0; i < f->n; i++) {
		struct fleet_disk *d = &f->disk[i];
		struct writer_facts facts;

		if (!d->writer)
			continue;
		writer_facts(d->writer, &facts);
		d->rate = (double)(facts.written - d->written) / seconds;
		d->written = facts.written;
	}
}
