/* SPDX-License-Identifier: MIT */
/*
 * Reading is arithmetic: the block at an offset by bisection, then pread from
 * its chunk, and fill for what the chunk does not give.
 *
 * Open chunks are kept in a table by number modulo RECORDING_OPEN: sequential
 * readers hit it, a jump opens a file, and there is no list to maintain.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/ease.h"
#include "store/recording/foreign.h"
#include "store/recording/recording_priv.h"

bool
recording_lost_chunk(int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
	case ELOOP:
	case EXDEV: /* a link that leaves the disk */
	case EISDIR:
	case ESPIPE: /* a pipe in its place */
	case EIO:
	case ETIMEDOUT: /* a disk that hangs */
	case ENXIO:
	case ENODEV:
	case ESTALE:
	case EUCLEAN:
	case EBADMSG: return true;
	default: return false;
	}
}

/* Key of a block's open file: its number; its disk, if all blocks of a disk
 * share a file. */
static uint64_t
chunk_key(const struct recording *rec, const struct recording_block *b)
{
	return layout_map_shared(&rec->map) ? (uint64_t)b->disk
					    : b->record.number;
}

static int
chunk_open(struct recording *rec, const struct recording_block *b)
{
	uint64_t number = chunk_key(rec, b);
	struct recording_chunk *chunk = &rec->chunk[number % RECORDING_OPEN];

	if (rec->part[b->disk].hangs)
		return -ETIMEDOUT;
	if (chunk->fd >= 0 && chunk->number == number)
		return chunk->fd;
	if (chunk->fd >= 0)
		close(chunk->fd);
	chunk->number = number;
	chunk->offset = 0;
	if (rec->foreign)
		chunk->fd = foreign_chunk(rec, number, &chunk->offset);
	else
		chunk->fd = recording_chunk_open(rec, b);
	if (chunk->fd < 0)
		return chunk->fd;
	ease_file(chunk->fd);
	return chunk->fd;
}

ssize_t
recording_chunk_read(struct recording *rec, const struct recording_block *b,
		     void *data, size_t bytes, uint64_t at)
{
	struct stride stride = { .prefix = rec->before,
				 .payload = rec->shape.payload };
	size_t done = 0;
	int fd;

	if (b->disk < 0 || at >= b->record.bytes)
		return 0;
	if (bytes > b->record.bytes - at) /* another block may follow */
		bytes = (size_t)(b->record.bytes - at);
	fd = chunk_open(rec, b);
	if (fd < 0)
		return recording_lost_chunk(fd) ? 0 : fd;
	stride.offset =
	    b->at + rec->chunk[chunk_key(rec, b) % RECORDING_OPEN].offset;
	while (done < bytes) {
		ssize_t got = stride_read(fd, &stride, (char *)data + done,
					  bytes - done, at + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !recording_lost_chunk(-errno))
			return -errno;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int
recording_row(struct recording *rec, const struct recording_block *b,
	      const struct format_ops *format, uint64_t most, struct row *row)
{
	int fd = chunk_open(rec, b);

	return fd < 0 ? fd : row_look_some(format, fd, b->bytes, most, row);
}

/* Position in the order of the block at an offset below the file's end. */
static size_t
find_place(const struct recording *rec, uint64_t offset)
{
	size_t low = rec->from[rec->selected];
	size_t high = rec->from[rec->selected + 1];

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (recording_at(rec, middle)->offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Reads within one block.  0 if all bytes were read or filled, or -errno. */
static int
read_block(struct recording *rec, size_t place, uint8_t *data, size_t bytes,
	   uint64_t at, uint64_t *filled)
{
	ssize_t got = recording_chunk_read(rec, recording_at(rec, place), data,
					   bytes, at);

	if (got < 0)
		return (int)got;
	if ((size_t)got == bytes)
		return 0;
	if (rec->shape.store == HEAP_ROW)
		return -EIO;
	if (filled)
		*filled += bytes - (size_t)got;
	return recording_fill(rec, place, data + got, bytes - (size_t)got,
			      at + (uint64_t)got);
}

/* The block, or stretch behind a block, at an offset of the file. */
struct part {
	size_t place;
	/* bytes from the block's beginning; bytes to the end of block or
	 * stretch */
	uint64_t at, left;
	bool block; /* the offset is in the block, not behind it */
};

static struct part
find_part(const struct recording *rec, uint64_t offset)
{
	size_t place = find_place(rec, offset);
	const struct recording_block *b = recording_at(rec, place);
	uint64_t at = offset - b->offset, end = b->bytes;

	if (at >= end)
		end = place + 1 < rec->from[rec->selected + 1]
			  ? recording_at(rec, place + 1)->offset - b->offset
			  : rec->sub[rec->selected].bytes - b->offset;
	return (struct part){ place, at, end - at, at < b->bytes };
}

/* Reads as much as is in one block or stretch.  Returns its length, or
 * -errno. */
static ssize_t
read_part(struct recording *rec, void *data, size_t bytes, uint64_t offset,
	  uint64_t *filled)
{
	struct part part = find_part(rec, offset);
	int err;

	if (bytes > part.left)
		bytes = (size_t)part.left;
	if (part.block) {
		err = read_block(rec, part.place, data, bytes, part.at, filled);
	} else {
		err = recording_fill(rec, part.place, data, bytes, part.at);
		if (filled && !err)
			*filled += bytes;
	}
	return err ? err : (ssize_t)bytes;
}

int
recording_find(const struct recording *rec, uint64_t offset,
	       struct recording_spot *spot)
{
	struct part part;

	if (rec->selected >= rec->facts.subs ||
	    offset >= rec->sub[rec->selected].bytes)
		return -ENODATA;
	part = find_part(rec, offset);
	*spot = (struct recording_spot){
		.block = recording_at(rec, part.place),
		.at = part.at,
		.left = part.left,
	};
	spot->chunk = part.block && spot->block->record.kind == INDEX_BLOCK;
	return 0;
}

int
recording_fill_bytes(struct recording *rec, void *data, size_t bytes,
		     uint64_t offset)
{
	uint8_t *to = data;
	int err = 0;

	if (rec->shape.store == HEAP_ROW || rec->selected >= rec->facts.subs)
		return -ENOTSUP;
	while (bytes && !err) {
		struct part part = find_part(rec, offset);
		size_t n = bytes < part.left ? bytes : (size_t)part.left;

		if (!n)
			return -EINVAL;
		err = recording_fill(rec, part.place, to, n, part.at);
		to += n;
		bytes -= n;
		offset += n;
	}
	return err;
}

void
recording_select(struct recording *rec, unsigned sub)
{
	rec->selected = sub;
}

ssize_t
recording_read(struct recording *rec, void *data, size_t bytes, uint64_t offset,
	       uint64_t *filled)
{
	uint64_t end = 0;
	size_t done = 0;
	ssize_t got;

	if (rec->selected < rec->facts.subs)
		end = rec->sub[rec->selected].bytes;
	while (done < bytes && offset < end) {
		got = read_part(rec, (uint8_t *)data + done, bytes - done,
				offset, filled);
		if (got < 0)
			return done ? (ssize_t)done : got;
		done += (size_t)got;
		offset += (uint64_t)got;
	}
	return (ssize_t)done;
}

void
recording_read_finish(struct recording *rec)
{
	for (unsigned i = 0; i < RECORDING_OPEN; i++) {
		if (rec->chunk[i].fd >= 0)
			close(rec->chunk[i].fd);
		rec->chunk[i].fd = -1;
	}
	recording_fill_finish(rec);
}
