/* SPDX-License-Identifier: MIT */
/*
 * Disks added and dropped by hand.  Two mistakes are refused because they would
 * fill the system's disk: a mount point with nothing mounted, and a folder on
 * the system's own disk.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "daemon/disks/fleet.h"

static int
refuse(struct fault *fault, int err, const char *path, const char *why)
{
	fault_set(fault, err, "bad-disk", "cannot add %s", path);
	fault_why(fault, "%s", why);
	return err;
}

bool
fleet_configured(const struct fleet *f, const char *path)
{
	for (unsigned i = 0; i < f->a.patterns->n; i++) {
		if (disk_matches(f->a.patterns->text[i], path))
			return true;
	}
	return false;
}

/* Returns a configured wildcard that would match `path` if something were
 * mounted there, or NULL. */
static const char *
pattern_of(const struct fleet *f, const char *path)
{
	for (unsigned i = 0; i < f->a.patterns->n; i++) {
		const char *pattern = f->a.patterns->text[i];

		if (disk_is_pattern(pattern) && disk_matches(pattern, path))
			return pattern;
	}
	return NULL;
}

/* Returns the path of a disk that is the same folder, or NULL. */
static const char *
twin_of(const struct fleet *f, const struct disk *disk)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct fleet_disk *d = &f->disk[i];

		if (d->writer && d->there && disk_same(&d->disk.id, &disk->id))
			return d->disk.path;
	}
	return NULL;
}

static int
look(const struct fleet *f, struct disk *disk, bool force, struct fault *fault)
{
	const char *pattern = pattern_of(f, disk->path);
	struct disk_id root = { 0 };
	const char *twin;
	int err;

	disk->mount = pattern != NULL;
	err = disk_look(disk->path, disk->mount, &disk->id);
	twin = err ? NULL : twin_of(f, disk);
	if (err == -ENODEV) {
		refuse(fault, err, disk->path, "");
		fault_why(fault,
			  "nothing is mounted there, and \"%s\" of the "
			  "configuration takes mount points",
			  pattern);
		fault_hint(fault, "mount it: then it takes part by itself");
	} else if (err) {
		refuse(fault, err, disk->path, strerror(-err));
		fault_hint(fault, "name a folder that exists");
	} else if (twin) {
		refuse(fault, -EEXIST, disk->path, "");
		fault_why(fault, "it is the folder of %s, which takes part",
			  twin);
		err = -EEXIST;
	} else if (!force && !fleet_configured(f, disk->path) &&
		   !disk_look("/", false, &root) &&
		   root.device == disk->id.device) {
		err = refuse(fault, -EPERM, disk->path,
			     "it is on the system's own disk");
		fault_hint(fault, "mount a disk there, or add it with --force");
	}
	return err;
}

static int
known(const struct fleet *f, unsigned i, struct fault *fault)
{
	const struct fleet_disk *d = &f->disk[i];

	if (d->leaving) {
		refuse(fault, -EBUSY, d->disk.path, "it is just being dropped");
		fault_hint(fault, "'spate disks' shows when that is done");
		return -EBUSY;
	}
	refuse(fault, -EEXIST, d->disk.path, "it takes part already");
	fault_hint(fault, "'spate disks' shows it");
	return -EEXIST;
}

/* Copies `path` without slashes at its end. */
static int
path_take(char out[4096], const char *path, struct fault *fault)
{
	size_t length = path ? strlen(path) : 0;

	if (!length || path[0] != '/' || length >= 4096) {
		fault_set(fault, -EINVAL, "usage",
			  "'%.80s' is no absolute path", path ? path : "");
		fault_hint(fault, "as in /mnt/disk3");
		return -EINVAL;
	}
	while (length > 1 && path[length - 1] == '/')
		length--;
	memcpy(out, path, length);
	out[length] = '\0';
	return 0;
}

int
fleet_add(struct fleet *f, const char *named, bool force, struct fault *fault)
{
	char path[4096];
	struct disk disk = { .path = path, .reserve_asked = f->a.reserve };
	int err = path_take(path, named, fault);
	int i = err ? -1 : fleet_find(f, path);

	if (i >= 0 && f->disk[i].writer)
		return known(f, (unsigned)i, fault);
	if (!err)
		err = look(f, &disk, force, fault);
	if (err)
		return err;
	if (i < 0)
		i = (int)f->n;
	err = fleet_enlist(f, (unsigned)i, &disk);
	if (err == -ENOSPC)
		return refuse(fault, err, path, "there were 256 already");
	if (err)
		return refuse(fault, err, path, strerror(-err));
	if (!fleet_configured(f, path)) {
		f->disk[i].by_hand = true;
		scout_add(f->scout, path);
	}
	log_line(LEVEL_INFO, path, "added");
	return i;
}

/* True if a disk other than `but` works. */
static bool
others_work(const struct fleet *f, unsigned but)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct writer *w = fleet_writer(f, i);
		struct writer_facts facts;

		if (!w || i == but)
			continue;
		writer_facts(w, &facts);
		if (writer_works(&facts))
			return true;
	}
	return false;
}

int
fleet_drop(struct fleet *f, const char *named, bool recording,
	   struct fault *fault)
{
	char path[4096];
	int err = path_take(path, named, fault);
	int i = err ? -1 : fleet_find(f, path);

	if (err)
		return err;
	if (i < 0 || !f->disk[i].writer) {
		fault_set(fault, -ENOENT, "not-found",
			  "cannot drop %s: it is none of the disks", path);
		fault_hint(fault, "'spate disks' lists them");
		return -ENOENT;
	}
	if (recording && !others_work(f, (unsigned)i)) {
		fault_set(fault, -EBUSY, "busy",
			  "cannot drop %s: no other disk takes what is being "
			  "recorded",
			  path);
		fault_hint(fault, "add another one, or stop the recordings");
		return -EBUSY;
	}
	if (!f->disk[i].leaving)
		writer_drop(f->disk[i].writer);
	f->disk[i].leaving = true;
	return i;
}

/* ---- new patterns ---------------------------------------------------- */

int
fleet_patterns(struct fleet *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		struct fleet_disk *d = &f->disk[i];
		bool wanted = d->by_hand || fleet_configured(f, d->disk.path);

		d->unwanted = d->writer && !wanted;
	}
	return scout_patterns(f->scout, f->a.patterns);
}

void
fleet_tidy(struct fleet *f, bool recording)
{
	struct fault fault;

	for (unsigned i = 0; i < f->n; i++) {
		struct fleet_disk *d = &f->disk[i];

		if (!d->unwanted)
			continue;
		d->unwanted =
		    d->writer && !d->leaving &&
		    fleet_drop(f, d->disk.path, recording, &fault) < 0;
	}
}

void
fleet_reserve(struct fleet *f, uint64_t reserve)
{
	f->a.reserve = reserve;
	for (unsigned i = 0; i < f->n; i++)
		atomic_store_explicit(&f->disk[i].disk.reserve_asked, reserve,
				      memory_order_relaxed);
}
