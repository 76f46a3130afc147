/* SPDX-License-Identifier: MIT */
/*
 * Predicts where the next pieces of a row will land: in the rest of the newest
 * heap, and behind it in heaps like it, each at the address that it would get
 * if it came next.
 */
#include "flow/heaps/rows.h"

/* Memory where the next heaps would be laid. */
struct outlook {
	struct block *b;
	uint64_t front, floor; /* limits of the free bytes */
	bool last;	       /* no further block follows */
};

static bool
outlook_block(struct heaps *p, struct outlook *o)
{
	if (o->last || !rows_ahead(p))
		return false;
	*o = (struct outlook){ .b = p->rows.ahead,
			       .floor = bay_most(p->rows.ahead),
			       .last = true };
	return true;
}

static bool
outlook_begin(struct heaps *p, struct outlook *o)
{
	const struct bay *bay = rows_newest(p);

	*o = (struct outlook){ 0 };
	if (!bay || bay->full)
		return outlook_block(p, o);
	o->b = bay->b;
	o->front = bay->front;
	o->floor = bay->front + bay_free(bay);
	return true;
}

/* Remembers how far the memory given to the kernel reaches. */
static void
aimed_note(struct heaps *p, const struct outlook *o)
{
	struct bay *bay = rows_newest(p);

	if (bay && bay->b == o->b)
		bay->aimed = o->front;
	else
		p->rows.ahead_aimed = o->front;
}

/* Aims at the next heaps, each like the one before. */
static unsigned
aim_next(struct heaps *p, const struct bay_want *want,
	 struct receive_pair *pair, unsigned i, unsigned n)
{
	uint64_t notes = bay_bytes(want) - want->room - want->length;
	unsigned begin = i;
	struct outlook o;

	if (!want->length || !outlook_begin(p, &o))
		return 0;
	while (i < n) {
		struct spot spot = { .keep = want->length };

		if (bay_bytes(want) > o.floor - o.front &&
		    (!outlook_block(p, &o) ||
		     bay_bytes(want) > o.floor - o.front))
			break;
		spot.at = o.b->data + o.front + want->room;
		i += heaps_aim_at(p, &spot, 0, want->length, pair, i, n);
		o.front += want->room + want->length;
		o.floor -= notes;
		aimed_note(p, &o);
	}
	return i - begin;
}

/* Aims at the rest of the newest heap. */
static unsigned
aim_newest(struct heaps *p, const struct heap *h, struct receive_pair *pair,
	   unsigned n)
{
	uint64_t from = ranges_end(&h->ranges), length = h->length;
	struct spot spot = { .at = h->at };

	if (!length)
		length =
		    h->bay->endless == h ? h->keep + bay_free(h->bay) : h->keep;
	spot.keep = length;
	if (!h->length && h->bay->aimed < h->note->at + length)
		h->bay->aimed = h->note->at + length;
	return heaps_aim_at(p, &spot, from, length, pair, 0, n);
}

unsigned
rows_aim(struct heaps *p, struct receive_pair *pair, unsigned n)
{
	const struct guess *g = &p->guess;
	struct heap *h = p->newest;
	struct bay_want want = { .length = g->length,
				 .items = g->items,
				 .room = g->room };
	unsigned i = 0;

	for (unsigned b = 0; b < p->rows.opens; b++)
		p->rows.open[b]->aimed = 0;
	p->rows.ahead_aimed = 0;
	if (h && h->ranges.n)
		i = aim_newest(p, h, pair, n);
	if ((h && !h->length) || !g->room)
		return i;
	want.ranges = rows_ranges(p, want.length);
	return i + aim_next(p, &want, pair, i, n);
}
