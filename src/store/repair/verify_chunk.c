/* SPDX-License-Identifier: MIT */
/*
 * Checks of a chunk beyond its length.  A row tells where each of its packets
 * ends, and the last must end with the chunk.  A cube has no headers, but its
 * length must be whole items and its holes must lie within it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "store/disk/file.h"
#include "store/record/row.h"
#include "store/repair/verify_priv.h"

void
verify_begin(struct check *c)
{
	struct verify_part *none = &c->part[c->disks->n];
	struct fault fault;

	if (!recording_format(c->rec, &c->format, &fault))
		return;
	c->format = NULL;
	if (c->rec->shape.store != HEAP_ROW)
		return;
	verify_say(none, VERIFY_CONTENTS,
		   "its heaps cannot be looked at: %s: %s", fault.what,
		   fault.why);
}

/* Compares a row with its record. */
static void
hold(struct verify_part *p, const struct index_record *r, const struct row *row)
{
	const char *path = verify_path(p);

	if (row->bytes != r->bytes)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s: what is at byte %" PRIu64
			   " is no whole packet of a heap",
			   r->number, path, row->bytes);
	else if (row->first != r->first)
		verify_say(p, VERIFY_INDEX,
			   "chunk %" PRIu64 " on %s begins with heap %" PRIu64
			   ", the index says %" PRIu64,
			   r->number, path, row->first, r->first);
	if (row->contradicted)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s: %" PRIu64 " packets "
			   "contradict others of their heap",
			   r->number, path, row->contradicted);
	if (row->packets > r->present)
		verify_say(p, VERIFY_INDEX,
			   "chunk %" PRIu64 " on %s has %" PRIu64
			   " packets of heaps, the index says that %" PRIu32
			   " pieces came",
			   r->number, path, row->packets, r->present);
}

static void
check_row(struct verify_part *p, const struct recording_block *b)
{
	const struct check *c = p->check;
	struct row row = { 0 };
	int fd, err;

	if (!c->format)
		return;
	fd = recording_chunk_open(c->rec, b);
	err = fd < 0 ? fd : row_look(c->format, fd, b->record.bytes, &row);
	if (fd >= 0)
		close(fd);
	if (err) {
		verify_say(p, VERIFY_UNREADABLE,
			   "chunk %" PRIu64 " on %s cannot be read: %s",
			   b->record.number, verify_path(p), strerror(-err));
		return;
	}
	p->report.heaps += row.heaps;
	p->report.incomplete += row.incomplete;
	hold(p, &b->record, &row);
}

struct holes {
	uint64_t bytes; /* length of the block */
	bool outside;
};

static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	struct holes *h = arg;

	h->outside |= at > h->bytes || count > h->bytes - at;
}

static void
check_cube(struct verify_part *p, const struct recording_block *b)
{
	const struct check *c = p->check;
	const struct index_record *r = &b->record;
	const char *path = verify_path(p);
	struct holes holes = { .bytes = r->bytes };

	if (r->bytes % c->rec->shape.payload)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s is not whole items of "
			   "%" PRIu32 " bytes",
			   r->number, path, c->rec->shape.payload);
	if (!r->missing)
		return;
	if (recording_holes(c->rec, r->number, take_hole, &holes))
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s lacks %" PRIu32
			   " pieces, and the metadata there does not say "
			   "where",
			   r->number, path, r->missing);
	else if (holes.outside)
		verify_say(p, VERIFY_CONTENTS,
			   "chunk %" PRIu64 " on %s lacks pieces, and the "
			   "metadata there says that it is at bytes which it "
			   "does not have",
			   r->number, path);
}

static void
look_into(struct verify_part *p, const struct recording_block *b)
{
	switch (p->check->rec->shape.store) {
	case HEAP_ROW: check_row(p, b); break;
	case HEAP_CUBE: check_cube(p, b); break;
	default: break;
	}
}

/*
 * Compares a packet's own sequence and time with the record.  Times are
 * compared to the second, because the frames per second may have been unknown
 * when the record was made.
 */
