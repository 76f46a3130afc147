/* SPDX-License-Identifier: MIT */
/*
 * Reading is arithmetic: the block of an offset by bisection, the rest of a
 * chunk by pread, and fill for what no chunk gives.
 *
 * Fill for a block is made from headers that stand close to it: the end of
 * the last chunk before it in the run that can be read, else the beginning
 * of the next.  These few packets are read once for a block that is filled,
 * not once for a slot.
 *
 * Open chunks are kept at their number modulo 64: whoever reads in order
 * hits, whoever jumps opens a file for a jump, and there is no list to keep.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/recording_priv.h"

enum {
	LEARN_SLOTS = 256, /* read to know the headers around */
	LEARN_BLOCKS = 64, /* looked at to find such a chunk */
};

/* Errors that mean: this chunk cannot be read, on this disk, today. */
static bool
is_lost(int err)
{
	switch (-err) {
	case ENOENT:
	case ENOTDIR:
	case EIO:
	case ENXIO:
	case ENODEV:
	case ESTALE:
	case EUCLEAN:
	case EBADMSG: return true;
	default: return false;
	}
}

static int
chunk_open(struct recording *rec, const struct recording_block *b)
{
	uint64_t number = b->record.number;
	struct recording_chunk *chunk = &rec->chunk[number % RECORDING_OPEN];
	char file[LAYOUT_FILE];

	if (chunk->fd >= 0 && chunk->number == number)
		return chunk->fd;
	if (chunk->fd >= 0)
		close(chunk->fd);
	chunk->number = number;
	chunk->fd =
	    openat(rec->part[b->disk].dir,
		   layout_chunk(file, rec->name, number), O_RDONLY | O_CLOEXEC);
	return chunk->fd < 0 ? -errno : chunk->fd;
}

