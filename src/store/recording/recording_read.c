/* SPDX-License-Identifier: MIT */
/*
 * Reading is arithmetic: the block at an offset by bisection, then pread from
 * its chunk, and fill for what the chunk does not give.  Where the data of a
 * block is, the recording's layout plan says; in another program's recording,
 * what foreign_open() found.
 *
 * Open chunks are kept in a table by number modulo RECORDING_OPEN: sequential
 * readers hit it, a jump opens a file, and there is no list to maintain.
 *
 * Fill for a block is made from headers that are close to it: from the end of
 * the last readable chunk before it in its run, else from the beginning of the
 * next one.  These few packets are read once per filled block, not once per
 * slot.  A stretch behind a block that belongs to no block (recording_place.c)
 * is filled as if the block went on.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/ease.h"
#include "base/log.h"
#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"
#include "store/disk/file.h"

/* ---- chunks ------------------------------------------------------------ */

uint64_t
recording_block_at(const struct recording *rec, struct recording_block *b,
		   uint64_t start)
{
	struct layout_spot spot;

	if (!layout_plan_shared(&rec->plan))
		return 0;
	layout_plan_spot(&rec->plan, start, b->record.number, b->record.bytes,
			 &spot);
	b->at = spot.offset;
	return spot.end;
}

int
recording_where(const struct recording *rec, const struct recording_block *b,
		struct recording_where *w)
{
	struct layout_spot spot;

	if (b->disk < 0 || b->computed || rec->part[b->disk].dir < 0)
		return -ENOENT;
	w->links = rec->foreign ? DISK_LINKS : DISK_NO_LINKS;
	if (rec->foreign)
		return foreign_where(rec->foreign, b->record.number, w->file,
				     &w->offset);
	layout_plan_spot(&rec->plan, 0, b->record.number, b->record.bytes,
			 &spot);
	memcpy(w->file, spot.file, sizeof spot.file);
	w->offset = b->at;
	return 0;
}

int
recording_chunk_open(const struct recording *rec,
		     const struct recording_block *b)
{
	struct layout_spot spot;

	if (b->disk < 0 || b->computed || rec->part[b->disk].dir < 0)
		return -ENOENT;
	layout_plan_spot(&rec->plan, 0, b->record.number, b->record.bytes,
			 &spot);
	return disk_open_at(rec->part[b->disk].dir, spot.file, O_RDONLY,
			    DISK_NO_LINKS);
}

