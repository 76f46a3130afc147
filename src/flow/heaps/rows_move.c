/* SPDX-License-Identifier: MIT */
/*
 * Moves a heap that turned out to need more room than it was given: one of
 * unknown length at the end of a block, or one with more items than its first
 * packet showed.  It is laid anew, with everything that came, in a block that
 * has room; its old note is void, and nothing of it is stored.  This costs a
 * copy, which ordinary heaps never need, and at most MOVES_MOST times per heap.
 */
#include "flow/heaps/rows.h"

#include <string.h>

enum { MOVES_MOST = 3 };

/* Memory that the heap needs now, with `more` items. */
static struct bay_want
want_now(const struct heaps *p, const struct heap *h,
	 const struct format_piece *piece, uint32_t more)
{
	uint64_t end = piece->offset + piece->bytes;
	struct bay_want w = { .items = h->items + more,
			      .ranges = h->ranges.most };

	w.room = p->a.format->wrap_bytes(piece, w.items) + h->ranges.beside;
	w.length = h->length;
	if (!w.length)
		w.length = h->keep > end ? h->keep : end;
	return w;
}

/* Finds another bay with room, or opens one if that does not close the heap's
 * own.  NULL: there is none. */
static struct bay *
bay_elsewhere(struct heaps *p, const struct heap *h,
	      const struct bay_want *want)
{
	struct rows *r = &p->rows;
	struct bay *newest = rows_newest(p);

	if (newest != h->bay) {
		rows_endless_cut(p, newest);
		if (!newest->full && bay_fits(newest, want))
			return newest;
	}
	if (r->opens == HEAPS_OPEN && h->bay == r->open[0])
		return NULL;
	return rows_open(p);
}

/* Takes a heap out of its bay, as if it had never been there. */
static void
heap_leave(struct heap *h)
{
	struct bay *bay = h->bay;

	if (!h->note->next)
		bay->front = h->note->at - h->note->room;
	if (bay->endless == h)
		bay->endless = NULL;
	bay->live--;
	bay->full = true;
	bay->b->filled -= h->pieces;
	h->note->pieces = 0;
}

static void
heap_copy(struct heap *h, const struct heap *old, const uint64_t *item)
{
	const struct range *r = old->ranges.at;

	memcpy(h->at - h->note->items_room * sizeof *item, item,
	       h->items * sizeof *item);
	memcpy(h->ranges.at, r, h->ranges.n * sizeof *r);
	for (uint32_t i = 0; i < h->ranges.n; i++)
		memcpy(h->at + r[i].from, old->at + r[i].from,
		       r[i].to - r[i].from);
}

static void
block_gain(struct heaps *p, const struct heap *h)
{
	struct bay *bay = h->bay;

	if (bay->b->filled == 0) {
		bay->b->first_ns = bay->b->last_ns = p->now_ns;
		bay->born = p->now;
	}
	bay->b->filled += h->pieces;
	if (bay->b->last_ns < p->now_ns)
		bay->b->last_ns = p->now_ns;
	bay->last = p->now;
}

bool
rows_move(struct heaps *p, struct heap *h, const struct format_piece *piece,
	  uint32_t more)
{
	struct bay_want want = want_now(p, h, piece, more);
	struct heap old = *h;
	struct bay *to;

	if (h->parked || h->moves == MOVES_MOST ||
	    bay_bytes(&want) > rows_most(p) || h->items + more > NOTES_ITEMS)
		return false;
	heaps_cut(p);
	old.note->items = h->items;
	notes_items(old.bay->b, old.note, p->scratch->kept);
	to = bay_elsewhere(p, h, &want);
	if (!to)
		return false;
	h->moves++;
	heap_leave(h);
	rows_lay(p, h, to, &want, piece);
	heap_copy(h, &old, p->scratch->kept);
	block_gain(p, h);
	rows_done(p, old.bay);
	return true;
}
