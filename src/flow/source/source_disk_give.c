/* SPDX-License-Identifier: MIT */
/*
 * Makes parcels of a block.  The reader gives pieces of bytes, and a slot may
 * begin in one piece and end in the next: its beginning is copied to `tail`,
 * and from there into the head that the reader leaves free in front of the next
 * piece.
 *
 *   piece      |  slot  |  slot  |  sl|
 *                                  tail
 *                                   |
 *   next piece                    |sl||ot  |  slot  |  slot  | ..
 *                                  head
 *   parcels    `------ one -----' `-------- the next -------'
 *
 * A block of rows is one piece and one parcel.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/source/source_disk_priv.h"
#include "store/recording/recording_priv.h"

/* The buffers that a parcel uses until it is put. */
struct given {
	struct reader_view view;
	struct source_bits *bits;
};

static const struct recording_block *
block_of(const struct source_disk *d)
{
	return &d->rec->block[d->number];
}

/* ---- bits --------------------------------------------------------------- */

void
source_disk_bits_put(struct source_bits *b)
{
	if (b && !--b->users)
		free(b);
}

/* Context of take_hole.  Holes are counted in bytes for cubes, else in slots; a
 * slot that lacks any byte counts as missing. */
struct holes {
	struct source_bits *bits;
	uint32_t unit; /* bytes per slot in a cube, else 1 */
};