int64_t
recording_chunk_bytes(const struct recording *rec,
		      const struct recording_block *b)
{
	struct layout_spot spot;
	uint64_t bytes;
	struct stat st;

	if (b->disk < 0 || b->computed || rec->part[b->disk].dir < 0)
		return -ENOENT;
	if (rec->foreign)
		return foreign_chunk_bytes(rec->foreign, b->record.number);
	layout_plan_spot(&rec->plan, 0, b->record.number, b->record.bytes,
			 &spot);
	if (file_stat_at(rec->part[b->disk].dir, spot.file, &st,
			 AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!layout_plan_shared(&rec->plan) && !rec->stored)
		return st.st_size;
	bytes = (uint64_t)st.st_size > b->at ? (uint64_t)st.st_size - b->at : 0;
	if (rec->stored) /* the bytes behind may be packets, too */
		bytes = bytes / rec->stored * rec->shape.payload;
	return (int64_t)(bytes < b->record.bytes ? bytes : b->record.bytes);
}

int64_t
recording_chunk_written(const struct recording *rec,
			const struct recording_block *b)
{
	struct layout_spot spot;
	struct stat st;

	if (b->disk < 0 || b->computed || rec->part[b->disk].dir < 0 ||
	    rec->foreign || layout_plan_shared(&rec->plan))
		return 0;
	layout_plan_spot(&rec->plan, 0, b->record.number, b->record.bytes,
			 &spot);
	if (file_stat_at(rec->part[b->disk].dir, spot.file, &st,
			 AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
}

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
	return layout_plan_shared(&rec->plan) ? (uint64_t)b->disk
					      : b->record.number;
}

static int
chunk_open(struct recording *rec, const struct recording_block *b)
{
	uint64_t number = chunk_key(rec, b);
	struct recording_chunk *chunk = &rec->chunk[number % RECORDING_OPEN];

	if (b->computed)
		return -ENOENT;
	if (rec->part[b->disk].hangs)
		return -ETIMEDOUT;
	if (chunk->fd >= 0 && chunk->number == number)
		return chunk->fd;
	if (chunk->fd >= 0)
		file_close(chunk->fd);
	chunk->number = number;
	chunk->offset = 0;
	if (rec->foreign)
		chunk->fd = foreign_chunk(rec->foreign, number, &chunk->offset);
	else
		chunk->fd = recording_chunk_open(rec, b);
	if (chunk->fd < 0)
		return chunk->fd;
	ease_file(chunk->fd);
	return chunk->fd;
}

/* Reads bytes that are in the block from its chunk.  Returns how many there
 * are, or -errno. */
static ssize_t
chunk_read(struct recording *rec, const struct recording_block *b, void *data,
	   size_t bytes, uint64_t at)
{
	struct stride stride = { .prefix = rec->before,
				 .payload = rec->shape.payload };
	size_t done = 0;
	int fd;

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

/* Says it of the first block, which stands for further ones. */
static void
say_once(const struct recording *rec, const struct recording_block *b,
	 uint64_t before, const char *what)
{
	if (!before)
		log_line(LEVEL_WARN, rec->name,
			 "block %" PRIu64 " %s; spate verify %s names them",
			 b->record.number, what, rec->name);
}

/* Gives bytes of a block as its group says.  False: it does not. */
static bool
chunk_heal(struct recording *rec, const struct recording_block *b, void *data,
	   size_t bytes, uint64_t at)
{
	bool had = rec->healing && rec->healed_number == b->record.number;

	if (recording_heal(rec, b, data, bytes, at))
		return false;
	if (!had)
		say_once(rec, b, rec->mended.healed++,
			 "cannot be read and was computed from parity, as "
			 "further ones will be");
	return true;
}

/* Reads as chunk_read(), and what that does not give from the block's group. */
static ssize_t
chunk_read_all(struct recording *rec, const struct recording_block *b,
	       void *data, size_t bytes, uint64_t at)
{
	ssize_t got = chunk_read(rec, b, data, bytes, at);

	if (got >= 0 && (size_t)got < bytes &&
	    chunk_heal(rec, b, (char *)data + got, bytes - (size_t)got,
		       at + (uint64_t)got))
		return (ssize_t)bytes;
	return got;
}

/* Reads the quantum of a block that begins at `at`, and looks at its checksum.
 * Returns its bytes, or fewer, or -errno. */
static ssize_t
quantum_read(struct recording *rec, const struct recording_block *b,
	     const struct sums *s, uint64_t at)
{
	uint64_t left = b->record.bytes - at;
	size_t bytes = left < s->quantum ? (size_t)left : s->quantum;
	uint32_t crc = sums_at(s, (uint32_t)(at / s->quantum));
	ssize_t got;
	uint8_t *to;

	if (rec->quantum_bytes && rec->quantum_number == b->record.number &&
	    rec->quantum_at == at)
		return (ssize_t)rec->quantum_bytes;
	rec->quantum_bytes = 0;
	to = realloc(rec->quantum, bytes);
	if (!to)
		return -ENOMEM;
	rec->quantum = to;
	got = chunk_read_all(rec, b, to, bytes, at);
	if (got != (ssize_t)bytes)
		return got;
	if (crc32c(0, to, bytes) != crc && !chunk_heal(rec, b, to, bytes, at)) {
		say_once(rec, b, rec->mended.damaged,
			 "has a wrong checksum, parity does not make up for "
			 "it, and its bytes are given as they are, as those "
			 "of further ones will be");
		rec->mended.damaged += bytes;
	}
	rec->quantum_number = b->record.number;
	rec->quantum_at = at;
	rec->quantum_bytes = bytes;
	return got;
}

ssize_t
recording_chunk_read(struct recording *rec, const struct recording_block *b,
		     void *data, size_t bytes, uint64_t at)
{
	const struct sums *s = NULL;
	size_t done = 0;

	if (b->disk < 0 || at >= b->record.bytes)
		return 0;
	if (bytes > b->record.bytes - at) /* another block may follow */
		bytes = (size_t)(b->record.bytes - at);
	/* Without parity nothing could mend what they show. */
	if (recording_protects(rec, b->record.number))
		s = recording_sums(rec, b);
	if (!s)
		return chunk_read_all(rec, b, data, bytes, at);
	while (done < bytes) {
		uint64_t from = at + done, in = from % s->quantum;
		ssize_t got = quantum_read(rec, b, s, from - in);
		size_t part;

		if (got < 0)
			return done ? (ssize_t)done : got;
		if ((uint64_t)got <= in)
			break;
		part = (size_t)got - in < bytes - done ? (size_t)got - in
						       : bytes - done;
		memcpy((char *)data + done, rec->quantum + in, part);
		done += part;
		if (in + part < (uint64_t)got)
			break;
	}
	return (ssize_t)done;
}

struct recording_mended
recording_mended(const struct recording *rec)
{
	return rec->mended;
}

int
recording_heap_chunk(struct recording *rec, const struct recording_block *b,
		     const struct format_ops *format, uint64_t most,
		     struct heap_chunk *row)
{
	int fd = chunk_open(rec, b), err;

	if (fd >= 0)
		return heap_chunk_read_some(format, fd, b->bytes, most, row);
	fd = recording_heal_open(rec, b);
	if (fd < 0)
		return fd;
	err = heap_chunk_read_some(format, fd, b->bytes, most, row);
	file_close(fd);
	return err;
}

/* ---- fill -------------------------------------------------------------- */

enum {
	LEARN_SLOTS = 256, /* slots that are read to learn from */
	LEARN_BLOCKS = 64, /* blocks that are tried to find such a chunk */
};

/* Stands in if the format's plugin is not installed: fill is then the
 * pattern. */
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
	struct fault fault;

	if (rec->filling)
		return 0;
	if (recording_format(rec, &format, &fault))
		format = &unknown_format;
	rec->slot = malloc(rec->shape.payload);
	if (!rec->slot)
		return -ENOMEM;
	fill_init(&rec->fill, FILL_INVALID, format, &rec->shape);
	rec->filling = true;
	return 0;
}

/* Learns from the slots of a block from `slot` on.  False if there were
 * none. */
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
		.base = recording_base(rec, b->record.sub, b->record.run),
	};
	ssize_t got;

	some.data = malloc((size_t)LEARN_SLOTS * some.slot_bytes);
	if (!some.data)
		return false;
	memset(present, 0xff, sizeof present);
	if (rec->foreign) /* packets that it made up teach nothing */
		recording_present(rec, b->record.number, slot, LEARN_SLOTS,
				  present);
	got = recording_chunk_read(rec, b, some.data,
				   (size_t)LEARN_SLOTS * some.slot_bytes,
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
	uint64_t slots = b->bytes / rec->shape.payload;
	uint64_t from = slots > LEARN_SLOTS ? slots - LEARN_SLOTS : 0;

	return learn(rec, b, from - from % rec->shape.parts);
}

/* Looks for a chunk of the block's run to learn from, in its file before (way
 * -1) or behind it (way 1). */
static bool
learn_near(struct recording *rec, size_t place, int way)
{
	const struct recording_block *b = recording_at(rec, place), *at;

	for (unsigned i = 0; i < LEARN_BLOCKS; i++) {
		if (place ==
		    rec->from[way < 0 ? b->record.sub : b->record.sub + 1] -
			(way > 0))
			return false;
		place += (size_t)way;
		at = recording_at(rec, place);
		if (at->record.run != b->record.run)
			return false;
		if (at->disk >= 0 && way < 0 && learn_end(rec, at))
			return true;
		if (at->disk >= 0 && way > 0 && learn(rec, at, 0))
			return true;
	}
	return false;
}

/* Learns the frames per second, which takes packets of two seconds.  Tried
 * once. */
static void
learn_fps(struct recording *rec, const struct recording_block *b)
{
	unsigned sub = b->record.sub, looks = 0;

	rec->fps_sought = true;
	for (size_t i = rec->from[sub];
	     i < rec->from[sub + 1] && looks < LEARN_BLOCKS; i++) {
		const struct recording_block *at = recording_at(rec, i);

		if (at->disk < 0 || at->record.run != b->record.run)
			continue;
		learn(rec, at, 0);
		learn_end(rec, at);
		if (rec->fill.fps)
			return;
		looks++;
	}
}

static int
fill_prepare(struct recording *rec, size_t place)
{
	const struct recording_block *b = recording_at(rec, place);
	uint32_t run = b->record.run;
	int err = fill_ready(rec);

	if (err || rec->filled == b)
		return err;
	fill_begin(&rec->fill, run, recording_base(rec, b->record.sub, run));
	/* If the block's chunk is only short, its own beginning is nearest. */
	if (!learn(rec, b, 0) && !learn_near(rec, place, -1))
		learn_near(rec, place, 1);
	if (!rec->fill.fps && rec->fill.timed && !rec->fps_sought)
		learn_fps(rec, b);
	rec->filled = b;
	return 0;
}

enum fill_kind
recording_fill_kind(const struct recording *rec)
{
	const char *text =
	    json_string_value(json_object_get(rec->head, "fill"));

	if (rec->shape.store != HEAP_NONE)
		return FILL_ZERO;
	return text && !strcmp(text, "zero") ? FILL_ZERO : FILL_INVALID;
}

int
recording_fill_as(struct recording *rec, size_t place, enum fill_kind kind,
		  void *data, size_t bytes, uint64_t at)
{
	const struct recording_block *b = recording_at(rec, place);
	uint32_t payload = rec->shape.payload;
	uint8_t *to = data;
	int err;

	if (kind == FILL_ZERO) {
		memset(data, 0, bytes);
		return 0;
	}
	err = fill_prepare(rec, place);
	while (bytes && !err) {
		uint64_t slot = at / payload;
		uint32_t in = (uint32_t)(at % payload);
		size_t part = payload - in < bytes ? payload - in : bytes;

		fill_model(&rec->fill, rec->slot, b->record.first + slot);
		memcpy(to, rec->slot + in, part);
		to += part;
		bytes -= part;
		at += part;
	}
	return err;
}

/* Fills bytes from `at` on of the block at a position of the order, or of the
 * stretch behind it, as it was recorded.  0 or -errno. */
static int
fill_at(struct recording *rec, size_t place, void *data, size_t bytes,
	uint64_t at)
{
	return recording_fill_as(rec, place, recording_fill_kind(rec), data,
				 bytes, at);
}

void
recording_fill_finish(struct recording *rec)
{
	if (rec->filling)
		fill_finish(&rec->fill);
	free(rec->slot);
	rec->slot = NULL;
	rec->filling = false;
}

/* ---- bytes ------------------------------------------------------------- */

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
	return fill_at(rec, place, data + got, bytes - (size_t)got,
		       at + (uint64_t)got);
}

