/* SPDX-License-Identifier: MIT */
/*
 * The table of live heaps is short, and is searched from the heap that got the
 * last piece: if heaps come one after the other, that is one comparison.  A
 * heap is identified by its count *and* its sender, so that two senders that
 * count alike do not mix.
 *
 * Complete heaps leave at once; the others make room for newer ones, oldest
 * first.
 */
#include <string.h>

#include "flow/heaps/heaps_priv.h"

static bool
is(const struct heap *h, const struct format_piece *piece, uint32_t sender)
{
	return h->live && h->count == piece->heap && h->sender == sender;
}

struct heap *
heaps_find(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	if (p->current && is(p->current, piece, sender))
		return p->current;
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (is(h, piece, sender))
			return p->current = h;
	}
	return NULL;
}

bool
heap_complete(const struct heap *h)
{
	const struct ranges *r = &h->ranges;

	if (r->n > 1)
		return false;
	return h->length ? r->bytes == h->length : !r->n || !r->at[0].from;
}

void
heaps_remove(struct heaps *p, struct heap *h)
{
	h->live = false;
	if (p->current == h)
		p->current = NULL;
	if (p->newest == h)
		p->newest = NULL;
}

static void
learn_whole(struct heaps *p, const struct heap *h)
{
	if (h->control != PIECE_DATA || h->parked)
		return;
	p->guess.items = h->items;
	p->guess.pieces = h->pieces;
	if (!h->length)
		p->guess.length = ranges_end(&h->ranges);
}

void
heaps_finish(struct heaps *p, struct heap *h)
{
	bool complete = heap_complete(h);

	heaps_remove(p, h);
	if (complete)
		learn_whole(p, h);
	p->kind->finish(p, h, complete);
}

static struct heap *
slot_find(struct heaps *p)
{
	struct heap *oldest = p->live;

	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (!h->live)
			return h;
		if (h->order < oldest->order)
			oldest = h;
	}
	heaps_finish(p, oldest);
	return oldest;
}

struct heap *
heaps_add(struct heaps *p, const struct format_piece *piece, uint32_t sender)
{
	struct heap *h = slot_find(p);

	*h = (struct heap){ .live = true,
			    .flavour = piece->flavour,
			    .control = piece->control,
			    .sender = sender,
			    .count = piece->heap,
			    .length = piece->length,
			    .order = ++p->order };
	p->current = h;
	return h;
}

void
heaps_learn(struct heaps *p, const struct heap *h,
	    const struct format_piece *piece, uint32_t datagram)
{
	struct guess *g = &p->guess;

	if (h->control != PIECE_DATA || h->parked)
		return;
	if (piece->offset + piece->bytes < piece->length ||
	    (!piece->length && !piece->offset))
		g->datagram = datagram;
	if (piece->offset) {
		g->later = piece->header;
		return;
	}
	g->length = piece->length;
	g->first = piece->header;
	g->first_items = piece->items;
	if (!g->later)
		g->later = p->a.format->wrap_bytes(piece, 0);
	if (g->items < piece->items)
		g->items = piece->items;
}

void
heaps_age(struct heaps *p)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && !h->parked && p->now - h->last >= p->a.max_age)
			heaps_finish(p, h);
	}
}

/* ---- candidates ------------------------------------------------------ */

void
heaps_parked_taken(struct heaps_candidate *c, const struct heap *h,
		   uint32_t bytes)
{
	c->pieces++;
	c->drop[h->why]++;
	c->bytes += bytes;
}

void
heaps_parked_finish(struct heaps_candidate *c, const struct heap *h,
		    bool complete)
{
	if (!complete)
		return;
	c->whole |= h->pieces > 1;
	c->sure |= h->pieces >= HEAPS_WHOLE;
}

void
heaps_parked_drop(struct heaps *p, const struct heaps_candidate *c)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (h->live && h->parked)
			heaps_remove(p, h);
	}
	for (int i = 0; i < DROP_KINDS; i++)
		p->base.counts.drop[i] += c->drop[i];
}

void
heaps_parked_take(struct heaps *p, const struct heaps_candidate *c)
{
	for (struct heap *h = p->live; h < p->live + HEAPS_LIVE; h++) {
		if (!h->live || !h->parked)
			continue;
		h->parked = h->held = false;
		if (!p->newest || p->newest->order < h->order)
			p->newest = h;
	}
	p->base.counts.placed += c->pieces;
	p->base.counts.bytes += c->bytes;
}
