/* SPDX-License-Identifier: MIT */
/*
 * A disk that was away in mid-recording comes back with what was durable, and
 * maybe half of what was not.  Records and lines go on behind the last whole
 * ones, in the order in which they are written: the index needs no other.
 *
 * The index is locked before it is read, as one that is made is before it is
 * seen: nobody else can be at it.  The head comes next: of another recording of
 * the name nothing is cut off.
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

#include "store/folder_priv.h"
#include "store/read_whole.h"

static int
open_tail(const struct folder *f, struct tail *tail, const char *file)
{
	tail->fd = openat(f->dir, file, O_RDWR | O_APPEND | O_CLOEXEC);
	return tail->fd < 0 ? -errno : 0;
}

static int
cut_tail(struct tail *tail, uint64_t bytes)
{
	tail->bytes = (off_t)bytes;
	return ftruncate(tail->fd, tail->bytes) < 0 ? -errno : 0;
}

/* An end record says that the recording is over. */
static int
look_at(const struct index_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (records[i].kind == INDEX_END)
			return -EALREADY;
	}
	return 0;
}

/* Whoever lists recordings locks the index for a moment, to see whether
 * somebody else does. */
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

static int
reopen_index(struct folder *f)
{
	struct index_record *records;
	uint64_t torn;
	size_t n;
	int err = index_read(f->index.fd, &records, &n, &torn);

	if (err)
		return err;
	err = look_at(records, n);
	if (!err)
		err = cut_tail(&f->index, n * INDEX_BYTES);
	if (!err)
		err = folder_data_reopen(f, records, n);
	free(records);
	return err;
}

static int
check_head(const char *text, size_t bytes, const json_t *head)
{
	json_t *there = json_loadb(text, bytes, JSON_DISABLE_EOF_CHECK, NULL);
	int err = there && json_equal(there, head) ? 0 : -EEXIST;

	json_decref(there);
	return err;
}

/* The end of the last whole line; 0: there is none. */
static uint64_t
whole_lines(const char *text, size_t bytes)
{
	const char *end = bytes ? memrchr(text, '\n', bytes) : NULL;

	return end ? (uint64_t)(end - text) + 1 : 0;
}

static int
reopen_meta(struct folder *f, const json_t *head)
{
	char file[LAYOUT_FILE], *text;
	struct stat st;
	ssize_t got;
	int err = open_tail(f, &f->meta, layout_meta(file, f->map.name));

	if (err)
		return err;
	if (fstat(f->meta.fd, &st) < 0)
		return -errno;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = read_whole(f->meta.fd, text, (size_t)st.st_size, 0);
	err = got < 0 ? (int)got : check_head(text, (size_t)got, head);
	if (!err)
		err = cut_tail(&f->meta, whole_lines(text, (size_t)got));
	free(text);
	return err;
}

int
folder_reopen(struct folder **folder, const struct disk *disk, const char *name,
	      const json_t *head)
{
	char dir[LAYOUT_FILE];
	struct folder *f;
	int err = folder_make(&f, disk, name, head);

	if (err)
		return err;
	layout_dir(dir, name, f->map.layout);
	f->dir = openat(f->disk, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = f->dir < 0 ? -errno : lock_index(f);
	if (!err)
		err = reopen_meta(f, head);
	if (!err)
		err = reopen_index(f);
	if (!err)
		folder_data_note(f, f->end);
	if (err)
		folder_free(f);
	else
		*folder = f;
	return err;
}
