/* SPDX-License-Identifier: MIT */
/*
 * One file for all blocks of a disk.  Blocks lie one behind the other, so the
 * place of a block follows from those before it in the index.  That holds only
 * while the file has exactly the blocks of the index: what cannot be written or
 * made durable is cut off again, and a file that cannot be cut takes no more
 * blocks.
 *
 * Space is reserved ahead in steps of 256 MiB, beyond the end of the file: so
 * its extents are long, and after a crash its size is what was written.  Near
 * the end of the disk only the block itself is reserved, to leave space to
 * others.
 *
 * The file is written with O_DIRECT as long as blocks end at a page; after a
 * block that closed early, everything goes through the page cache.  Both
 * descriptors are of the same file: the kernel drops cached pages that a direct
 * write covers.  For O_DIRECT the file is grown by a whole block before that is
 * written, as chunks are (folder_place.c).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/write/folder_priv.h"
#include "store/record/geometry.h"
#include "store/record/meta.h"
#include "store/disk/file.h"

enum { STEP = 256 << 20, STEPS_FREE = 4 };

static const char *
data_file(const struct folder *f, char file[LAYOUT_FILE])
{
	return layout_data(file, f->map.name, f->map.layout, f->map.extension);
}

static int
cut(struct folder *f, uint64_t bytes)
{
	f->reserved = bytes; /* truncating also drops reserved space */
	return ftruncate(f->data, (off_t)bytes) < 0 ? -errno : 0;
}

static int
open_data(struct folder *f, int flags)
{
	char file[LAYOUT_FILE];

	f->data = disk_open_at(f->dir, data_file(f, file), O_RDWR | flags,
			       DISK_NO_LINKS);
	return f->data < 0 ? f->data : 0;
}

int
folder_data_create(struct folder *f)
{
	uint8_t raw[SG_HEADER];
	unsigned bytes = layout_map_begin(&f->map, raw);
	int err;

	if (!layout_map_shared(&f->map))
		return 0;
	err = open_data(f, O_CREAT | O_EXCL);
	if (!err)
		err = write_whole(f->data, raw, bytes, 0);
	if (!err && fdatasync(f->data) < 0)
		err = -errno;
	f->end = f->synced = f->reserved = bytes;
	return err;
}

void
folder_data_remove(struct folder *f)
{
	char file[LAYOUT_FILE];

	if (f->data >= 0)
		unlinkat(f->dir, data_file(f, file), 0);
}

static void
take(struct folder *f, const struct layout_spot *spot, uint64_t number,
     uint64_t bytes)
{
	f->last = *spot;
	f->last_number = number;
	f->last_bytes = bytes;
	f->end = spot->end;
}

int
folder_data_reopen(struct folder *f, const struct index_record *records,
		   size_t n, const uint64_t *aside)
{
	struct layout_spot spot;
	struct stat st;
	int err;

	if (!layout_map_shared(&f->map))
		return 0;
	err = open_data(f, 0);
	if (err)
		return err;
	f->end = layout_map_begin(&f->map, NULL);
	for (size_t i = 0; i < n; i++) {
		if (records[i].kind != INDEX_BLOCK)
			continue;
		layout_map_spot(&f->map, f->end, records[i].number,
				records[i].bytes, &spot);
		take(f, &spot, records[i].number, records[i].bytes);
	}
	f->synced = f->end;
	if (fstat(f->data, &st) < 0)
		return -errno;
	/* The disk lost data that the index names.  Writing more would hide
	 * that. */
	if ((uint64_t)st.st_size < f->end)
		return -EIO;
	err = aside ? folder_aside(f, f->end, *aside) : 0;
	return err ? err : cut(f, f->end);
}

/* ---- places -------------------------------------------------------------- */

/* Returns the offset up to which to reserve. */
static uint64_t
step_end(const struct folder *f, uint64_t end)
{
	struct statvfs fs;

	if (fstatvfs(f->data, &fs) < 0 ||
	    fs.f_bavail * fs.f_frsize < (uint64_t)STEPS_FREE * STEP)
		return end;
	return end + STEP;
}