static void
take_hole(void *arg, uint64_t at, uint64_t count)
{
	struct holes *h = arg;
	uint64_t end = at + count;

	if (!count || end < at)
		return;
	end = (end - 1) / h->unit + 1;
	for (uint64_t i = at / h->unit; i < end && i < h->bits->slots; i++)
		h->bits->present[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static struct source_bits *
make_bits(struct source_disk *d, const struct recording_block *b)
{
	uint32_t payload = d->rec->shape.payload;
	uint32_t slots = (uint32_t)(b->record.bytes / payload);
	size_t bytes = ((size_t)slots + 63) / 64 * sizeof(uint64_t);
	struct source_bits *bits = malloc(sizeof *bits + bytes);
	struct holes h = { bits,
			   d->rec->shape.store == HEAP_CUBE ? payload : 1 };

	if (!bits)
		return NULL;
	bits->users = 1;
	bits->number = b->record.number;
	bits->slots = slots;
	memset(bits->present, 0xff, bytes);
	/* If the recording does not know which packets are missing, no bit is
	 * cleared: the slots hold fill, which marks itself as invalid. */
	recording_holes(d->rec, b->record.number, take_hole, &h);
	return bits;
}

/* Loads the bits of the block.  Called when its first data have been read: its
 * disk answers then. */
static int
ready_bits(struct source_disk *d, const struct recording_block *b)
{
	enum heap_store store = d->rec->shape.store;

	if (d->bits && d->bits->number == b->record.number)
		return 0;
	source_disk_bits_put(d->bits);
	d->bits = NULL;
	if (store == HEAP_ROW || (!b->record.missing && store == HEAP_NONE))
		return 0;
	d->bits = make_bits(d, b);
	return d->bits ? 0 : -ENOMEM;
}

/* Error of a view.  A chunk that ends too soon is an I/O error, not a lack of
 * packets. */
static int
err_of(const struct reader_view *v)
{
	return v->err == -ENODATA ? -EIO : v->err;
}

/* ---- parcels ----------------------------------------------------------- */

static void
fill_in(struct source_disk *d, const struct recording_block *b,
	struct parcel *p, uint64_t end)
{
	*p = (struct parcel){
		.record = b->record,
		.base = recording_base(d->rec, b->record.sub, b->record.run),
		.at = d->at,
		.bytes = end - d->at,
		.offset = b->offset + d->at,
		.source = &d->source,
	};
	d->at = end;
}

static void
give_lost(struct source_disk *d, struct parcel *p, uint64_t end, int err)
{
	const struct recording_block *b = block_of(d);
	uint32_t unit = d->rec->shape.payload;

	fill_in(d, b, p, end);
	d->gone |= err == -ENOENT;
	p->err = err == -EBADMSG || err == -ENODATA ? err : -EIO;
	d->have = 0;
	if (err != -ENODATA)
		d->facts.unreadable += d->rec->shape.store == HEAP_ROW
					   ? b->record.present
					   : p->bytes / unit;
}

static int
give_view(struct source_disk *d, struct parcel *p, struct reader_view *v,
	  uint64_t end)
{
	struct given *g = malloc(sizeof *g);
	const struct recording_block *b = block_of(d);
	int err = g ? ready_bits(d, b) : -ENOMEM;

	if (err) {
		free(g);
		return err;
	}
	g->view = *v;
	g->bits = d->bits;
	if (g->bits)
		g->bits->users++;
	fill_in(d, b, p, end);
	p->data = v->data - d->have;
	p->present = g->bits ? g->bits->present : NULL;
	p->own = g;
	d->facts.bytes_disk += p->bytes;
	return 0;
}

void
source_disk_put(struct source *s, struct parcel *p)
{
	struct source_disk *d = source_disk_of(s);
	struct given *g = p->own;

	if (!g)
		return;
	reader_put(d->reader, &g->view);
	source_disk_bits_put(g->bits);
	free(g);
	p->own = NULL;
}

/* ---- rows -------------------------------------------------------------- */

/* Finds why a block of rows could not be read as a whole. */
static int
row_err(struct source_disk *d, const struct reader_view *v)
{
	struct reader_view next;
	int err;

	if (v->err)
		return err_of(v);
	if (reader_get(&d->way, d->number, v->bytes, 0, &next, 0))
		return -EIO;
	err = next.err ? err_of(&next) : -EIO;
	reader_put(d->reader, &next);
	return err;
}

static int
give_row(struct source_disk *d, struct parcel *p, int64_t until)
{
	const struct recording_block *b = block_of(d);
	struct reader_view v;
	int err;

	if (d->at >= b->record.bytes)
		return -EAGAIN;
	if (d->at >= b->bytes) { /* bytes behind its last whole packet */
		give_lost(d, p, b->record.bytes, -EIO);
		return 0;
	}
	err = reader_get(&d->way, d->number, 0, b->bytes, &v, until);
	if (err)
		return err == -ENODATA ? -EAGAIN : err;
	if (!v.err && v.bytes == b->bytes) {
		err = give_view(d, p, &v, b->bytes);
		if (err)
			reader_put(d->reader, &v);
		return err;
	}
	/* Nothing of the block is given: only one packet's header tells where
	 * the next begins. */
	give_lost(d, p, b->bytes, row_err(d, &v));
	reader_put(d->reader, &v);
	return 0;
}

/* ---- slots ------------------------------------------------------------- */

/* Makes a parcel of the whole slots of a good view.  0; -EINTR: no slot ends in
 * it; or another -errno. */
static int
give_slots(struct source_disk *d, struct parcel *p, struct reader_view *v)
{
	uint32_t payload = d->rec->shape.payload;
	uint64_t total = d->have + v->bytes, rest = total % payload;
	uint8_t *from = (uint8_t *)v->data - d->have;
	int err = -EINTR;

	if (total == rest) {
		memcpy(d->tail + d->have, v->data, v->bytes);
		d->have = total;
		return err;
	}
	memcpy(from, d->tail, d->have);
	err = give_view(d, p, v, d->at + total - rest);
	if (err)
		return err;
	memcpy(d->tail, from + total - rest, rest);
	d->have = rest;
	return 0;
}

static int
give_data(struct source_disk *d, struct parcel *p, int64_t until)
{
	const struct recording_block *b = block_of(d);
	uint32_t payload = d->rec->shape.payload;
	uint64_t bytes = b->record.bytes - b->record.bytes % payload, end;
	struct reader_view v;
	int err;

	do {
		if (d->at >= bytes)
			return -EAGAIN;
		err = reader_get(&d->way, d->number, d->at + d->have, 0, &v,
				 until);
		if (err)
			return err == -ENODATA ? -EAGAIN : err;
		if (v.err) {
			end = v.at + v.bytes + payload - 1;
			end -= end % payload;
			give_lost(d, p, end < bytes ? end : bytes, err_of(&v));
		} else {
			err = give_slots(d, p, &v);
		}
		if (err || v.err)
			reader_put(d->reader, &v);
	} while (err == -EINTR);
	return err;
}

/* ---- what is in no chunk ----------------------------------------------- */

/* Returns the block before this one in its substream's file if there is a
 * stretch without a number between them, *bytes long; else NULL. */
static const struct recording_block *
lost_before(const struct source_disk *d, uint64_t *bytes)
{
	const struct recording *rec = d->rec;
	const struct recording_block *b = block_of(d), *last;

	for (uint64_t i = d->number; i-- > 0;) {
		last = &rec->block[i];
		if (last->record.sub != b->record.sub ||
		    last->record.kind == RECORDING_ABSENT ||
		    last->record.kind == RECORDING_UNUSED)
			continue;
		*bytes = b->offset - (last->offset + last->bytes);
		return *bytes ? last : NULL;
	}
	return NULL;
}

/* Gives the stretch before the block as a parcel that continues the block
 * before. */
static bool
give_stretch(struct source_disk *d, struct parcel *p)
{
	const struct recording_block *last;
	uint64_t bytes;

	if (d->stretch_told || d->rec->facts.subs == 1 || d->a.sub < 0 ||
	    d->number == d->range.first)
		return false;
	d->stretch_told = true;
	last = lost_before(d, &bytes);
	if (!last)
		return false;
	d->at = last->bytes;
	fill_in(d, last, p, last->bytes + bytes);
	p->err = -ENODATA;
	d->at = 0;
	return true;
}

/* Gives one parcel for a number without data: a gap, or a block that is on no
 * disk. */
static int
give_nothing(struct source_disk *d, struct parcel *p)
{
	const struct recording_block *b = block_of(d);

	if (d->at || (b->record.kind == INDEX_BLOCK))
		return -EAGAIN;
	give_lost(d, p, b->bytes, -ENODATA);
	d->at = UINT64_MAX;
	return 0;
}

int
source_disk_give(struct source_disk *d, struct parcel *p, int64_t until)
{
	const struct recording_block *b = block_of(d);

	if (!d->at && !d->have && b->record.kind != RECORDING_ABSENT &&
	    give_stretch(d, p))
		return 0;
	if (b->record.kind != INDEX_BLOCK)
		return give_nothing(d, p);
	if (d->rec->shape.store == HEAP_ROW)
		return give_row(d, p, until);
	return give_data(d, p, until);
}
