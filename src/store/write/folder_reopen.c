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
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/write/adopt.h"
#include "store/write/folder_priv.h"
#include "store/record/meta.h"
#include "store/disk/file.h"

static int
open_tail(const struct folder *f, struct tail *tail, const char *file)
{
	tail->fd = disk_open_at(f->dir, file, O_RDWR | O_APPEND, DISK_NO_LINKS);
	return tail->fd < 0 ? tail->fd : 0;
}

static int
cut_tail(struct tail *tail, uint64_t bytes)
{
	tail->bytes = (off_t)bytes;
	return ftruncate(tail->fd, tail->bytes) < 0 ? -errno : 0;
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

/* Locks the index.  It tries for half a second, because programs that list
 * recordings lock it for a moment to see whether it is being written. */
static int
lock_soon(int fd)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	unsigned tries = 100;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (!--tries)
			return -EBUSY;
		nanosleep(&moment, NULL);
	}
	return 0;
}

static int
lock_index(struct folder *f)
{
	char file[LAYOUT_FILE];
	int err = open_tail(f, &f->index, layout_index(file, f->map.name));

	return err ? err : lock_soon(f->index.fd);
}

/* State of opening a folder. */
struct reopening {
	struct folder *f;
	const json_t *head;
	uint64_t below; /* adopt blocks with numbers below; 0: none */
	char *text;	/* the metadata, whole lines */
	size_t bytes;
	struct index_record *record;
	size_t records;
};

/* Appends adopted records to the index on disk and to the list in memory. */
static int
append(struct reopening *o, const struct adopted *more)
{
	struct index_record *grown;
	int err;

	grown = realloc(o->record, (o->records + more->n + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	o->record = grown;
	memcpy(o->record + o->records, more->record, more->n * sizeof *grown);
	err = folder_adopt(o->f, more->record, more->n);
	if (!err)
		o->records += more->n;
	return err;
}

static int
adopt(struct reopening *o)
{
	const struct adopt_args args = { .dir = o->f->dir,
					 .map = &o->f->map,
					 .text = o->text,
					 .bytes = o->bytes,
					 .record = o->record,
					 .records = o->records,
					 .below = o->below };
	struct adopted more;
	int err = adopt_find(&args, &more);

	if (!err && more.n)
		err = append(o, &more);
	if (!err)
		err =
		    folder_data_reopen(o->f, o->record, o->records, &more.torn);
	adopt_clear(&more);
	return err;
}

static int
reopen_index(struct reopening *o)
{
	struct folder *f = o->f;
	int err = look_at(o->record, o->records);

	if (!err)
		err = cut_tail(&f->index, o->records * INDEX_BYTES);
	if (err)
		return err;
	return o->below ? adopt(o)
			: folder_data_reopen(f, o->record, o->records, NULL);
}

static int
check_head(const char *text, size_t bytes, const json_t *head)
{
	json_t *there = json_loadb(text, bytes, JSON_DISABLE_EOF_CHECK, NULL);
	int err = there && json_equal(there, head) ? 0 : -EEXIST;

	json_decref(there);
	return err;
}

/* Returns the offset behind the last whole line; 0 if there is none. */
static uint64_t
whole_lines(const char *text, size_t bytes)
{
	const char *end = bytes ? memrchr(text, '\n', bytes) : NULL;

	return end ? (uint64_t)(end - text) + 1 : 0;
}

static int
reopen_meta(struct reopening *o)
{
	struct folder *f = o->f;
	char file[LAYOUT_FILE];
	struct stat st;
	ssize_t got;
	int err = open_tail(f, &f->meta, layout_meta(file, f->map.name));

	if (err)
		return err;
	if (fstat(f->meta.fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > meta_most(o->record, o->records))
		return -EFBIG;
	o->text = malloc((size_t)st.st_size + 1);
	if (!o->text)
		return -ENOMEM;
	got = read_whole(f->meta.fd, o->text, (size_t)st.st_size, 0);
	if (got < 0)
		return (int)got;
	o->bytes = whole_lines(o->text, (size_t)got);
	err = check_head(o->text, (size_t)got, o->head);
	return err ? err : cut_tail(&f->meta, o->bytes);
}

static int
reopen(struct reopening *o, const struct disk *disk)
{
	char dir[LAYOUT_FILE];
	struct folder *f = o->f;
	uint64_t torn;
	int err = 0;

	layout_dir(dir, f->map.name, f->map.layout);
	f->dir =
	    disk_open_at(disk->fd, dir, O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	if (f->dir < 0)
		return f->dir;
	err = lock_index(f);
	if (err == -ENOENT)
		folder_sweep(f);
	if (!err)
		err = index_read(f->index.fd, &o->record, &o->records, &torn);
	if (!err)
		err = reopen_meta(o);
	if (!err)
		err = reopen_index(o);
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
	free(o.text);
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

int
folder_reopen(struct folder **folder, const struct disk *disk, const char *name,
	      const json_t *head)
{
	return folder_resume(folder, disk, name, head, 0);
}
