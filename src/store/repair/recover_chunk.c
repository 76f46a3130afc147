/* SPDX-License-Identifier: MIT */
/*
 * A chunk without a record is nothing but slots, so its record is made from
 * their contents.
 *
 * present   The writer fills every slot before writing, so a slot is missing
 *           if it is fill (its data is the pattern throughout), or if it was
 *           never written (its header makes no sense, or a part of it is a
 *           hole of the file: several requests of a chunk are in flight, and
 *           a crash may lose any of them).  A frame that its sender marked
 *           invalid, with other data, counts as present.  Fill "zero" is
 *           recognised only in formats with a header.
 * first     The packets' own counter if the format has one, else as
 *           recover_place.c finds it.
 * times     The data's own, else those of the file.
 *
 * Everything behind the last slot with a packet is cut off: the torn end of a
 * write, and the padding to whole pages of a block that closed early.  Chunks
 * of heaps are handled by recover_heaps.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ease.h"
#include "store/record/meta.h"
#include "store/repair/recover_priv.h"

/* State of looking through a chunk. */
struct look {
	struct rescue *r;
	int fd;
	uint64_t at;	/* offset of slot 0 in the file */
	uint32_t slots; /* whole ones in the file */
	uint32_t used;	/* slots up to the last with a packet */
	uint32_t present_n;
	uint64_t *present; /* one bit per slot; before it is read: wholly
			      written */
	uint8_t *payload;
	bool timed, counted;
	int64_t first_ns, last_ns;
	uint64_t sequence; /* absolute, of slot 0, if counted */
};

bool
rescue_is_all(const uint8_t *data, size_t bytes, uint32_t word)
{
	uint32_t value;

	for (size_t i = 0; i + sizeof value <= bytes; i += sizeof value) {
		memcpy(&value, data + i, sizeof value);
		if (value != word)
			return false;
	}
	return true;
}

bool
rescue_is_written(int fd, uint64_t at, uint64_t bytes)
{
	off_t hole = lseek(fd, (off_t)at, SEEK_HOLE);

	return hole < 0 || (uint64_t)hole >= at + bytes;
}

static bool
is_present(const struct look *l, uint32_t slot, struct format_packet *p)
{
	const struct format_shape *shape = &l->r->rec->shape;
	bool headed = slot % shape->parts == 0;
	uint32_t header = headed ? shape->header : 0;

	*p = (struct format_packet){ 0 };
	if (headed) {
		l->r->format->parse(shape, NULL, l->payload, p);
		if (!(p->has & FORMAT_READABLE))
			return false;
	} else if (rescue_is_all(l->payload, shape->payload, 0)) {
		return false;
	}
	return header + sizeof(uint32_t) > shape->payload ||
	       !rescue_is_all(l->payload + header, shape->payload - header,
			      htole32(FILL_PATTERN));
}

static void
take_packet(struct look *l, uint32_t slot, const struct format_packet *p)
{
	const struct format_shape *shape = &l->r->rec->shape;

	l->present_n++;
	l->used = slot + 1;
	if (p->has & FORMAT_TIME) {
		l->last_ns = format_time_ns(shape, p);
		if (!l->timed)
			l->first_ns = l->last_ns;
		l->timed = true;
	}
	if (p->has & FORMAT_SEQUENCE && !l->counted) {
		l->sequence = p->sequence - slot;
		l->counted = true;
	}
}

/* Finds the holes of all slots before any slot is read: see
 * rescue_is_written(). */
static void
look_for_holes(struct look *l)
{
	uint32_t payload = l->r->rec->shape.payload;

	for (uint32_t slot = 0; slot < l->slots; slot++) {
		if (rescue_is_written(l->fd, l->at + (uint64_t)slot * payload,
				      payload))
			l->present[slot / 64] |= UINT64_C(1) << slot % 64;
	}
}

static int
look_through(struct look *l)
{
	uint32_t payload = l->r->rec->shape.payload;

	look_for_holes(l);
	for (uint32_t slot = 0; slot < l->slots; slot++) {
		uint64_t bit = UINT64_C(1) << slot % 64;
		struct format_packet p;
		ssize_t got;

		if (!(l->present[slot / 64] & bit))
			continue;
		got = pread(l->fd, l->payload, payload,
			    (off_t)(l->at + (uint64_t)slot * payload));
		if (got < 0)
			return -errno;
		if (got == (ssize_t)payload && is_present(l, slot, &p))
			take_packet(l, slot, &p);
		else
			l->present[slot / 64] &= ~bit;
	}
	return 0;
}

/* Sets the first sequence from the packets, which know it better than the
 * neighbouring blocks. */
static void
count(const struct look *l, struct index_record *record)
{
	const struct recording *rec = l->r->rec;
	uint64_t base = recording_base(rec, record->sub, record->run);

	if (!l->counted || !base)
		return;
	/*
	 * A counter of 32 bits wraps: take the value nearest to the estimate.
	 */
	if (rec->shape.sequence_bits == 32)
		record->first +=
		    (uint64_t)(int32_t)(uint32_t)(l->sequence - base -
						  record->first);
	else if (l->sequence >= base)
		record->first = l->sequence - base;
}

