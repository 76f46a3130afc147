/* SPDX-License-Identifier: MIT */
/*
 * A bare chunk is nothing but slots, so its record is made from what stands
 * in them.
 *
 * present   The slots were all filled before they were written, so a slot is
 *           missing where it is fill (its data is the pattern throughout) or
 *           was never written (its header makes no sense).  A frame that its
 *           sender marked invalid, with other data, came.  Fill "zero" shows
 *           only in formats with a header.
 * first     The packets' own counter where it is stored, else the end of the
 *           block before: chunks are numbered in the order of time, and full
 *           blocks are assumed for numbers in between that nobody has.  A
 *           gap that was not in an index yet is not seen so, but the times
 *           in the frames are right all the same.
 * run       That of the block before; the first run where there is none.
 * times     The data's own, else those of the file.
 *
 * What is behind the last slot with a packet goes: the torn end of a write,
 * and the padding to whole pages of a block that closed early.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/meta.h"
#include "store/recover_priv.h"

/* A chunk while it is looked through. */
struct look {
	const struct rescue *r;
	int fd;
	uint32_t slots; /* whole ones in the file */
	uint32_t used;	/* up to the last with a packet */
	uint32_t present_n;
	uint64_t *present;
	uint8_t *payload;
	bool timed, counted;
	int64_t first_ns, last_ns;
	uint64_t sequence; /* absolute, of slot 0, if counted */
};

static bool
is_all(const uint8_t *data, size_t bytes, uint32_t word)
{
	uint32_t value;

	for (size_t i = 0; i + sizeof value <= bytes; i += sizeof value) {
		memcpy(&value, data + i, sizeof value);
		if (value != word)
			return false;
	}
	return true;
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
	} else if (is_all(l->payload, shape->payload, 0)) {
		return false;
	}
	return header + sizeof(uint32_t) > shape->payload ||
	       !is_all(l->payload + header, shape->payload - header,
		       htole32(FILL_PATTERN));
}

static void
take_packet(struct look *l, uint32_t slot, const struct format_packet *p)
{
	const struct format_shape *shape = &l->r->rec->shape;

	l->present[slot / 64] |= UINT64_C(1) << slot % 64;
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

static int
look_through(struct look *l)
{
	uint32_t payload = l->r->rec->shape.payload;

	for (uint32_t slot = 0; slot < l->slots; slot++) {
		struct format_packet p;
		ssize_t got =
		    pread(l->fd, l->payload, payload, (off_t)slot * payload);

		if (got < 0)
			return -errno;
		if (got == (ssize_t)payload && is_present(l, slot, &p))
			take_packet(l, slot, &p);
	}
	return 0;
}

/* The known record with the greatest number below this one; NULL: none. */
static const struct index_record *
before(const struct rescue *r, uint64_t number)
{
	const struct index_record *best = NULL;

	for (size_t i = 0; i < r->knowns; i++) {
		const struct index_record *k = &r->known[i];

		if (k->number < number && (!best || k->number > best->number))
			best = k;
	}
	return best;
}

static void
place(const struct look *l, struct index_record *record)
{
	const struct recording *rec = l->r->rec;
	const struct index_record *prev = before(l->r, record->number);
	uint64_t number = 0, base;

	if (prev) {
		record->run = prev->run;
		record->first = prev->first + prev->present + prev->missing;
		number = prev->number + 1;
	}
	record->first += (record->number - number) * rec->slots;
	base = recording_base(rec, record->sub, record->run);
	if (!l->counted || !base)
		return;
	/* A counter of 32 bits wraps: the one nearest to the guess. */
	if (rec->shape.sequence_bits == 32)
		record->first +=
		    (uint64_t)(int32_t)(uint32_t)(l->sequence - base -
						  record->first);
	else if (l->sequence >= base)
		record->first = l->sequence - base;
}

/* Where the block ends: behind whole frames. */
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

static int
make_record(struct look *l, const struct orphan *o, struct index_record *record)
{
	uint32_t payload = l->r->rec->shape.payload;
	struct stat st;
	int64_t mtime;

	if (fstat(l->fd, &st) < 0)
		return -errno;
	mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	l->used = whole_frames(l);
	*record = (struct index_record){
		.number = o->number,
		.first_ns = l->timed ? l->first_ns : mtime,
		.last_ns = l->timed ? l->last_ns : mtime,
		.bytes = (uint64_t)l->used * payload,
		.present = l->present_n,
		.missing = l->used - l->present_n,
		.kind = INDEX_BLOCK,
		.flags = INDEX_RECOVERED | (l->timed ? INDEX_DATA_TIME : 0),
	};
	place(l, record);
	/* Also where nothing is cut: it frees what was reserved behind. */
	if (ftruncate(l->fd, (off_t)record->bytes) < 0 || fdatasync(l->fd) < 0)
		return -errno;
	l->r->report->cut += o->bytes - record->bytes;
	return note_holes(l, o);
}

static int
remove_empty(const struct rescue *r, const struct orphan *o)
{
	char file[LAYOUT_FILE];

	if (unlinkat(r->rec->part[o->disk].dir,
		     layout_chunk(file, r->rec->name, o->number), 0) < 0)
		return -errno;
	r->report->empty++;
	rescue_say(r, "chunk %" PRIu64 " on %s had no packet in it: removed",
		   o->number, r->disks->disk[o->disk].path);
	return 1;
}

int
rescue_chunk(struct rescue *r, const struct orphan *o,
	     struct index_record *record)
{
	uint32_t payload = r->rec->shape.payload;
	struct look l = { .r = r };
	char file[LAYOUT_FILE];
	int err = -ENOMEM;

	if (o->bytes / payload > UINT32_MAX)
		return -EFBIG;
	l.slots = (uint32_t)(o->bytes / payload);
	l.present = calloc(l.slots / 64 + 1, sizeof *l.present);
	l.payload = malloc(payload);
	if (!l.present || !l.payload)
		goto out;
	l.fd = rescue_open(r, o->disk,
			   layout_chunk(file, r->rec->name, o->number), O_RDWR);
	err = l.fd;
	if (err < 0)
		goto out;
	err = look_through(&l);
	if (!err && l.used)
		err = make_record(&l, o, record);
	else if (!err)
		err = remove_empty(r, o);
	close(l.fd);
out:
	free(l.present);
	free(l.payload);
	return err;
}
