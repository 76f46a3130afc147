/* SPDX-License-Identifier: MIT */
/*
 * All files are opened relative to the descriptor of the recording's own
 * folder.  So if a disk is mounted elsewhere or a folder is moved while
 * recording, nothing is written to a wrong place.
 *
 * The writer holds flock(LOCK_EX) on the index as long as the recording is
 * open; a reader that gets LOCK_SH knows that nobody writes.  The index is made
 * under another name, locked before there is metadata, and renamed when all
 * else is durable.  So a reader that sees an index also sees the metadata and a
 * lock; one that sees only metadata finds the lock on the other name.
 *
 * A line or record that did not fit (a full disk) is cut off again: nothing may
 * follow half a record.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/write/folder_priv.h"
#include "store/record/foreign_form.h"
#include "store/disk/layout.h"

/* Cuts off a partial append.  If that fails too, readers stop at the half
 * record. */
static int
cut(struct tail *tail, int err)
{
	return ftruncate(tail->fd, tail->bytes) < 0 ? -EIO : err;
}

int
folder_append(struct tail *tail, const void *data, size_t bytes)
{
	const char *at = data;
	size_t left = bytes;

	while (left) {
		ssize_t put = write(tail->fd, at, left);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return cut(tail, -errno);
		at += put;
		left -= (size_t)put;
	}
	tail->bytes += (off_t)bytes;
	return 0;
}

static int
append_line(struct tail *tail, const json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	size_t length;
	int err;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length] = '\n'; /* replaces the terminating 0 */
	err = folder_append(tail, text, length + 1);
	free(text);
	return err;
}

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

	f->meta.fd = create(f->dir, layout_meta(file, f->map.name));
	if (f->meta.fd < 0)
		return f->meta.fd;
	err = append_line(&f->meta, head);
	if (!err && fdatasync(f->meta.fd) < 0)
		err = -errno;
	return err;
}

static int
create_index(struct folder *f)
{
	char made[LAYOUT_FILE];

	f->index.fd = create(f->dir, layout_index_new(made, f->map.name));
	if (f->index.fd < 0)
		return f->index.fd;
	return flock(f->index.fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

static int
show_index(struct folder *f)
{
	char file[LAYOUT_FILE], made[LAYOUT_FILE];

	layout_index_new(made, f->map.name);
	if (fdatasync(f->index.fd) < 0 ||
	    renameat(f->dir, made, f->dir, layout_index(file, f->map.name)) <
		0 ||
	    fsync(f->dir) < 0 || fsync(f->disk) < 0)
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
		.data = -1,
		.direct = -1,
	};
	err = layout_map_make(&f->map, name, head);
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
		close(f->index.fd);
	if (f->meta.fd >= 0)
		close(f->meta.fd);
	if (f->sums.fd >= 0)
		close(f->sums.fd);
	if (f->dir >= 0)
		close(f->dir);
	if (f->data >= 0)
		close(f->data);
	if (f->direct >= 0)
		close(f->direct);
	free(f->found);
	free(f);
}

/* Undoes a folder_create() that failed, wherever it stopped. */
static void
remove_folder(struct folder *f)
{
	char file[LAYOUT_FILE];

	if (f->dir >= 0) {
		unlinkat(f->dir, layout_index_new(file, f->map.name), 0);
		unlinkat(f->dir, layout_index(file, f->map.name), 0);
		unlinkat(f->dir, layout_meta(file, f->map.name), 0);
		folder_data_remove(f);
	}
	unlinkat(f->disk, layout_dir(file, f->map.name, f->map.layout),
		 AT_REMOVEDIR);
}

int
folder_create(struct folder **folder, const struct disk *disk, const char *name,
	      const json_t *head)
{
	char dir[LAYOUT_FILE];
	struct folder *f;
	int err = folder_make(&f, disk, name, head);

	if (err)
		return err;
	layout_dir(dir, name, f->map.layout);
	if (mkdirat(f->disk, dir, 0755) < 0) {
		err = -errno;
		goto fail;
	}
	f->dir =
	    disk_open_at(f->disk, dir, O_RDONLY | O_DIRECTORY, DISK_NO_LINKS);
	err = f->dir < 0 ? f->dir : folder_data_create(f);
	if (!err)
		err = create_index(f);
	if (!err)
		err = create_meta(f, head);
	if (!err)
		err = show_index(f);
	if (err)
		goto fail_made;
	*folder = f;
	return 0;
fail_made:
	remove_folder(f);
fail:
	folder_free(f);
	return err;
}

int
folder_note(struct folder *folder, const json_t *line)
{
	int err = append_line(&folder->meta, line);

	if (!err)
		folder->noted = true;
	return err;
}

int
folder_note_lines(struct folder *folder, const char *lines, size_t bytes)
{
	int err = bytes ? folder_append(&folder->meta, lines, bytes) : 0;

	if (!err && bytes)
		folder->noted = true;
	return err;
}

static int
sync_sums(struct folder *folder)
{
	if (!folder->summed)
		return 0;
	if (fdatasync(folder->sums.fd) < 0)
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
	if (fdatasync(folder->meta.fd) < 0)
		return -errno;
	folder->noted = false;
	return 0;
}

int
folder_append_records(struct folder *folder, const struct index_record *records,
		      unsigned n)
{
	enum { BATCH = 64 };
	uint8_t raw[BATCH * INDEX_BYTES];
	int err = 0;

	while (n && !err) {
		unsigned batch = n < BATCH ? n : BATCH;

		for (unsigned i = 0; i < batch; i++)
			index_pack(raw + i * INDEX_BYTES, &records[i]);
		err = folder_append(&folder->index, raw, batch * INDEX_BYTES);
		records += batch;
		n -= batch;
	}
	if (!err && fdatasync(folder->index.fd) < 0)
		err = -errno;
	return err;
}

/* Returns -ENOENT if the folder was removed: writes to its open files would
 * vanish with the descriptors. */
static int
check_there(const struct folder *folder)
{
	struct stat st;

	if (fstat(folder->dir, &st) < 0)
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
		err = folder_data_sync(folder);
	if (err)
		return err;
	if (fsync(folder->dir) < 0)
		return -errno;
	return folder_append_records(folder, records, n);
}

int
folder_sync(struct folder *folder, const struct index_record *records,
	    unsigned n)
{
	int err = sync_all(folder, records, n);

	if (err)
		folder_data_rewind(folder, records, n);
	else
		folder_data_synced(folder, records, n);
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
	struct foreign_cfg cfg = { .packet = f->map.cfg_packet,
				   .files = end->number };
	int err;

	if (!cfg.packet)
		return 0;
	cfg.packets = (uint64_t)json_integer_value(bytes) / cfg.packet;
	err = foreign_cfg_write(f->dir, f->map.name, &cfg);
	if (!err && fsync(f->dir) < 0)
		err = -errno;
	return err;
}

int
folder_close(struct folder *folder, const struct index_record *end,
	     const json_t *tail)
{
	int err = end ? folder_data_end(folder) : 0, worse;

	if (tail && !err)
		err = folder_note(folder, tail);
	worse = sync_meta(folder);
	if (!err)
		err = worse;
	if (end && !err)
		err = write_cfg(folder, end, tail);
	if (end) {
		worse = folder_append_records(folder, end, 1);
		if (!err)
			err = worse;
	}
	folder_free(folder);
	return err;
}