static void
hold_packet(struct verify_part *p, const struct recording_block *b,
	    const struct format_packet *f)
{
	const struct recording *rec = p->check->rec;
	const struct index_record *r = &b->record;
	uint64_t base = recording_base(rec, r->sub, r->run);
	uint64_t away = f->sequence - base - r->first;
	char is[UNITS_TEXT], says[UNITS_TEXT];
	int64_t ns;

	if (rec->shape.sequence_bits == 32)
		away = (uint32_t)away;
	if (f->has & FORMAT_SEQUENCE && base && away &&
	    rec->shape.sequence != SEQUENCE_TIME)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s says that chunk %" PRIu64
			   " begins with packet %" PRIu64 ", its data says "
			   "%" PRIu64,
			   verify_path(p), r->number, r->first,
			   r->first + away);
	if (!(f->has & FORMAT_TIME) || !(r->flags & INDEX_DATA_TIME))
		return;
	ns = format_time_ns(&rec->shape, f);
	if (ns > r->first_ns + NS_SECOND || ns < r->first_ns - NS_SECOND)
		verify_say(p, VERIFY_INDEX,
			   "the index on %s says that chunk %" PRIu64
			   " begins at %s, its data says %s",
			   verify_path(p), r->number,
			   units_show_time_ns(says, r->first_ns),
			   units_show_time_ns(is, ns));
}

/* Checks the first packet, if no packet of the block is missing. */
static void
check_first(struct verify_part *p, const struct recording_block *b)
{
	const struct check *c = p->check;
	const struct format_shape *shape = &c->rec->shape;
	struct format_packet f = { 0 };
	ssize_t got = -1;
	int fd;

	if (!c->format || c->rec->foreign || shape->store != HEAP_NONE ||
	    b->record.missing || shape->payload > VERIFY_BUFFER)
		return;
	fd = recording_chunk_open(c->rec, b);
	if (fd >= 0) {
		got = read_whole(fd, p->buffer, shape->payload, b->at);
		close(fd);
	}
	if (got != (ssize_t)shape->payload)
		return;
	c->format->parse(shape, NULL, p->buffer, &f);
	hold_packet(p, b, &f);
}

/* Reports a wrong length: the bytes that are missing, if any. */
static void
length_say(struct verify_part *p, const struct recording_block *b, size_t place,
	   uint64_t there)
{
	struct verify_item *i = verify_add(p, VERIFY_LENGTH, b, place);

	i->at = there < b->record.bytes ? there : b->record.bytes;
	i->bytes = b->record.bytes - i->at;
	i->there = there;
}

void
verify_chunk(struct verify_part *p, const struct recording_block *b,
	     size_t place)
{
	int64_t there = recording_chunk_bytes(p->check->rec, b);
	size_t items = p->items;

	if (there == -ENOENT) {
		verify_add(p, VERIFY_MISSING, b, place);
		return;
	}
	if (there < 0) {
		verify_add(p, VERIFY_UNREADABLE, b, place)->err = (int)there;
		return;
	}
	if ((uint64_t)there == b->record.bytes)
		look_into(p, b);
	else
		length_say(p, b, place, (uint64_t)there);
	verify_read(p, b, place, (uint64_t)there);
	if (p->items == items)
		check_first(p, b);
}

/* Rows are skipped: their heaps count in steps that are unknown here. */
void
verify_order(struct check *c)
{
	const struct recording *rec = c->rec;
	struct verify_part *none = &c->part[c->disks->n];
	size_t placed = rec->from[rec->facts.subs];

	for (size_t i = 1; i < placed && rec->shape.store != HEAP_ROW; i++) {
		const struct recording_block *b = recording_at(rec, i);
		const struct recording_block *last = recording_at(rec, i - 1);

		if (b->record.kind == RECORDING_ABSENT ||
		    last->record.kind == RECORDING_ABSENT ||
		    b->record.sub != last->record.sub ||
		    b->record.run != last->record.run ||
		    b->record.first >=
			last->record.first + last->bytes / rec->shape.payload)
			continue;
		verify_say(none, VERIFY_INDEX,
			   "block %" PRIu64 " begins before block %" PRIu64
			   " ends",
			   b->record.number, last->record.number);
	}
}
