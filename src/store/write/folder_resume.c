/* SPDX-License-Identifier: MIT */
/*
 * Cleans up after a daemon that was killed: blocks without an index record, a
 * half-written block, a half-made folder.  Nothing that arrived is overwritten.
 * A chunk that was being written keeps its file and its number.  If blocks
 * share a file, the half-written block is in the way of the next one: it is
 * copied to a file aside, which readers ignore.  There is at most one, because
 * only one block at a time is written there.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/write/folder_priv.h"
#include "store/disk/file.h"

/* ---- blocks without a record --------------------------------------------- */

/* Cuts a chunk to the length in its record, and makes it durable. */
static int
settle(struct folder *f, const struct index_record *r)
{
	char file[LAYOUT_FILE];
	struct stat st;
	int fd, err = 0;

	fd = disk_open_at(f->dir, layout_chunk(file, f->map.name, r->number),
			  O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 ||
	    ((uint64_t)st.st_size > r->bytes &&
	     ftruncate(fd, (off_t)r->bytes) < 0) ||
	    fdatasync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int
settle_shared(struct folder *f)
{
	struct layout_spot spot;
	int fd, err = 0;

	layout_map_spot(&f->map, 0, 0, 0, &spot);
	fd = disk_open_at(f->dir, spot.file, O_WRONLY, DISK_NO_LINKS);
	if (fd < 0)
		return fd;
	if (fdatasync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Data, metadata and folder first, then the index: as in a sync round. */
int
folder_adopt(struct folder *f, const struct index_record *records, size_t n)
{
	bool shared = layout_map_shared(&f->map);
	int err = shared ? settle_shared(f) : 0;

	for (size_t i = 0; i < n && !shared && !err; i++) {
		if (records[i].kind == INDEX_BLOCK)
			err = settle(f, &records[i]);
	}
	if (!err && (fdatasync(f->meta.fd) < 0 || fsync(f->dir) < 0))
		err = -errno;
	return err ? err : folder_append_records(f, records, (unsigned)n);
}

/* ---- half a block -------------------------------------------------------- */

static int
aside_open(struct folder *f, uint64_t number)
{
	char file[LAYOUT_FILE];
	int fd = -1;

	for (unsigned i = 0; i < LAYOUT_ASIDES && fd < 0; i++) {
		layout_aside(file, f->map.name, number, i);
		fd = disk_open_at(f->dir, file, O_CREAT | O_EXCL | O_WRONLY,
				  DISK_NO_LINKS);
		if (fd < 0 && fd != -EEXIST)
			return fd;
	}
	return fd < 0 ? -EEXIST : fd;
}

static int
copy(int from, int to, uint64_t at, uint8_t *piece, size_t piece_bytes)
{
	uint64_t put = 0;
	ssize_t got;
	int err = 0;

	while (!err && (got = read_whole(from, piece, piece_bytes, at))) {
		if (got < 0)
			return (int)got;
		err = write_whole(to, piece, (size_t)got, put);
		put += (uint64_t)got;
		at += (uint64_t)got;
	}
	if (!err && fdatasync(to) < 0)
		err = -errno;
	return err;
}

int
folder_aside(struct folder *f, uint64_t end, uint64_t number)
{
	enum { PIECE = 1 << 20 };
	uint8_t *piece;
	int fd, err;

	/* Only reserved space: nothing was written to it. */
	if (lseek(f->data, (off_t)end, SEEK_DATA) < 0)
		return errno == ENXIO ? 0 : -errno;
	piece = malloc(PIECE);
	fd = piece ? aside_open(f, number) : -ENOMEM;
	err = fd < 0 ? fd : copy(f->data, fd, end, piece, PIECE);
	if (fd >= 0)
		close(fd);
	if (!err && fsync(f->dir) < 0)
		err = -errno;
	free(piece);
	return err;
}

/* ---- half a folder ------------------------------------------------------- */

/* True if the entry is one that a folder has before it has an index. */
static bool
is_beginning(const struct folder *f, const char *entry)
{
	char file[LAYOUT_FILE];
	struct stat st;

	if (!strcmp(entry, ".") || !strcmp(entry, "..") ||
	    !strcmp(entry, layout_index_new(file, f->map.name)) ||
	    !strcmp(entry, layout_meta(file, f->map.name)))
		return true;
	return layout_map_shared(&f->map) &&
	       !strcmp(entry, layout_data(file, f->map.name, f->map.layout,
					  f->map.extension)) &&
	       !fstatat(f->dir, entry, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_size <= layout_map_begin(&f->map, NULL);
}

static bool
has_only_beginnings(const struct folder *f)
{
	int fd =
	    disk_open_at(f->dir, ".", O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool only = dir;

	if (fd >= 0 && !dir)
		close(fd);
	while (only && (e = readdir(dir)))
		only = is_beginning(f, e->d_name);
	if (dir)
		closedir(dir);
	return only;
}

/* Removes the shared file if it has no block.  True if it is gone. */
static bool
data_sweep(const struct folder *f)
{
	char file[LAYOUT_FILE];
	struct stat st;

	if (!layout_map_shared(&f->map))
		return true;
	layout_data(file, f->map.name, f->map.layout, f->map.extension);
	if (fstatat(f->dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (st.st_size > layout_map_begin(&f->map, NULL))
		return false;
	return unlinkat(f->dir, file, 0) == 0;
}

void
folder_sweep(struct folder *f)
{
	char file[LAYOUT_FILE];

	if (!has_only_beginnings(f) || !data_sweep(f))
		return;
	unlinkat(f->dir, layout_index_new(file, f->map.name), 0);
	unlinkat(f->dir, layout_meta(file, f->map.name), 0);
	unlinkat(f->disk, layout_dir(file, f->map.name, f->map.layout),
		 AT_REMOVEDIR);
}