/* Returns the end of the block in slots, rounded up to whole frames. */
static uint32_t
whole_frames(const struct look *l)
{
	uint32_t parts = l->r->rec->shape.parts;
	uint32_t end = (l->used + parts - 1) / parts * parts;

	return end < l->slots ? end : l->slots;
}

static int
note_holes(const struct look *l, const struct orphan *o)
{
	struct block b = {
		.present = l->present,
		.slots = l->slots,
		.used = l->used,
		.number = o->number,
	};
	json_t *line = meta_holes(&b);
	int err = line ? rescue_note(l->r, o->disk, line) : 0;

	json_decref(line);
	return err;
}

int
rescue_cut(struct rescue *r, const struct orphan *o, int fd,
	   struct index_record *record)
{
	struct stat st;
	int64_t mtime;

	if (fstat(fd, &st) < 0)
		return -errno;
	mtime = (int64_t)st.st_mtim.tv_sec * NS_SECOND + st.st_mtim.tv_nsec;
	if (!(record->flags & INDEX_DATA_TIME))
		record->first_ns = record->last_ns = mtime;
	/*
	 * Truncate even to the same length: that frees space reserved behind.
	 */
	if (layout_map_shared(&r->rec->map)) /* cut once all blocks are known */
		return r->dry || fdatasync(fd) == 0 ? 0 : -errno;
	if (!r->dry &&
	    (ftruncate(fd, (off_t)record->bytes) < 0 || fdatasync(fd) < 0))
		return -errno;
	if (o->bytes > record->bytes)
		r->report->cut += o->bytes - record->bytes;
	return 0;
}

int
rescue_remove(struct rescue *r, const struct orphan *o)
{
	char file[LAYOUT_FILE];

	if (!r->dry && !layout_map_shared(&r->rec->map) &&
	    unlinkat(r->rec->part[o->disk].dir,
		     layout_chunk(file, r->rec->name, o->number), 0) < 0)
		return -errno;
	r->report->empty++;
	rescue_say(r, "chunk %" PRIu64 " on %s had no packet in it: removed",
		   o->number, r->disks->disk[o->disk].path);
	return 1;
}

static int
make_record(struct look *l, const struct orphan *o, struct index_record *record)
{
	int err;

	l->used = o->whole ? l->slots : whole_frames(l);
	record->bytes = (uint64_t)l->used * l->r->rec->shape.payload;
	record->present = l->present_n;
	record->missing = l->used - l->present_n;
	if (l->timed) {
		record->first_ns = l->first_ns;
		record->last_ns = l->last_ns;
		record->flags |= INDEX_DATA_TIME;
	}
	count(l, record);
	err = rescue_cut(l->r, o, l->fd, record);
	return err ? err : note_holes(l, o);
}

int
rescue_slots(struct rescue *r, const struct orphan *o, int fd,
	     struct index_record *record)
{
	uint32_t payload = r->rec->shape.payload;
	struct look l = { .r = r, .fd = fd, .at = o->at };
	int err = -ENOMEM;

	if (o->bytes / payload > UINT32_MAX)
		return -EFBIG;
	l.slots = (uint32_t)(o->bytes / payload);
	l.present = calloc(l.slots / 64 + 1, sizeof *l.present);
	l.payload = malloc(payload);
	if (!l.present || !l.payload)
		goto out;
	err = look_through(&l);
	if (!err && (l.used || o->whole))
		err = make_record(&l, o, record);
	else if (!err)
		err = rescue_remove(r, o);
out:
	free(l.present);
	free(l.payload);
	return err;
}

static int
leave(struct rescue *r, const struct orphan *o)
{
	r->report->unplaced++;
	rescue_say(r,
		   "chunk %" PRIu64 " on %s is left alone: nothing tells which "
		   "of %u substreams it is of",
		   o->number, r->disks->disk[o->disk].path, r->rec->facts.subs);
	return 1;
}

int
rescue_chunk(struct rescue *r, const struct orphan *o,
	     struct index_record *record)
{
	int fd, err;

	*record = (struct index_record){ .number = o->number,
					 .kind = INDEX_BLOCK,
					 .flags = INDEX_RECOVERED };
	if (!rescue_place(r, record))
		return leave(r, o);
	fd = rescue_chunk_open(r, o->disk, o->number,
			       r->dry ? O_RDONLY : O_RDWR);
	if (fd < 0)
		return fd;
	ease_file(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	switch (r->rec->shape.store) {
	case HEAP_ROW: err = rescue_row(r, o, fd, record); break;
	case HEAP_CUBE: err = rescue_cube(r, o, fd, record); break;
	default: err = rescue_slots(r, o, fd, record); break;
	}
	close(fd);
	return err;
}
