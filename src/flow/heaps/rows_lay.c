/* SPDX-License-Identifier: MIT */
/*
 * Chooses the memory of a heap, and how much it gets.
 *
 * Every packet tells the heap's length.  The length of its header when stored
 * is known from its first packet; if another packet comes first, the previous
 * heap is the guide.
 *
 * A heap of unknown length has the rest of its block.  When the next heap
 * begins, it is cut to what came plus SLACK packets, for late ones.  When it
 * reaches the end of the block, and other heaps lie before it, it moves to the
 * next block (rows_move.c).
 */
#include "flow/heaps/rows.h"

#include <stdio.h>

#include "base/log.h"
#include "base/units.h"

enum { LARGE_TEXT = 64 };

enum {
	PIECE = 1024, /* bytes of a heap per range, if the size of pieces is not
			 known */
	SLACK = 4,    /* packets */
	MORE = 3,     /* items expected per item of a packet with little else */
	ENDLESS = 64 << 10, /* bytes assumed for a heap of unknown length */
};

uint32_t
rows_ranges(const struct heaps *p, uint64_t length)
{
	uint32_t size = PIECE;
	uint64_t n;

	if (p->guess.datagram > p->guess.later && p->guess.later)
		size = p->guess.datagram - p->guess.later;
	n = length / size / 2 + 3;
	return n < NOTES_RANGES ? (uint32_t)n : NOTES_RANGES;
}

/* Until an item of a heap is known, the previous heap is the guide. */
struct bay_want
rows_want(const struct heaps *p, const struct format_piece *piece)
{
	const struct guess *g = &p->guess;
	struct bay_want w = { .items = piece->items };
	uint64_t length = piece->length;

	if (piece->control == PIECE_DATA &&
	    (piece->offset || piece->items == g->first_items) &&
	    g->items > w.items)
		w.items = g->items;
	if (piece->bytes < piece->header && piece->bytes < piece->length)
		w.items += MORE * piece->items; /* the next packet has other
						   items */
	if (w.items > NOTES_ITEMS)
		w.items = NOTES_ITEMS;
	w.room = p->a.format->wrap_bytes(piece, w.items);
	w.length = length;
	if (!length) {
		w.length = piece->offset + piece->bytes;
		length = ENDLESS;
	}
	w.ranges = rows_ranges(p, length);
	return w;
}

uint64_t
rows_most(const struct heaps *p)
{
	return p->a.geometry->block_bytes - NOTES_PAGE -
	       sizeof(struct notes_head);
}

/* Names, for people, a `block` that is large enough, in whole MiB. */
static void
would_do(char text[LARGE_TEXT], uint64_t bytes)
{
	uint64_t mib = UINT64_C(1) << 20;

	bytes += NOTES_PAGE + sizeof(struct notes_head);
	if (bytes > UINT32_MAX)
		snprintf(text, LARGE_TEXT, "no block can be that large");
	else
		snprintf(text, LARGE_TEXT, "block = \"%lluM\" would do",
			 (unsigned long long)((bytes + mib - 1) / mib));
}

void
rows_large(struct heaps *p, const struct format_piece *piece,
	   const struct bay_want *want)
{
	char heap[UNITS_TEXT], is[UNITS_TEXT], would[LARGE_TEXT];

	if (p->scratch->told_large)
		return;
	p->scratch->told_large = true;
	would_do(would, bay_bytes(want));
	units_show_bytes(heap, want->length);
	units_show_bytes(is, p->a.geometry->block_bytes);
	log_line(LEVEL_ERROR, p->a.name,
		 "heap %llu has %s and does not fit in a block of %s: its "
		 "packets are dropped, as those of all such heaps; %s",
		 (unsigned long long)piece->heap, heap, is, would);
}

void
rows_guard(struct heaps *p, const struct bay *bay, uint64_t bytes)
{
	if (bay->floor - bytes < bay->aimed)
		heaps_cut(p);
}

void
rows_lay(struct heaps *p, struct heap *h, struct bay *bay,
	 const struct bay_want *want, const struct format_piece *piece)
{
	struct note *note;

	rows_guard(p, bay, bay_bytes(want) - want->room - want->length);
	note = bay_put(bay, want);
	note->heap = h->count;
	note->length = h->length;
	note->flavour = h->flavour;
	note->control = h->control;
	h->note = note;
	h->bay = bay;
	h->at = bay->b->data + note->at;
	h->keep = want->length;
	h->ranges.at = note->range;
	h->ranges.most = want->ranges;
	h->ranges.header = p->a.format->wrap_bytes(piece, 0);
	h->ranges.length = h->length;
	bay->live++;
	if (!h->length)
		bay->endless = h;
	if (!h->parked && h->control == PIECE_DATA && !piece->offset)
		p->guess.room = want->room;
}

/* ---- heaps without length -------------------------------------------- */

void
rows_endless_cut(struct heaps *p, struct bay *bay)
{
	struct heap *h = bay->endless;
	uint64_t slack = (uint64_t)SLACK * p->guess.datagram;

	if (!h)
		return;
	if (slack > bay_free(bay))
		slack = bay_free(bay);
	h->keep = ranges_end(&h->ranges) + slack;
	bay->front += slack;
	bay->endless = NULL;
}

static bool
endless_fits(const struct heap *h, uint64_t end)
{
	return end <= h->keep || end - h->keep <= bay_free(h->bay);
}

static void
endless_grow(struct heap *h, uint64_t end)
{
	if (end <= h->keep)
		return;
	h->bay->front += end - h->keep;
	h->keep = end;
}

bool
rows_reach(struct heaps *p, struct heap *h, const struct format_piece *piece)
{
	uint64_t end = piece->offset + piece->bytes;

	if (h->length || end <= h->keep)
		return true;
	if (h->bay->endless != h) {
		heaps_drop(p, DROP_LATE);
		return false;
	}
	if (!endless_fits(h, end) &&
	    (end > rows_most(p) || !rows_move(p, h, piece, 0))) {
		heaps_drop(p, DROP_TOO_LARGE);
		return false;
	}
	endless_grow(h, end);
	return true;
}
