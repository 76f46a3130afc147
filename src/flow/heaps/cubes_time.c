/* SPDX-License-Identifier: MIT */
/*
 * If the time of a heap is one of its items, pieces that come before it are
 * laid by a guess, and are counted when the time is known: if the guess was
 * right, or a copy can correct it.  Else, or if the time never comes, they are
 * `untimed` and their slot is free again.
 */
#include "flow/heaps/cubes.h"

#include <string.h>

void
cubes_ticks(struct heaps *p, const struct format_piece *piece, uint64_t value,
	    uint64_t rel)
{
	struct cubes *c = &p->cubes;

	if (rel < c->ticks.slot)
		return;
	if (rel == c->ticks.slot + 1)
		c->count_step = piece->heap - c->count;
	c->count = piece->heap;
	c->ticks.value = value;
	c->ticks.slot = rel;
	c->window.base = ticks_base(&c->ticks);
}

void
cubes_undo(struct heaps *p, struct heap *h, enum drop why)
{
	heaps_cut(p); /* before another heap gets the slot */
	cubes_slot_clear(h);
	if (h->parked) {
		struct heaps_candidate *c = &p->cubes.candidate;

		c->pieces -= h->pieces;
		c->drop[h->why] -= h->pieces;
		c->bytes -= h->bytes;
	} else if (!h->held) {
		p->base.counts.placed -= h->pieces;
		p->base.counts.bytes -= h->bytes;
	}
	p->base.counts.drop[why] += h->pieces;
	heaps_remove(p, h);
}

/* Counts the pieces of a heap whose time became known. */
static void
heap_timed(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   uint64_t value)
{
	h->held = false;
	p->cubes.early.news = true;
	p->base.counts.placed += h->pieces;
	p->base.counts.bytes += h->bytes;
	cubes_ticks(p, piece, value, h->rel);
}

/* Moves a heap that was laid in a wrong slot into the right one.  False: that
 * is taken or outside of the window. */
static bool
heap_move(struct heaps *p, struct heap *h, uint64_t rel)
{
	struct window *w = &p->cubes.window;
	uint64_t off = rel - w->origin;
	struct block *b;
	struct card *card;
	uint32_t slot = (uint32_t)(off % w->slots);

	if (rel < w->origin || off >= (uint64_t)WINDOW_OPEN * w->slots)
		return false;
	b = cubes_block(p, (unsigned)(off / w->slots));
	if (!b || cubes_slot_taken(p, b, slot))
		return false;
	heaps_cut(p);
	card = notes_card(b, slot);
	*card = (struct card){ 0 };
	memcpy(card->range, h->ranges.at, h->ranges.n * sizeof(struct range));
	memcpy(block_slot(b, slot), h->at, b->slot_bytes);
	cubes_slot_clear(h);
	if (b->filled == 0) {
		b->first_ns = b->last_ns = p->now_ns;
		w->born[off / w->slots] = p->now;
	}
	b->filled += h->pieces;
	if (b->last_ns < p->now_ns)
		b->last_ns = p->now_ns;
	if (b->used <= slot)
		b->used = slot + 1;
	h->b = b;
	h->slot = slot;
	h->rel = rel;
	h->at = block_slot(b, slot);
	h->ranges.at = card->range;
	if (rel >= w->highest)
		w->highest = rel + 1;
	return true;
}

static bool
time_check(struct heaps *p, struct heap *h, const struct format_piece *piece,
	   const struct cube_head *head)
{
	int64_t rel;

	if (!h->held || h->parked || !head->timed)
		return true;
	if (!ticks_slot(&p->cubes.ticks, p->a.shape, head->value, &rel) ||
	    rel < 0 ||
	    ((uint64_t)rel != h->rel && !heap_move(p, h, (uint64_t)rel)))
		return false;
	heap_timed(p, h, piece, head->value);
	return true;
}

bool
cubes_items(struct heaps *p, struct heap *h, const struct format_piece *piece,
	    bool in_place)
{
	struct cube_head head;
	bool first = !h->pieces;

	(void)in_place;
	if (first)
		return true; /* cubes_begin looked at the first packet */
	cubes_head(p, piece, &head);
	if (head.item && !cubes_item_check(p, piece, &head))
		return false;
	if (head.item && head.skip != h->skip) {
		cubes_undo(p, h, DROP_MALFORMED);
		heaps_drop(p, DROP_MALFORMED);
		return false;
	}
	if (time_check(p, h, piece, &head))
		return true;
	cubes_undo(p, h, DROP_UNTIMED);
	p->again = true; /* its time is known now */
	return false;
}