/* Bytes of a block that its chunk gives, which may be fewer, or -errno. */
static ssize_t
chunk_read(struct recording *rec, const struct recording_block *b, void *data,
	   size_t bytes, uint64_t at)
{
	size_t done = 0;
	int fd;

	if (b->disk < 0)
		return 0;
	fd = chunk_open(rec, b);
	if (fd < 0)
		return is_lost(fd) ? 0 : fd;
	while (done < bytes) {
		ssize_t got = pread(fd, (char *)data + done, bytes - done,
				    (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !is_lost(-errno))
			return -errno;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Stands in where the format's plugin is not installed: all is pattern. */
static void
unknown_parse(const struct format_shape *shape, const void *prefix,
	      const void *payload, struct format_packet *packet)
{
	(void)shape;
	(void)prefix;
	(void)payload;
	*packet = (struct format_packet){ 0 };
}

static const struct format_ops unknown_format = { .parse = unknown_parse };

static int
fill_ready(struct recording *rec)
{
	const struct format_ops *format = &unknown_format;
	const char *text;
	enum fill_kind kind = FILL_INVALID;
	struct fault fault;
	int err;

	if (rec->filling)
		return 0;
	text = json_string_value(json_object_get(rec->head, "fill"));
	if (text && !strcmp(text, "zero"))
		kind = FILL_ZERO;
	else if (recording_format(rec, &format, &fault))
		format = &unknown_format;
	rec->slot = malloc(rec->shape.payload);
	if (!rec->slot)
		return -ENOMEM;
	err = fill_init(&rec->fill, kind, format, &rec->shape);
	if (err) {
		free(rec->slot);
		rec->slot = NULL;
		return err;
	}
	rec->filling = true;
	return 0;
}

/* Learns from the slots of a block from `slot` on; were there any? */
static bool
learn(struct recording *rec, const struct recording_block *b, uint64_t slot)
{
	uint64_t present[LEARN_SLOTS / 64];
	struct block some = {
		.present = present,
		.slots = LEARN_SLOTS,
		.slot_bytes = rec->shape.payload,
		.run = b->record.run,
		.first = b->record.first + slot,
		.base = recording_base(rec, b->record.run),
	};
	ssize_t got;

	some.data = malloc((size_t)LEARN_SLOTS * some.slot_bytes);
	if (!some.data)
		return false;
	memset(present, 0xff, sizeof present);
	got =
	    chunk_read(rec, b, some.data, (size_t)LEARN_SLOTS * some.slot_bytes,
		       slot * some.slot_bytes);
	if (got > 0)
		some.used = some.filled = (uint32_t)got / some.slot_bytes;
	if (some.used)
		fill_learn(&rec->fill, &some);
	free(some.data);
	return some.used > 0;
}

static bool
learn_end(struct recording *rec, const struct recording_block *b)
{
	uint64_t slots = b->record.bytes / rec->shape.payload;
	uint64_t from = slots > LEARN_SLOTS ? slots - LEARN_SLOTS : 0;

	return learn(rec, b, from - from % rec->shape.parts);
}

/* Looks from a block outwards, one way, for a chunk of its run. */
static bool
learn_near(struct recording *rec, const struct recording_block *b, int way)
{
	const struct recording_block *end = rec->block + rec->blocks;
	const struct recording_block *at = b;

	for (unsigned i = 0; i < LEARN_BLOCKS; i++) {
		at += way;
		if (at < rec->block || at >= end ||
		    at->record.run != b->record.run)
			return false;
		if (at->disk >= 0 && way < 0 && learn_end(rec, at))
			return true;
		if (at->disk >= 0 && way > 0 && learn(rec, at, 0))
			return true;
	}
	return false;
}

/* Frames per second take packets of two seconds: looked for once. */
static void
learn_fps(struct recording *rec, uint32_t run)
{
	unsigned looks = 0;

	rec->fps_sought = true;
	for (size_t i = 0; i < rec->blocks && looks < LEARN_BLOCKS; i++) {
		const struct recording_block *at = &rec->block[i];

		if (at->disk < 0 || at->record.run != run)
			continue;
		learn(rec, at, 0);
		learn_end(rec, at);
		if (rec->fill.fps)
			return;
		looks++;
	}
}

static int
fill_prepare(struct recording *rec, const struct recording_block *b)
{
	uint32_t run = b->record.run;
	int err = fill_ready(rec);

	if (err || rec->filled == b)
		return err;
	fill_begin(&rec->fill, run, recording_base(rec, run));
	/* Its own beginning, where the chunk is only short, is nearest. */
	if (!learn(rec, b, 0) && !learn_near(rec, b, -1))
		learn_near(rec, b, 1);
	if (!rec->fill.fps && rec->fill.timed && !rec->fps_sought)
		learn_fps(rec, run);
	rec->filled = b;
	return 0;
}

static int
fill_range(struct recording *rec, const struct recording_block *b,
	   uint8_t *data, size_t bytes, uint64_t at)
{
	uint32_t payload = rec->shape.payload;
	int err = fill_prepare(rec, b);

	while (bytes && !err) {
		uint64_t slot = at / payload;
		uint32_t in = (uint32_t)(at % payload);
		size_t part = payload - in < bytes ? payload - in : bytes;

		fill_model(&rec->fill, rec->slot, b->record.first + slot);
		memcpy(data, rec->slot + in, part);
		data += part;
		bytes -= part;
		at += part;
	}
	return err;
}

/* The block of an offset below the visible end. */
static const struct recording_block *
find_block(const struct recording *rec, uint64_t offset)
{
	size_t low = 0, high = rec->blocks;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rec->block[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &rec->block[low];
}

/* Reads within one block; all that was asked for, or -errno. */
static int
read_block(struct recording *rec, const struct recording_block *b,
	   uint8_t *data, size_t bytes, uint64_t at, uint64_t *filled)
{
	ssize_t got = chunk_read(rec, b, data, bytes, at);

	if (got < 0)
		return (int)got;
	if ((size_t)got == bytes)
		return 0;
	if (filled)
		*filled += bytes - (size_t)got;
	return fill_range(rec, b, data + got, bytes - (size_t)got,
			  at + (uint64_t)got);
}

ssize_t
recording_read(struct recording *rec, void *data, size_t bytes, uint64_t offset,
	       uint64_t *filled)
{
	size_t done = 0;
	int err;

	while (done < bytes && offset < rec->facts.bytes) {
		const struct recording_block *b = find_block(rec, offset);
		uint64_t at = offset - b->offset;
		size_t part = bytes - done;

		if (part > b->record.bytes - at)
			part = (size_t)(b->record.bytes - at);
		err = read_block(rec, b, (uint8_t *)data + done, part, at,
				 filled);
		if (err)
			return done ? (ssize_t)done : err;
		done += part;
		offset += part;
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
	if (rec->filling)
		fill_finish(&rec->fill);
	free(rec->slot);
	rec->slot = NULL;
	rec->filling = false;
}