/* The block, or stretch behind a block, at an offset of the file. */
struct segment {
	size_t place;
	/* bytes from the block's beginning; bytes to the end of block or
	 * stretch */
	uint64_t at, left;
	bool block; /* the offset is in the block, not behind it */
};

static struct segment
find_segment(const struct recording *rec, uint64_t offset)
{
	size_t place = find_place(rec, offset);
	const struct recording_block *b = recording_at(rec, place);
	uint64_t at = offset - b->offset, end = b->bytes;

	if (at >= end)
		end = place + 1 < rec->from[rec->selected + 1]
			  ? recording_at(rec, place + 1)->offset - b->offset
			  : rec->sub[rec->selected].bytes - b->offset;
	return (struct segment){ place, at, end - at, at < b->bytes };
}

/* Reads as much as is in one block or stretch.  Returns its length, or
 * -errno. */
static ssize_t
read_segment(struct recording *rec, void *data, size_t bytes, uint64_t offset,
	     uint64_t *filled)
{
	struct segment seg = find_segment(rec, offset);
	int err;

	if (bytes > seg.left)
		bytes = (size_t)seg.left;
	if (seg.block) {
		err = read_block(rec, seg.place, data, bytes, seg.at, filled);
	} else {
		err = fill_at(rec, seg.place, data, bytes, seg.at);
		if (filled && !err)
			*filled += bytes;
	}
	return err ? err : (ssize_t)bytes;
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
		struct segment seg = find_segment(rec, offset);
		size_t n = bytes < seg.left ? bytes : (size_t)seg.left;

		if (!n)
			return -EINVAL;
		err = fill_at(rec, seg.place, to, n, seg.at);
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
		got = read_segment(rec, (uint8_t *)data + done, bytes - done,
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
			file_close(rec->chunk[i].fd);
		rec->chunk[i].fd = -1;
	}
	free(rec->healed);
	rec->healed = NULL;
	rec->healing = false;
	free(rec->quantum);
	rec->quantum = NULL;
	rec->quantum_bytes = 0;
	recording_fill_finish(rec);
}

