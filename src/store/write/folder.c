/* SPDX-License-Identifier: MIT */
/*
 * A recording's folder on one disk: created, filled, made durable, closed.
 *
 * All files are opened relative to the descriptor of the recording's own
 * folder.  So if a disk is mounted elsewhere or a folder is moved while
 * recording, nothing is written to a wrong place.
 *
 * The writer holds flock(LOCK_EX) on the index as long as the recording is
 * open; a reader that gets LOCK_SH knows that nobody writes.  The index is made
 * under another name, locked before there is anything else, and renamed when all
 * else is durable.  So a reader that sees an index also sees the metadata and a
 * lock; one that sees only metadata finds the lock on the other name.
 *
 * A line or record that did not fit (a full disk) is cut off again: nothing may
 * follow half a record.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/disk/layout.h"
#include "store/foreign/vbs_cfg.h"
#include "store/parity/parity_file.h"
#include "store/record/geometry.h"
#include "store/record/meta.h"
#include "store/record/sums.h"
#include "store/write/folder_priv.h"

/* ---- one file for all blocks of a disk ----------------------------------- */

/*
 * Blocks in a shared file lie one behind the other, so the place of a block
 * follows from those before it in the index.  That holds only while the file
 * has exactly the blocks of the index: what cannot be written is cut off again.
 * A file that cannot be cut, or made durable, takes no more blocks until it is
 * opened again.
 *
 * Space is reserved ahead in steps of 256 MiB, beyond the end of the file: so
 * its extents are long, and after a crash its size is what was written.  Near
 * the end of the disk only the block itself is reserved, to leave space to
 * others.
 *
 * With O_DIRECT whole pages are written, whatever blocks there are.  A block that
 * ends within a page is followed by zeros up to its end, and the next block
 * writes that page again, with the same bytes at its beginning: a power cut in
 * between takes nothing of the block before.  Those bytes are kept in memory, or
 * read back after something else was written there.  The file is grown by a
 * whole block before that is written, as chunks are; so where a process was
 * killed the file ends with up to a page of zeros, or with a block that has holes
 * and perhaps no header.  Whoever goes on from there (store/finish) goes by the
 * notes.  The header, the end of the file and what other programs write go
 * through the page cache, by a descriptor of its own: the kernel writes cached
 * pages that a direct write covers before it, and drops them.
 */

enum { STEP = 256 << 20, STEPS_FREE = 4 };

static const char *
data_file(const struct folder *f, char file[LAYOUT_FILE])
{
	return layout_data(file, f->plan.name, f->plan.layout,
			   f->plan.extension);
}

static int
data_cut(struct folder *f, uint64_t bytes)
{
	f->reserved = bytes; /* truncating also drops reserved space */
	return file_cut(f->data, (off_t)bytes) < 0 ? -errno : 0;
}

static int
open_data(struct folder *f, int flags)
{
	char file[LAYOUT_FILE];

	f->data = disk_open_at(f->dir, data_file(f, file), O_RDWR | flags,
			       DISK_NO_LINKS);
	return f->data < 0 ? f->data : 0;
}

/* Makes the shared file, durably, which must not exist; and removes it. */
static int
data_create(struct folder *f)
{
	uint8_t raw[SG_HEADER];
	unsigned bytes = layout_plan_begin(&f->plan, raw);
	int err;

	if (!layout_plan_shared(&f->plan))
		return 0;
	err = open_data(f, O_CREAT | O_EXCL);
	if (!err)
		err = write_whole(f->data, raw, bytes, 0);
	if (!err && file_sync_data(f->data) < 0)
		err = -errno;
	f->end = f->synced = f->reserved = bytes;
	return err;
}

static void
data_remove(struct folder *f)
{
	char file[LAYOUT_FILE];

	if (f->data >= 0)
		file_remove_at(f->dir, data_file(f, file), 0);
}

