/* SPDX-License-Identifier: MIT */
/*
 * The end of a file that all blocks of a disk share, once its blocks have their
 * records.  The place of a block follows from those before it, so every block
 * found has one, even if another disk has it too, and the file is cut behind the
 * last.  Data of a packet or more that nobody can place are not cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/file.h"
#include "store/finish/recover_priv.h"

int
recover_chunk_open(const struct recovery *r, unsigned disk, uint64_t number,
		   int flags)
{
	struct layout_spot spot;

	layout_plan_spot(&r->rec->plan, 0, number, 0, &spot);
	return recover_open(r, disk, spot.file, flags | O_NOFOLLOW);
}

static int
open_data(const struct recovery *r, unsigned disk, int flags)
{
	return recover_chunk_open(r, disk, 0, flags);
}

/*
 * Goes through the blocks that got a record, and gives each of Mark6 the header
 * that it lost.  *end: the offset behind them; *last: the last one.
 */
static int
take_end(const struct recovery *r, unsigned disk, int fd, uint64_t *end,
	 const struct orphan **last)
{
	struct layout_spot spot;
	int err = 0;

	*end = r->left[disk].end;
	for (size_t i = 0; i < r->orphans && !err; i++) {
		const struct orphan *o = &r->orphan[i];

		if (o->disk != disk || !o->taken)
			continue;
		layout_plan_spot(&r->rec->plan, *end, o->number, o->kept,
				 &spot);
		if (o->left.headless && !r->dry)
			err = write_whole(fd, spot.prefix, spot.prefix_bytes,
					  spot.start);
		*end = spot.end;
		*last = o;
	}
	return err;
}

/* Mark6: has the header of the last block state its real length. */
static int
shorten(const struct recovery *r, int fd, const struct orphan *last,
	uint64_t *end)
{
	struct layout_spot spot;

	layout_plan_spot(&r->rec->plan, last->left.start, last->number,
			 last->kept, &spot);
	if (!spot.prefix_bytes || last->kept >= spot.room)
		return 0;
	sg_block_write(spot.prefix, (uint32_t)last->number,
		       (uint32_t)last->kept);
	*end = spot.offset + last->kept;
	return write_whole(fd, spot.prefix, spot.prefix_bytes, spot.start);
}

/* Returns the offset behind everything that has a record now, and what was
 * reserved for it, or written behind its last packet as fill. */
static uint64_t
told_end(const struct recovery *r, unsigned disk, uint64_t end)
{
	for (size_t i = 0; i < r->orphans; i++) {
		const struct orphan *o = &r->orphan[i];

		if (o->disk == disk && o->taken && o->left.end > end)
			end = o->left.end;
	}
	return end;
}

/* True if the file has data of a packet or more that nobody can place. */
static bool
is_untold(const struct recovery *r, unsigned disk, int fd, uint64_t end)
{
	uint64_t told = told_end(r, disk, end);
	struct stat st;

	if (file_stat(fd, &st) < 0 ||
	    (uint64_t)st.st_size < told + r->rec->shape.payload ||
	    !file_has_data(fd, told))
		return false;
	recover_say(r,
		    "%" PRIu64
		    " bytes behind the last block on %s stay, but are "
		    "in no export: the metadata no longer names their blocks",
		    (uint64_t)st.st_size - told, r->disks->disk[disk].path);
	return true;
}

/*
 * Cuts the file at `end`.  A shorter file lost indexed data, which reads as
 * fill, and is left as it is.  Cutting a file to its own length frees space
 * reserved behind.
 */
static int
cut(struct recovery *r, unsigned disk, int fd, uint64_t end)
{
	struct stat st;

	if (file_stat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < end)
		return 0;
	if ((uint64_t)st.st_size > end) {
		r->report->cut += (uint64_t)st.st_size - end;
		recover_say(
		    r, "cut %" PRIu64 " bytes behind the last block on %s",
		    (uint64_t)st.st_size - end, r->disks->disk[disk].path);
	}
	if (r->dry)
		return 0;
	if (file_cut(fd, (off_t)end) < 0 || file_sync_data(fd) < 0)
		return -errno;
	return 0;
}

int
recover_data_end(struct recovery *r, unsigned disk)
{
	const struct orphan *last = NULL;
	uint64_t end;
	int fd, err;

	fd = open_data(r, disk, r->dry ? O_RDONLY : O_RDWR);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = take_end(r, disk, fd, &end, &last);
	if (!err && last && !r->dry)
		err = shorten(r, fd, last, &end);
	if (!err && !is_untold(r, disk, fd, end))
		err = cut(r, disk, fd, end);
	file_close(fd);
	return err;
}