/* ---- ranges ------------------------------------------------------------ */

enum { APART_S = 10 }; /* substreams are at most so far apart */

static bool
is_before(const struct recording_block *b, const struct recording_range *r)
{
	const struct index_record *k = &b->record;

	return (k->last_ns && k->last_ns < r->from_ns) ||
	       b->offset + b->bytes <= r->from_byte;
}

static bool
is_behind(const struct recording_block *b, const struct recording_range *r)
{
	return (r->to_ns && b->record.first_ns >= r->to_ns) ||
	       (r->to_byte && b->offset >= r->to_byte);
}

/* True if the block is so far behind the range that nothing more of it will
 * come. */
static bool
is_over(const struct recording *rec, const struct recording_block *b,
	const struct recording_range *r)
{
	int64_t apart = rec->facts.subs > 1 ? APART_S * NS_SECOND : 0;

	return (r->to_ns && b->record.first_ns >= r->to_ns + apart) ||
	       (r->to_byte && rec->facts.subs == 1 && b->offset >= r->to_byte);
}

/* All blocks are looked at: there are few of them for the data they have, and
 * their times need not ascend.  Substreams have clocks of their own, absent
 * blocks have no time, and a run may begin before the one before it has
 * ended. */
void
recording_range(const struct recording *rec, struct recording_range *r)
{
	bool begun = false;

	r->first = 0;
	r->end = rec->blocks;
	r->over = false;
	if (!r->from_ns && !r->to_ns && !r->from_byte && !r->to_byte)
		return;
	r->first = r->end;
	for (size_t i = 0; i < rec->blocks; i++) {
		const struct recording_block *b = &rec->block[i];

		if ((b->record.kind != INDEX_BLOCK &&
		     b->record.kind != INDEX_GAP) ||
		    (r->sub >= 0 && b->record.sub != r->sub) || is_before(b, r))
			continue;
		r->over |= is_over(rec, b, r);
		if (is_behind(b, r))
			continue;
		if (!begun)
			r->first = i;
		begun = true;
		r->end = i + 1;
	}
	if (!begun)
		r->first = r->end;
}