static int
reserve(struct folder *f, uint64_t end)
{
	uint64_t to;

	if (end <= f->reserved)
		return 0;
	to = step_end(f, end);
	if (fallocate(f->data, FALLOC_FL_KEEP_SIZE, (off_t)f->end,
		      (off_t)(to - f->end)) < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	f->reserved = to;
	return 0;
}

/* Returns the O_DIRECT descriptor if the caller wants it and the place allows
 * it; else the normal one. */
static int
fd_for(struct folder *f, const struct layout_spot *spot, int flags)
{
	char file[LAYOUT_FILE];

	if (!(flags & O_DIRECT) || f->undirect || spot->prefix_bytes ||
	    spot->offset % GEOMETRY_PAGE)
		return f->data;
	if (f->direct < 0)
		f->direct = disk_open_at(f->dir, data_file(f, file),
					 O_WRONLY | O_DIRECT, DISK_NO_LINKS);
	f->undirect = f->direct < 0;
	return f->undirect ? f->data : f->direct;
}

/* Extends the file for a block.  After a crash, what was not written of it is a
 * hole.  If the file system cannot, writes extend the file. */
static void
grow(struct folder *f, const struct layout_spot *spot)
{
	if (fallocate(f->data, 0, (off_t)spot->start,
		      (off_t)(spot->end - spot->start)) < 0)
		return;
}

int
folder_data_place(struct folder *f, uint64_t number, uint64_t bytes, int flags,
		  struct folder_place *place)
{
	struct layout_spot spot;
	int fd, err;

	layout_map_spot(&f->map, f->end, number, bytes, &spot);
	if (number >= LAYOUT_CHUNKS || bytes > spot.room)
		return -EFBIG;
	err = f->broken ? -EIO : reserve(f, spot.end);
	if (err)
		return err;
	err = write_whole(f->data, spot.prefix, spot.prefix_bytes, spot.start);
	if (err) {
		f->broken |= cut(f, f->end) != 0;
		return err;
	}
	fd = fd_for(f, &spot, flags);
	if (fd == f->direct)
		grow(f, &spot);
	*place = (struct folder_place){ .fd = fd,
					.direct = fd == f->direct,
					.offset = spot.offset,
					.number = number,
					.bytes = spot.room };
	/* The writer of whole pages truncates the last one, which drops
	 * reserved space. */
	if (spot.end % GEOMETRY_PAGE)
		f->reserved = spot.end;
	take(f, &spot, number, bytes);
	return 0;
}

void
folder_data_note(struct folder *f, uint64_t end)
{
	json_t *line = f->data < 0 ? NULL : meta_cut(end);

	if (line)
		folder_note(f, line); /* on failure, recover has less to go
					 by */
	json_decref(line);
}

static int
take_back(struct folder *f, uint64_t end)
{
	folder_data_note(f, end);
	f->end = end;
	return cut(f, end);
}

int
folder_data_unplace(struct folder *f, const struct folder_place *place)
{
	int err = -EINVAL;

	if (place->number == f->last_number && f->end > f->synced)
		err = take_back(f, f->last.start);
	f->broken |= err != 0;
	return err;
}

/* ---- rounds -------------------------------------------------------------- */

int
folder_data_sync(struct folder *f)
{
	struct stat st;

	if (f->data < 0)
		return 0;
	if (f->broken)
		return -EIO;
	if (fdatasync(f->data) < 0 || fstat(f->data, &st) < 0)
		return -errno;
	return st.st_nlink ? 0 : -ENOENT; /* removed: its data would vanish */
}

/* Returns the offset behind the index's blocks once these are added. */
static uint64_t
end_with(const struct folder *f, const struct index_record *records, unsigned n)
{
	struct layout_spot spot;
	uint64_t end = f->synced;

	for (unsigned i = 0; i < n; i++) {
		if (records[i].kind != INDEX_BLOCK)
			continue;
		layout_map_spot(&f->map, end, records[i].number,
				records[i].bytes, &spot);
		end = spot.end;
	}
	return end;
}

void
folder_data_synced(struct folder *f, const struct index_record *records,
		   unsigned n)
{
	f->synced = end_with(f, records, n);
}

/* Cuts only if no block behind these is being written; else the file takes no
 * more blocks. */
void
folder_data_rewind(struct folder *f, const struct index_record *records,
		   unsigned n)
{
	if (f->data < 0 || !n)
		return;
	if (end_with(f, records, n) == f->end) {
		f->broken |= take_back(f, f->synced) != 0;
	} else {
		f->broken = true;
	}
}

/* ---- the end ------------------------------------------------------------- */

/* Mark6: the header of the last block tells its real length. */
static int
shorten(struct folder *f)
{
	struct layout_spot spot = f->last;

	if (!spot.prefix_bytes || f->last_bytes == spot.room ||
	    spot.end != f->end)
		return 0;
	sg_block_write(spot.prefix, (uint32_t)f->last_number,
		       (uint32_t)f->last_bytes);
	f->end = spot.offset + f->last_bytes;
	return write_whole(f->data, spot.prefix, spot.prefix_bytes, spot.start);
}

int
folder_data_end(struct folder *f)
{
	int err;

	if (f->data < 0)
		return 0;
	if (f->broken)
		f->end = f->synced;
	if (f->end == layout_map_begin(&f->map, NULL)) {
		folder_data_remove(f);
		return 0;
	}
	err = shorten(f);
	if (!err)
		err = cut(f, f->end);
	if (!err && fdatasync(f->data) < 0)
		err = -errno;
	return err;
}
