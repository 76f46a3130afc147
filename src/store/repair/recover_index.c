/* SPDX-License-Identifier: MIT */
/*
 * Writes lines of metadata and indexes.  In a dry run nothing is written, and
 * the index's own state in memory is used.  An index that loses records is
 * written anew beside the old one, and replaces it once it is durable and
 * locked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/repair/recover_priv.h"
#include "store/disk/file.h"

static int
put_line(int fd, const json_t *line, uint64_t *offset)
{
	char *text = json_dumps(line, JSON_COMPACT);
	size_t length;
	int err;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	text[length++] = '\n'; /* replaces the terminating 0 */
	err = write_whole(fd, text, length, *offset);
	*offset += length;
	free(text);
	return err;
}

/* meta_bytes ends at the last whole line; a torn one behind it is cut off. */
int
rescue_note(const struct rescue *r, unsigned disk, const json_t *line)
{
	struct recording_part *part = &r->rec->part[disk];
	char file[LAYOUT_FILE];
	int fd, err = 0;

	if (r->dry)
		return 0;
	fd = rescue_open(r, disk, layout_meta(file, r->rec->name),
			 O_WRONLY | O_CREAT);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)part->meta_bytes) < 0)
		err = -errno;
	if (!err && !part->meta_bytes)
		err = put_line(fd, r->rec->head, &part->meta_bytes);
	if (!err)
		err = put_line(fd, line, &part->meta_bytes);
	if (!err && fdatasync(fd) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Locks an index.  Tries for 200 ms, as readers hold the lock only for a
 * moment. */
static int
lock(int fd)
{
	enum { TRIES = 20, WAIT_US = 10000 };

	for (int i = 0; i < TRIES; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		usleep(WAIT_US);
	}
	return -EBUSY;
}

/* True if a writer is just creating its folder: only the index's temporary name
 * exists, and it is locked. */
static bool
is_begun(const struct rescue *r, unsigned disk)
{
	char file[LAYOUT_FILE];
	int fd = rescue_open(r, disk, layout_index_new(file, r->rec->name),
			     O_RDONLY);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

/*
 * Opens and locks the index.  In a dry run the folder stands in for a missing
 * one.  With args->look nothing is locked: the lock state was seen when the
 * recording was opened.
 */
int
rescue_lock(struct rescue *r, unsigned disk)
{
	char file[LAYOUT_FILE];
	int fd;

	if ((r->args->look && r->rec->part[disk].locked) || is_begun(r, disk))
		return -EBUSY;
	fd = rescue_open(r, disk, layout_index(file, r->rec->name),
			 r->dry ? O_RDONLY : O_RDWR | O_CREAT);
	if (fd == -ENOENT && r->dry)
		fd = rescue_open(r, disk, ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	r->index[disk] = fd;
	return r->args->look ? 0 : lock(fd);
}

/* Overwrites an end record, which is written again at the end. */
int
rescue_add(struct rescue *r, unsigned disk, const struct index_record *record)
{
	struct recording_part *part = &r->rec->part[disk];
	uint64_t end = part->index_bytes;
	uint8_t raw[INDEX_BYTES];
	int err;

	if (r->dry)
		return 0;
	if (part->ended) {
		end -= INDEX_BYTES;
		if (ftruncate(r->index[disk], (off_t)end) < 0)
			return -errno;
		part->ended = false;
	}
	index_pack(raw, record);
	err = write_whole(r->index[disk], raw, sizeof raw, end);
	if (!err && fdatasync(r->index[disk]) < 0)
		err = -errno;
	if (!err)
		part->index_bytes = end + sizeof raw;
	return err;
}

/* ---- writing an index anew ----------------------------------------------- */

static int
write_records(int fd, const struct recording_part *part)
{
	uint8_t raw[INDEX_BYTES];
	int err = 0;

	for (size_t i = 0; i < part->records && !err; i++) {
		index_pack(raw, &part->record[i]);
		err = write_whole(fd, raw, sizeof raw, i * INDEX_BYTES);
	}
	if (!err && fdatasync(fd) < 0)
		err = -errno;
	return err ? err : lock(fd);
}

static int
replace(struct rescue *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	char file[LAYOUT_FILE], fresh[LAYOUT_FILE];
	int fd, err;

	layout_index(file, r->rec->name);
	layout_index_new(fresh, r->rec->name);
	fd = rescue_open(r, disk, fresh, O_RDWR | O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	err = write_records(fd, part);
	if (!err && (renameat(part->dir, fresh, part->dir, file) < 0 ||
		     fsync(part->dir) < 0))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	close(r->index[disk]);
	r->index[disk] = fd;
	return 0;
}

int
rescue_rewrite(struct rescue *r, unsigned disk)
{
	struct recording_part *part = &r->rec->part[disk];
	int err = r->dry ? 0 : replace(r, disk);

	if (err)
		return err;
	part->index_bytes = part->records * INDEX_BYTES;
	part->ended = false;
	return 0;
}
