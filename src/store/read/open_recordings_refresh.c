/* SPDX-License-Identifier: MIT */
/*
 * Jobs of a recording's thread.  Before a recording is opened, each disk is
 * tried alone, with just the files that opening will read: so it is known which
 * disk hangs, and the recording is opened without it.
 *
 * A folder that was removed or made anew is told from the open one by its
 * inode.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/list/entry.h"
#include "store/disk/layout.h"
#include "store/read/open_recordings_priv.h"
#include "store/recording/recording_priv.h"

/* Age up to which another recorder's recording is taken as unchanged. */
#define FOREIGN_NS (2 * NS_SECOND)

static void
take_facts(struct open_recording *op)
{
	const struct recording_facts *from = recording_facts(op->rec);
	struct open_recording_facts *f = &op->facts;

	*f = (struct open_recording_facts){
		.name = op->name,
		.state = from->state,
		.store = from->store,
		.subs = from->subs,
		.payload = from->payload,
		.begun_ns = entry_begun(from->head),
		.start_ns = from->start_ns,
		.end_ns = from->end_ns,
		.bytes = from->bytes,
		.chunks = from->chunks,
		.removed = f->removed,
	};
	snprintf(f->extension, sizeof f->extension, "%s", from->extension);
}

/* ---- disks --------------------------------------------------------------- */

