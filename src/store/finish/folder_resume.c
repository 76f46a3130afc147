/* SPDX-License-Identifier: MIT */
/*
 * Opens the folder of a disk that was away while recording, or of a daemon that
 * was killed.  It has all that was durable, and maybe half of what was not.
 * Records and lines are appended behind the last whole ones; the index is in
 * order of writing and needs no sorting.
 *
 * The index is locked before it is read, so nobody else writes.  The first line
 * of the metadata is compared next: nothing is cut off another recording of the
 * same name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/finish/leftovers.h"
#include "store/finish/resume.h"
#include "store/write/folder_priv.h"

/* ---- cleaning up --------------------------------------------------------- */

/*
 * Cleans up after a daemon that was killed: blocks without an index record, a
 * half-written block.  Nothing that arrived is overwritten.
 * A chunk that was being written keeps its file and its number.  In a file that
 * blocks share, what no index names is in the way of the next block: it is
 * copied to a file aside, which readers ignore.  After a crash that is at most
 * one block, because only one at a time is written there; after a sync that
 * failed, the blocks of that round.
 */

/* ---- blocks without a record --------------------------------------------- */

/* Cuts a chunk to the length in its record, and makes it durable. */
static int
settle(struct folder *f, const struct index_record *r)
{
	char file[LAYOUT_FILE];
	struct stat st;
	int fd, err = 0;

	fd = disk_open_at(f->dir, layout_chunk(file, f->plan.name, r->number),
			  O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	if (file_stat(fd, &st) < 0 ||
	    ((uint64_t)st.st_size > r->bytes &&
	     file_cut(fd, (off_t)r->bytes) < 0) ||
	    file_sync_data(fd) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

static int
settle_shared(struct folder *f)
{
	struct layout_spot spot;
	int fd, err = 0;

	layout_plan_spot(&f->plan, 0, 0, 0, &spot);
	fd = disk_open_at(f->dir, spot.file, O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	if (file_sync_data(fd) < 0)
		err = -errno;
	file_close(fd);
	return err;
}

/* Data, metadata and folder first, then the index: as in a sync round. */
static int
add_records(struct folder *f, const struct index_record *records, size_t n)
{
	bool shared = layout_plan_shared(&f->plan);
	int err = shared ? settle_shared(f) : 0;

	for (size_t i = 0; i < n && !shared && !err; i++) {
		if (records[i].kind == INDEX_BLOCK)
			err = settle(f, &records[i]);
	}
	if (!err && (file_sync_data(f->meta.fd) < 0 || file_sync(f->dir) < 0))
		err = -errno;
	return err ? err : index_append(&f->index, records, n);
}

/* ---- opening again ------------------------------------------------------- */

static int
open_tail(const struct folder *f, struct append_file *tail, const char *file)
{
	tail->fd = disk_open_at(f->dir, file, O_RDWR | O_APPEND, DISK_NO_LINKS);
	return tail->fd < 0 ? tail->fd : 0;
}

static int
cut_tail(struct append_file *tail, uint64_t bytes)
{
	tail->bytes = (off_t)bytes;
	return file_cut(tail->fd, tail->bytes) < 0 ? -errno : 0;
}

/* Refuses a recording that has an end record. */
static int
look_at(const struct index_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (records[i].kind == INDEX_END)
			return -EALREADY;
	}
	return 0;
}

static int
lock_index(struct folder *f)
{
	char file[LAYOUT_FILE];
	int err = open_tail(f, &f->index, layout_index(file, f->plan.name));

	return err ? err : index_lock(f->index.fd);
}

/* State of opening a folder. */
struct reopening {
	struct folder *f;
	const json_t *head;
	uint64_t below; /* as in folder_resume() */
	struct index_record *record;
	size_t records;
	struct leftovers left;
};

/* Gives whole blocks their records, and goes on behind them. */
static int
adopt(struct reopening *o)
{
	size_t known = o->records;
	uint64_t stop;
	int err =
	    leftovers_adopt(&o->left, o->below, &o->record, &o->records, &stop);

	if (!err && o->records > known)
		err = add_records(o->f, o->record + known, o->records - known);
	return err ? err
		   : folder_data_reopen(o->f, o->record, o->records, stop);
}

/* Cuts torn tails off, of a recording that is this one and has no end. */
static int
reopen_files(struct reopening *o)
{
	struct folder *f = o->f;
	char file[LAYOUT_FILE];
	int err = open_tail(f, &f->meta, layout_meta(file, f->plan.name));

	if (!err)
		err = leftovers_read(&o->left, f->dir, &f->plan, o->record,
				     o->records);
	if (!err && !leftovers_head_is(&o->left, o->head))
		err = -EEXIST;
	if (!err)
		err = look_at(o->record, o->records);
	if (!err)
		err = cut_tail(&f->meta, o->left.bytes);
	if (!err)
		err = cut_tail(&f->index, o->records * INDEX_BYTES);
	return err ? err : adopt(o);
}

static int
reopen(struct reopening *o, const struct disk *disk)
{
	char dir[LAYOUT_FILE];
	struct folder *f = o->f;
	uint64_t torn;
	int err = 0;

	layout_dir(dir, f->plan.name, f->plan.layout);
	f->dir =
	    disk_open_at(disk->fd, dir, O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	if (f->dir < 0)
		return f->dir;
	err = lock_index(f);
	if (!err)
		err = index_read(f->index.fd, &o->record, &o->records, &torn);
	if (!err)
		err = reopen_files(o);
	if (!err)
		folder_data_note(f, f->end);
	return err;
}

int
folder_resume(struct folder **folder, const struct disk *disk, const char *name,
	      const json_t *head, uint64_t below)
{
	struct reopening o = { .head = head, .below = below };
	int err = folder_make(&o.f, disk, name, head);

	if (err)
		return err;
	err = reopen(&o, disk);
	leftovers_clear(&o.left);
	if (!err && below) {
		o.f->found = o.record;
		o.f->found_n = o.records;
	} else {
		free(o.record);
	}
	if (err)
		folder_free(o.f);
	else
		*folder = o.f;
	return err;
}

size_t
folder_found(struct folder *f, struct index_record **record)
{
	size_t n = f->found_n;

	*record = f->found;
	f->found = NULL;
	f->found_n = 0;
	return n;
}