static int
aside_open(struct folder *f, uint64_t number)
{
	char file[LAYOUT_FILE];
	int fd = -1;

	for (unsigned i = 0; i < LAYOUT_ASIDES && fd < 0; i++) {
		layout_aside(file, f->plan.name, number, i);
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
	if (!err && file_sync_data(to) < 0)
		err = -errno;
	return err;
}

/* Copies the shared file from offset `end` on into a file aside, named for
 * chunk `number`.  Returns 0 or -errno. */
static int
data_aside(struct folder *f, uint64_t end, uint64_t number)
{
	enum { PIECE = 1 << 20 };
	uint8_t *piece;
	int fd, err;

	/* Only reserved space: nothing was written to it. */
	if (file_seek(f->data, (off_t)end, SEEK_DATA) < 0)
		return errno == ENXIO ? 0 : -errno;
	if (!file_has_data(f->data, end))
		return 0;
	piece = malloc(PIECE);
	fd = piece ? aside_open(f, number) : -ENOMEM;
	err = fd < 0 ? fd : copy(f->data, fd, end, piece, PIECE);
	if (fd >= 0)
		file_close(fd);
	if (!err && file_sync(f->dir) < 0)
		err = -errno;
	free(piece);
	return err;
}

static void
data_take(struct folder *f, const struct layout_spot *spot, uint64_t number,
	  uint64_t bytes)
{
	f->last = *spot;
	f->last_number = number;
	f->last_bytes = bytes;
	f->end = spot->end;
}

int
folder_data_reopen(struct folder *f, const struct index_record *records,
		   size_t n, uint64_t aside)
{
	struct layout_spot spot;
	struct stat st;
	int err;

	if (!layout_plan_shared(&f->plan))
		return 0;
	err = open_data(f, 0);
	if (err)
		return err;
	f->end = layout_plan_begin(&f->plan, NULL);
	for (size_t i = 0; i < n; i++) {
		if (records[i].kind != INDEX_BLOCK)
			continue;
		layout_plan_spot(&f->plan, f->end, records[i].number,
				 records[i].bytes, &spot);
		data_take(f, &spot, records[i].number, records[i].bytes);
	}
	f->synced = f->end;
	if (file_stat(f->data, &st) < 0)
		return -errno;
	/* The disk lost data that the index names.  Writing more would hide
	 * that. */
	if ((uint64_t)st.st_size < f->end)
		return -EIO;
	err = data_aside(f, f->end, aside);
	return err ? err : data_cut(f, f->end);
}

/* Returns the offset up to which to reserve. */
static uint64_t
step_end(const struct folder *f, uint64_t end)
{
	struct statvfs fs;

	if (file_space(f->data, &fs) < 0 ||
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
	if (file_reserve(f->data, FALLOC_FL_KEEP_SIZE, (off_t)f->end,
			 (off_t)(to - f->end)) < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	f->reserved = to;
	return 0;
}

/* Returns the bytes from `at` up to the end of its page. */
static uint64_t
page_rest(uint64_t at)
{
	return (GEOMETRY_PAGE - at % GEOMETRY_PAGE) % GEOMETRY_PAGE;
}

/* Extends the file for a block.  After a crash, what was not written of it is a
 * hole.  If the file system cannot, writes extend the file. */
static void
grow(struct folder *f, uint64_t from, uint64_t to)
{
	if (file_reserve(f->data, 0, (off_t)from, (off_t)(to - from)) < 0)
		return;
}

/* Reads the edge again, unless it is known. */
static int
edge_read(struct folder *f)
{
	size_t bytes = f->end % GEOMETRY_PAGE;
	ssize_t got = (ssize_t)bytes;

	if (f->edge_end != f->end)
		got = read_whole(f->data, f->edge, bytes, f->end - bytes);
	if (got != (ssize_t)bytes)
		return got < 0 ? (int)got : -EIO;
	f->edge_end = f->end;
	return 0;
}

/* Prepares a write of whole pages: from the beginning of the page in which the
 * block starts to the end of that in which it ends. */
static int
direct_target(struct folder *f, const struct layout_spot *spot,
	      struct folder_target *target)
{
	size_t old = spot->start % GEOMETRY_PAGE;
	char file[LAYOUT_FILE];
	int err = edge_read(f);

	if (!err && f->direct < 0)
		f->direct = disk_open_at(f->dir, data_file(f, file),
					 O_WRONLY | O_DIRECT, DISK_NO_LINKS);
	if (err || f->direct < 0)
		return err ? err : f->direct;
	memcpy(f->edge + old, spot->prefix, spot->prefix_bytes);
	target->fd = f->direct;
	target->offset = spot->start - old;
	target->before = f->edge;
	target->before_bytes = (uint32_t)old + spot->prefix_bytes;
	target->pad = (uint32_t)page_rest(spot->end);
	grow(f, spot->start, spot->end + target->pad);
	return 0;
}

/* Prepares a write of the data alone, through the page cache. */
static int
cached_target(struct folder *f, const struct layout_spot *spot,
	      struct folder_target *target)
{
	target->fd = f->data;
	target->offset = spot->offset;
	return write_whole(f->data, spot->prefix, spot->prefix_bytes,
			   spot->start);
}

/* As folder_target_make() and folder_target_undo(). */
static int
data_target_make(struct folder *f, uint64_t number, uint64_t bytes, int flags,
		 struct folder_target *target)
{
	struct layout_spot spot;
	int err;

	layout_plan_spot(&f->plan, f->end, number, bytes, &spot);
	if (number >= LAYOUT_CHUNKS || bytes > spot.room)
		return -EFBIG;
	err = f->broken ? -EIO : reserve(f, spot.end + page_rest(spot.end));
	if (err)
		return err;
	*target =
	    (struct folder_target){ .number = number, .bytes = spot.room };
	if (flags & O_DIRECT)
		err = direct_target(f, &spot, target);
	else
		err = cached_target(f, &spot, target);
	if (err) {
		f->broken |= data_cut(f, f->end) != 0;
		return err;
	}
	data_take(f, &spot, number, bytes);
	return 0;
}

void
folder_target_wrote(struct folder *f, const struct folder_target *target,
		    const void *data)
{
	uint64_t all = target->before_bytes + target->bytes;
	size_t bytes = all % GEOMETRY_PAGE, old = 0;

	if (target->own || target->fd != f->direct)
		return;
	/* A short block may end in the page in which it began. */
	if (bytes > target->bytes)
		old = bytes - target->bytes;
	memmove(f->edge, f->edge + target->before_bytes - old, old);
	memcpy(f->edge + old,
	       (const uint8_t *)data + target->bytes - (bytes - old),
	       bytes - old);
	f->edge_end = target->offset + all;
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
	f->edge_end = UINT64_MAX;
	return data_cut(f, end);
}

static int
data_target_undo(struct folder *f, const struct folder_target *target)
{
	int err = -EINVAL;

	if (target->number == f->last_number && f->end > f->synced)
		err = take_back(f, f->last.start);
	f->broken |= err != 0;
	return err;
}

/* Makes the shared file durable. */
static int
data_sync(struct folder *f)
{
	struct stat st;

	if (f->data < 0)
		return 0;
	if (f->broken)
		return -EIO;
	if (file_sync_data(f->data) < 0 || file_stat(f->data, &st) < 0)
		return -errno;
	return st.st_nlink ? 0 : -ENOENT; /* removed: its data would vanish */
}

/* Notes that the index names these blocks now. */
static void
data_synced(struct folder *f, const struct index_record *records, unsigned n)
{
	struct layout_spot spot;

	for (unsigned i = 0; i < n; i++) {
		if (records[i].kind != INDEX_BLOCK)
			continue;
		layout_plan_spot(&f->plan, f->synced, records[i].number,
				 records[i].bytes, &spot);
		f->synced = spot.end;
	}
}

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

/* Cuts off the zeros behind the last block of a file that may go on.  If that
 * fails, they are cut off when it does. */
static void
data_trim(struct folder *f)
{
	if (f->direct >= 0 && !f->broken)
		data_cut(f, f->end);
}

/* Cuts off what was reserved or padded behind the data, or removes the file if
 * it has no block.  A broken file may have data behind the index's blocks: they
 * are put aside, or left where they are. */
static int
data_end(struct folder *f)
{
	int err;

	if (f->data < 0)
		return 0;
	if (f->broken) {
		f->end = f->synced;
		err = data_aside(f, f->end, f->last_number);
		if (err)
			return err;
	}
	if (f->end == layout_plan_begin(&f->plan, NULL)) {
		data_remove(f);
		return 0;
	}
	err = shorten(f);
	if (!err)
		err = data_cut(f, f->end);
	if (!err && file_sync_data(f->data) < 0)
		err = -errno;
	return err;
}

/* ---- creating ------------------------------------------------------------ */

static int
create(int dir, const char *file)
{
	return disk_open_at(dir, file, O_CREAT | O_EXCL | O_RDWR | O_APPEND,
			    DISK_NO_LINKS);
}

static int
create_meta(struct folder *f, const json_t *head)
{
	char file[LAYOUT_FILE];
	int err;

	f->meta.fd = create(f->dir, layout_meta(file, f->plan.name));
	if (f->meta.fd < 0)
		return f->meta.fd;
	err = meta_append(&f->meta, head);
	if (!err && file_sync_data(f->meta.fd) < 0)
		err = -errno;
	return err;
}

/* ---- whose the folder is ---- */

/*
 * Several recorders may share a disk, and make a recording of one name in the
 * same moment.  The lock of the new index decides whose the folder is: who has
 * it makes all else, and nobody removes anything there without it.  The lock of a
 * recorder that died is free again, and what it left half made is removed by the
 * next one of that name.
 */

/* True if the entry is one that a folder has before it has an index. */
static bool
is_beginning(const struct folder *f, const char *entry)
{
	char file[LAYOUT_FILE];
	struct stat st;

	if (!strcmp(entry, ".") || !strcmp(entry, "..") ||
	    !strcmp(entry, layout_index_new(file, f->plan.name)) ||
	    !strcmp(entry, layout_meta(file, f->plan.name)))
		return true;
	return layout_plan_shared(&f->plan) &&
	       !strcmp(entry, data_file(f, file)) &&
	       !file_stat_at(f->dir, entry, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_size <= layout_plan_begin(&f->plan, NULL);
}

/* Returns 0 if the folder has nothing but beginnings; -EEXIST if it has an index,
 * or anything else; or another -errno. */
static int
taken_look(const struct folder *f)
{
	struct file_list *dir;
	const struct dirent *e;
	int err = file_list_at(&dir, f->dir);

	if (err)
		return err;
	while (!err && (e = file_list_next(dir)))
		err = is_beginning(f, e->d_name) ? 0 : -EEXIST;
	file_list_close(dir);
	return err;
}

/* Removes what a crash left half made.  0; -EEXIST: it is more than that. */
static int
beginnings_remove(struct folder *f)
{
	char file[LAYOUT_FILE];
	struct stat st;

	if (file_cut(f->index.fd, 0) < 0)
		return -errno;
	file_remove_at(f->dir, layout_meta(file, f->plan.name), 0);
	if (!layout_plan_shared(&f->plan) ||
	    file_stat_at(f->dir, data_file(f, file), &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (st.st_size > layout_plan_begin(&f->plan, NULL))
		return -EEXIST;
	return file_remove_at(f->dir, file, 0) < 0 ? -errno : 0;
}

/* Tells whether the file of a descriptor has this name. */
static bool
has_name(int fd, int dir, const char *file)
{
	struct stat named, opened;

	return !file_stat_at(dir, file, &named, AT_SYMLINK_NOFOLLOW) &&
	       !file_stat(fd, &opened) && named.st_ino == opened.st_ino;
}

/* Makes the index under its first name, and takes the folder with it, which is
 * old if somebody else made it.  0;
 * -EEXIST: the folder is another recording's; -EBUSY: another process makes it;
 * -ENOENT: another one removed the folder, or the index, meanwhile. */
static int
create_index(struct folder *f, bool old)
{
	char made[LAYOUT_FILE];
	int err;

	err = taken_look(f);
	if (err)
		return err;
	layout_index_new(made, f->plan.name);
	f->index.fd = disk_open_at(f->dir, made, O_CREAT | O_RDWR | O_APPEND,
				   DISK_NO_LINKS);
	err = f->index.fd < 0 ? f->index.fd : index_lock(f->index.fd);
	if (err)
		return err;
	if (!has_name(f->index.fd, f->dir, made))
		return -ENOENT;
	/* Another one may have given its index the last name in between; then
	 * this one is new, and nobody's. */
	err = taken_look(f);
	if (err) {
		file_remove_at(f->dir, made, 0);
		return err;
	}
	f->ours = true;
	return old ? beginnings_remove(f) : 0;
}

static int
show_index(struct folder *f)
{
	char file[LAYOUT_FILE], made[LAYOUT_FILE];

	layout_index_new(made, f->plan.name);
	if (file_sync_data(f->index.fd) < 0 ||
	    file_rename_at(f->dir, made, f->dir,
			   layout_index(file, f->plan.name)) < 0 ||
	    file_sync(f->dir) < 0 || file_sync(f->disk) < 0)
		return -errno;
	return 0;
}

int
folder_make(struct folder **folder, const struct disk *disk, const char *name,
	    const json_t *head)
{
	struct folder *f;
	int err;

	if (!layout_folder_good(name))
		return -EINVAL;
	f = malloc(sizeof *f);
	if (!f)
		return -ENOMEM;
	*f = (struct folder){
		.disk = disk->fd,
		.dir = -1,
		.index.fd = -1,
		.meta.fd = -1,
		.sums.fd = -1,
		.parity.fd = -1,
		.data = -1,
		.direct = -1,
		.edge_end = UINT64_MAX,
	};
	err = layout_plan_make(&f->plan, name, head);
	if (err) {
		free(f);
		return err;
	}
	*folder = f;
	return 0;
}

void
folder_free(struct folder *f)
{
	if (f->index.fd >= 0)
		file_close(f->index.fd);
	if (f->meta.fd >= 0)
		file_close(f->meta.fd);
	if (f->sums.fd >= 0)
		file_close(f->sums.fd);
	if (f->parity.fd >= 0)
		file_close(f->parity.fd);
	if (f->dir >= 0)
		file_close(f->dir);
	if (f->data >= 0)
		file_close(f->data);
	if (f->direct >= 0)
		file_close(f->direct);
	free(f->found);
	free(f);
}

/* Undoes a folder_create() that failed, wherever it stopped.  A folder that has
 * anything in it stays. */
static void
folder_undo(struct folder *f, const char *dir)
{
	char file[LAYOUT_FILE];

	/* The index goes last: as long as it is there, nobody else begins. */
	if (f->ours) {
		file_remove_at(f->dir, layout_meta(file, f->plan.name), 0);
		data_remove(f);
		file_remove_at(f->dir, layout_index_new(file, f->plan.name), 0);
		file_remove_at(f->dir, layout_index(file, f->plan.name), 0);
	}
	file_remove_at(f->disk, dir, AT_REMOVEDIR);
}

/* Makes the folder, unless it is there, and takes it.  Errors as those of
 * create_index(). */
static int
folder_take(struct folder *f, const char *dir)
{
	bool old = file_mkdir_at(f->disk, dir, 0755) < 0;
	int err;

	if (old && errno != EEXIST)
		return -errno;
	f->dir =
	    disk_open_at(f->disk, dir, O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	err = f->dir < 0 ? f->dir : create_index(f, old);
	if (err)
		folder_undo(f, dir);
	return err;
}

/* Makes all that is in a folder which is ours. */
static int
folder_furnish(struct folder *f, const char *dir, const json_t *head)
{
	int err = data_create(f);

	if (!err)
		err = create_meta(f, head);
	if (!err)
		err = show_index(f);
	if (err)
		folder_undo(f, dir);
	return err;
}

int
folder_create(struct folder **folder, const struct disk *disk, const char *name,
	      const json_t *head)
{
	enum { TRIES = 5 };
	char dir[LAYOUT_FILE];
	struct folder *f;
	int err = -ENOENT;

	/* A recorder that fails to take a folder removes an empty one. */
	for (unsigned i = 0; i < TRIES && err == -ENOENT; i++) {
		err = folder_make(&f, disk, name, head);
		if (err)
			return err;
		layout_dir(dir, name, f->plan.layout);
		err = folder_take(f, dir);
		if (err)
			folder_free(f);
	}
	if (err)
		return err;
	err = folder_furnish(f, dir, head);
	if (err)
		folder_free(f);
	else
		*folder = f;
	return err;
}

/* True if nothing was written but what folder_create() makes. */
static bool
is_bare(const struct folder *f)
{
	char file[LAYOUT_FILE];
	struct file_list *dir;
	const struct dirent *e;
	bool bare;

	if (f->index.bytes || file_list_at(&dir, f->dir))
		return false;
	layout_index(file, f->plan.name);
	bare = !layout_plan_shared(&f->plan) ||
	       f->end == layout_plan_begin(&f->plan, NULL);
	while (bare && (e = file_list_next(dir)))
		bare = is_beginning(f, e->d_name) || !strcmp(e->d_name, file);
	file_list_close(dir);
	return bare;
}

bool
folder_drop(struct folder *f)
{
	char dir[LAYOUT_FILE];

	if (!f->ours || !is_bare(f))
		return false;
	folder_undo(f, layout_dir(dir, f->plan.name, f->plan.layout));
	folder_free(f);
	return true;
}

/* ---- placing blocks ------------------------------------------------------ */

/*
 * Each block lies in a file of its own, or all in one file that they share.
 *
 * A chunk is grown to its full size when it is made.  Writes that extend a file
 * are serialised, however many are in flight: ext4 and XFS lock the file for
 * each, and io_uring hands them to kernel threads.  Measured with 8 requests of
 * 2M in flight, chunks of 64M, ext4 on NVMe, Linux 6.18, in CPU s per GB: uring
 * 0.017 if grown first, 0.037 with space reserved beyond the end
 * (FALLOC_FL_KEEP_SIZE); pwrite, one at a time, 0.037 and 0.034.
 *
 * So after a crash the size of a chunk says nothing; what was never written is
 * a hole of the file (SEEK_HOLE), and recover treats it as missing.
 */

/* Makes a file of so many bytes.  Returns the descriptor or -errno. */
static int
file_make(struct folder *folder, const char *file, int flags, uint64_t bytes)
{
	int fd, err;

	fd = disk_make_at(folder->dir, file, flags);
	if (fd < 0)
		return fd;
	if (!bytes || !file_reserve(fd, 0, 0, (off_t)bytes) ||
	    errno == EOPNOTSUPP)
		return fd;
	err = -errno;
	file_close(fd);
	file_remove_at(folder->dir, file, 0);
	return err;
}

int
folder_chunk(struct folder *folder, uint64_t number, int flags, uint64_t bytes)
{
	char file[LAYOUT_FILE];

	if (number >= LAYOUT_CHUNKS)
		return -EFBIG;
	return file_make(folder, layout_chunk(file, folder->plan.name, number),
			 flags, bytes);
}

/* Places a block in a file of its own. */
static int
chunk_target_make(struct folder *folder, uint64_t number, uint64_t bytes,
		  int flags, struct folder_target *target)
{
	int fd = folder_chunk(folder, number, flags, bytes);

	if (fd < 0)
		return fd;
	*target = (struct folder_target){
		.fd = fd, .own = true, .number = number, .bytes = bytes
	};
	return 0;
}

int
folder_target_make(struct folder *folder, uint64_t number, uint64_t bytes,
		   int flags, struct folder_target *target)
{
	if (folder_serial(folder))
		return data_target_make(folder, number, bytes, flags, target);
	return chunk_target_make(folder, number, bytes, flags, target);
}

int
folder_target_undo(struct folder *folder, const struct folder_target *target)
{
	char file[LAYOUT_FILE];

	if (folder_serial(folder) && !target->parity)
		return data_target_undo(folder, target);
	file_close(target->fd);
	if (target->parity)
		layout_parity(file, folder->plan.name, target->number, 0);
	else
		layout_chunk(file, folder->plan.name, target->number);
	return file_remove_at(folder->dir, file, 0) < 0 ? -errno : 0;
}

int
folder_chunk_remove(struct folder *folder, uint64_t number)
{
	char file[LAYOUT_FILE];

	layout_chunk(file, folder->plan.name, number);
	if (file_remove_at(folder->dir, file, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

bool
folder_serial(const struct folder *folder)
{
	return layout_plan_shared(&folder->plan);
}

/* ---- checksums ----------------------------------------------------------- */

/*
 * The checksums of a block are appended to the .sums file as soon as the block
 * is written, because its memory is freed then; they become durable with its
 * sync round.  The file is made with the first checksums: a recording without
 * any has none.
 */

/* Opens the .sums file, and cuts off what is behind its last good record. */
static int
open_sums(struct folder *f)
{
	struct sums_list list;
	char file[LAYOUT_FILE];
	int err;

	f->sums.fd = disk_open_at(f->dir, layout_sums(file, f->plan.name),
				  O_CREAT | O_RDWR | O_APPEND, DISK_NO_LINKS);
	if (f->sums.fd < 0)
		return f->sums.fd;
	err = sums_read(f->sums.fd, &list);
	if (!err) {
		f->sums.bytes = (off_t)list.end;
		if (file_cut(f->sums.fd, f->sums.bytes) < 0)
			err = -errno;
		sums_clear(&list);
	}
	if (err) {
		file_close(f->sums.fd);
		f->sums.fd = -1;
	}
	return err;
}

int
folder_sum(struct folder *f, const struct block *b)
{
	size_t bytes = sums_bytes(block_quanta(b));
	uint8_t *raw;
	int err = 0;

	if (!b->quantum)
		return 0;
	raw = malloc(bytes);
	if (!raw)
		return -ENOMEM;
	if (f->sums.fd < 0)
		err = open_sums(f);
	if (!err) {
		sums_pack(raw, b);
		err = append_bytes(&f->sums, raw, bytes);
	}
	f->summed |= !err;
	free(raw);
	return err;
}

/* ---- metadata, sync rounds, the end -------------------------------------- */

int
folder_note(struct folder *folder, const json_t *line)
{
	int err = meta_append(&folder->meta, line);

	if (!err)
		folder->noted = true;
	return err;
}

int
folder_note_lines(struct folder *folder, const char *lines, size_t bytes)
{
	int err = bytes ? append_bytes(&folder->meta, lines, bytes) : 0;

	if (!err && bytes)
		folder->noted = true;
	return err;
}

static int
sync_sums(struct folder *folder)
{
	if (!folder->summed)
		return 0;
	if (file_sync_data(folder->sums.fd) < 0)
		return -errno;
	folder->summed = false;
	return 0;
}

/* Metadata before the index: the holes of an indexed block are on record. */
static int
sync_meta(struct folder *folder)
{
	if (!folder->noted)
		return 0;
	if (file_sync_data(folder->meta.fd) < 0)
		return -errno;
	folder->noted = false;
	return 0;
}

/* ---- parity -------------------------------------------------------------- */

int
folder_parity_make(struct folder *folder, uint64_t group, uint64_t bytes,
		   int flags, struct folder_target *target)
{
	char file[LAYOUT_FILE];
	int fd =
	    file_make(folder, layout_parity(file, folder->plan.name, group, 0),
		      flags, bytes);

	if (fd < 0)
		return fd;
	*target = (struct folder_target){ .fd = fd,
					  .own = true,
					  .parity = true,
					  .number = group,
					  .bytes = bytes };
	return 0;
}

int
folder_parity_sync(struct folder *f, const void *tails, size_t bytes)
{
	int err = f->parity.fd < 0
		      ? parity_list_open(f->dir, f->plan.name, &f->parity)
		      : 0;

	/* The names of the blocks, and the lines that came with them. */
	if (!err && file_sync(f->dir) < 0)
		err = -errno;
	if (!err)
		err = sync_meta(f);
	if (!err)
		err = append_bytes(&f->parity, tails, bytes);
	if (!err && file_sync_data(f->parity.fd) < 0)
		err = -errno;
	return err;
}

/* ---- rounds -------------------------------------------------------------- */

/* Returns -ENOENT if the folder was removed: writes to its open files would
 * vanish with the descriptors. */
static int
check_there(const struct folder *folder)
{
	struct stat st;

	if (file_stat(folder->dir, &st) < 0)
		return -errno;
	return st.st_nlink ? 0 : -ENOENT;
}

static int
sync_all(struct folder *folder, const struct index_record *records, unsigned n)
{
	int err = sync_meta(folder);

	if (!err)
		err = sync_sums(folder);
	if (err || !n)
		return err;
	err = check_there(folder);
	if (!err)
		err = data_sync(folder);
	if (err)
		return err;
	if (file_sync(folder->dir) < 0)
		return -errno;
	return index_append(&folder->index, records, n);
}

int
folder_sync(struct folder *folder, const struct index_record *records,
	    unsigned n)
{
	int err = sync_all(folder, records, n);

	/* Data that are not in the index are not cut off: no other disk has
	 * them. */
	if (err && n)
		folder->broken = true;
	else if (!err)
		data_synced(folder, records, n);
	return err;
}

/* Writes VLBI-streamer's .cfg file, if the stream is configured so.  The
 * "bytes" of `tail` count all disks' chunks. */
static int
write_cfg(const struct folder *f, const struct index_record *end,
	  const json_t *tail)
{
	const json_t *bytes =
	    json_object_get(json_object_get(tail, "end"), "bytes");
	struct vbs_cfg cfg = { .packet = f->plan.cfg_packet,
			       .files = end->number };
	int err;

	if (!cfg.packet)
		return 0;
	cfg.packets = (uint64_t)json_integer_value(bytes) / cfg.packet;
	err = vbs_cfg_write(f->dir, f->plan.name, &cfg);
	if (!err && file_sync(f->dir) < 0)
		err = -errno;
	return err;
}

int
folder_close(struct folder *folder, const struct index_record *end,
	     const json_t *tail)
{
	int err = 0, worse;

	if (end)
		err = data_end(folder);
	else
		data_trim(folder);
	if (tail && !err)
		err = folder_note(folder, tail);
	worse = sync_meta(folder);
	if (!err)
		err = worse;
	if (end && !err)
		err = write_cfg(folder, end, tail);
	if (end) {
		worse = index_append(&folder->index, end, 1);
		if (!err)
			err = worse;
	}
	folder_free(folder);
	return err;
}