/* Reads the first byte of a file.  Returns 0 or -errno. */
static int
touch(int dir, const char *file)
{
	int fd = disk_open_at(dir, file, O_RDONLY, DISK_NO_LINKS);
	int err = 0;
	char byte;

	if (fd < 0)
		return fd;
	if (pread(fd, &byte, 1, 0) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* True if the file exists but cannot be read at present, so that fill in its
 * place would be wrong. */
static bool
is_refused(int err)
{
	return err && err != -ENOENT && err != -ENODEV && err != -ENOTDIR &&
	       err != -EISDIR && err != -ELOOP && err != -EXDEV &&
	       err != -ESPIPE;
}

/* Reads from a folder what opening the recording will read.  Returns 0 or
 * -errno. */
static int
try_folder(const struct open_recording *op, int disk)
{
	int dir = layout_dir_open(disk, op->name, DISK_LINKS), index, meta;
	char file[LAYOUT_FILE];

	if (dir < 0)
		return dir;
	index = touch(dir, layout_index(file, op->name));
	meta = touch(dir, layout_meta(file, op->name));
	close(dir);
	return is_refused(index) ? index : meta;
}

static void
try_begin(struct open_recording *op, unsigned disk)
{
	atomic_store_explicit(&op->trying, (int)disk, memory_order_relaxed);
}

/* Marks the disk as answering.  This may be an hour later, when no caller waits
 * any more. */
static void
try_end(struct open_recording *op, unsigned disk)
{
	struct open_recordings *set = op->set;

	atomic_store_explicit(&op->trying, -1, memory_order_relaxed);
	pthread_mutex_lock(&set->lock);
	set->hangs[disk] = false;
	pthread_mutex_unlock(&set->lock);
}

static void
try_disk(struct open_recording *op, unsigned i)
{
	struct disk *disk = &op->disks.disk[i];
	int err;

	try_begin(op, i);
	err = disk_open(disk);
	if (!err && layout_folder_good(op->name))
		err = try_folder(op, disk->fd);
	try_end(op, i);
	if (!is_refused(err))
		return;
	op->partial = true;
	open_recording_log(op, (int)i, err);
}

static bool
is_hung(struct open_recordings *set, unsigned disk)
{
	bool hangs;

	pthread_mutex_lock(&set->lock);
	hangs = set->hangs[disk];
	pthread_mutex_unlock(&set->lock);
	return hangs || reader_pool_hangs(set->pool, disk);
}

static void
try_disks(struct open_recording *op)
{
	struct open_recordings *set = op->set;

	for (unsigned i = 0; i < op->disks.n; i++) {
		if (is_hung(set, i))
			op->partial = true;
		else
			try_disk(op, i);
	}
}

/* ---- opening ------------------------------------------------------------- */

static int
call_look(struct open_recording *op, struct recording *rec)
{
	const struct open_recordings_hooks *h = &op->set->hooks;
	bool closed;

	pthread_mutex_lock(&op->set->lock);
	closed = op->set->closed;
	pthread_mutex_unlock(&op->set->lock);
	if (!h->look || closed || recording_facts(rec)->state != RECORDING_LIVE)
		return 0;
	return h->look(h->arg, rec);
}

static int
make_reader(struct open_recording *op, struct recording *rec,
	    struct fault *fault)
{
	const struct reader_args a = { .pool = op->set->pool,
				       .verify = op->set->verify };
	struct reader *reader;
	int err = reader_open(&reader, rec, &a);

	if (err)
		return fault_set(fault, err, "no-memory", "no memory");
	pthread_mutex_lock(&op->lock);
	op->rec = rec;
	op->reader = reader;
	take_facts(op);
	pthread_mutex_unlock(&op->lock);
	return 0;
}

static int
open_now(struct open_recording *op, struct fault *fault)
{
	int64_t begun = clock_steady();
	struct recording *rec;
	int err;

	try_disks(op);
	err = recording_open(&rec, &op->disks, op->name, fault);
	if (err == -ENOENT && op->partial) {
		fault_why(fault, "a disk does not answer");
		err = -ETIMEDOUT;
	}
	if (err)
		return err;
	err = recording_hold(rec, fault);
	if (!err && (call_look(op, rec) || recording_refresh(rec)))
		err = fault_set(fault, -ENOMEM, "no-memory", "no memory");
	if (!err)
		err = make_reader(op, rec, fault);
	if (err)
		recording_close(rec);
	pthread_mutex_lock(&op->lock);
	op->looked = begun;
	op->cost = clock_steady() - begun;
	pthread_mutex_unlock(&op->lock);
	return err;
}

/* True if a disk has another file system mounted by now, or if one that was
 * missing has this recording now.  May wait for the disk. */
static bool
came_back(const struct open_recording *op, unsigned i)
{
	const struct disk *was = &op->disks.disk[i];
	struct disk is = { .path = was->path, .fd = -1, .mount = was->mount };
	int dir = -1;

	if (disk_look(is.path, is.mount, &is.id))
		return false;
	if (was->fd >= 0 && op->rec->part[i].dir >= 0)
		return !disk_same(&is.id, &was->id);
	if (!disk_open(&is))
		dir = layout_dir_open(is.fd, op->name, DISK_LINKS);
	if (dir >= 0)
		close(dir);
	disk_close(&is);
	return dir >= 0;
}

/* ---- is it still the same? ----------------------------------------------- */

/*
 * Returns 1 if the folder on a disk is the open one, 0 if not, -1 if unknown.
 */
static int
is_same_on(struct open_recording *op, unsigned i)
{
	const struct recording_part *part = &op->rec->part[i];
	char file[LAYOUT_FILE];
	struct stat was, is;
	int dir, same = 0;
	bool new;

	if (part->hangs || is_hung(op->set, i))
		return -1;
	try_begin(op, i);
	new = came_back(op, i);
	if (new || part->dir < 0 || op->disks.disk[i].fd < 0) {
		try_end(op, i);
		return new ? 0 : -1;
	}
	dir = layout_dir_open(op->disks.disk[i].fd, op->name, DISK_LINKS);
	if (dir >= 0)
		touch(dir, layout_index(file, op->name));
	if (dir >= 0 && !fstat(part->dir, &was) && !fstat(dir, &is))
		same = was.st_dev == is.st_dev && was.st_ino == is.st_ino;
	try_end(op, i);
	if (dir >= 0)
		close(dir);
	return same;
}

static bool
is_same(struct open_recording *op)
{
	reader_watch(op->reader);
	for (unsigned i = 0; i < op->disks.n; i++) {
		if (!is_same_on(op, i))
			return false;
	}
	return !recording_is_removed(op->rec);
}

static bool
is_alone(struct open_recording *op)
{
	bool alone;

	pthread_mutex_lock(&op->set->lock);
	alone = op->users == 1;
	pthread_mutex_unlock(&op->set->lock);
	return alone;
}

int
open_recording_check(struct open_recording *op, struct fault *fault)
{
	if (!op->rec)
		return open_now(op, fault);
	/*
	 * Another recorder's index is not ours to watch: reopen to see changes.
	 */
	if (is_alone(op) &&
	    (op->partial ||
	     (op->rec->foreign && clock_steady() - op->looked > FOREIGN_NS)))
		return -ESTALE;
	if (!op->rec->foreign && !is_same(op))
		return -ESTALE;
	if (!op->rec->foreign &&
	    recording_facts(op->rec)->state != RECORDING_COMPLETE)
		open_recording_reload(
		    op); /* on failure, what was seen before stays */
	return recording_hold(op->rec, fault);
}

void
open_recording_release(struct open_recording *op)
{
	if (op->rec)
		recording_release(op->rec);
	if (op->fresh)
		recording_release(op->fresh);
}

void
open_recording_close(struct open_recording *op)
{
	reader_close(op->reader);
	if (op->rec)
		recording_close(op->rec);
	if (op->fresh)
		recording_close(op->fresh);
}

/* ---- refreshing ---------------------------------------------------------- */

static int
reload_from_disks(struct open_recording *op)
{
	struct fault fault;
	int err = 0;

	reader_watch(op->reader);
	if (!op->fresh)
		err = recording_open(&op->fresh, &op->disks, op->name, &fault);
	if (err)
		return err;
	for (unsigned i = 0; i < op->disks.n; i++)
		op->fresh->part[i].hangs = op->rec->part[i].hangs;
	/* Blocks that were shown from memory stay visible. */
	err = recording_remember_all(op->fresh, op->rec);
	if (err >= 0)
		err = call_look(op, op->fresh);
	return err < 0 ? err : recording_refresh(op->fresh);
}

static void
exchange(struct open_recording *op)
{
	pthread_mutex_lock(&op->lock);
	op->exchanging = true;
	while (op->viewers)
		pthread_cond_wait(&op->done, &op->lock);
	reader_exchange(op->reader, op->fresh);
	take_facts(op);
	op->exchanging = false;
	pthread_cond_broadcast(&op->done);
	pthread_mutex_unlock(&op->lock);
}

int
open_recording_reload(struct open_recording *op)
{
	int64_t begun = clock_steady();
	int err = reload_from_disks(op);
	bool removed = err == -EIDRM || err == -ENOENT;

	if (!err) {
		exchange(op);
		recording_hold(op->rec, NULL);
		open_files_refresh(op);
	}
	pthread_mutex_lock(&op->lock);
	op->facts.removed |= removed;
	op->looked = begun;
	op->cost = clock_steady() - begun;
	pthread_mutex_unlock(&op->lock);
	return removed ? 0 : err;
}
