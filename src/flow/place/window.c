/* SPDX-License-Identifier: MIT */
/*
 * Memory is taken as late as possible: a block in the middle of a long gap, for
 * which no packet comes, costs none.
 *
 * A full block need not wait for the window to move on: hundreds of substreams
 * that all cross into the next block at the same moment would need a third
 * block each, and there are only a few to spare.  With two, the full one is
 * being written while the other fills.
 *
 * A block that is closed because of its age may end with its last packet, and
 * then the origin moves to right behind it: so a stream that pauses, or is
 * slow, leaves short blocks and no holes.
 */
#include "flow/place/window.h"

#include <stddef.h>
#include <string.h>

void
window_init(struct window *w, const struct window *set)
{
	*w = (struct window){ .pool = set->pool,
			      .sub = set->sub,
			      .slots = set->slots,
			      .parts = set->parts };
	w->closed_end = &w->closed;
}

void
window_begin(struct window *w, uint32_t run, uint64_t base)
{
	w->running = true;
	w->run = run;
	w->base = base;
	w->origin = w->highest = w->gap = 0;
	w->stored = w->lifted = 0;
	w->gone = w->holes = false;
}

struct block *
window_block(struct window *w, unsigned i)
{
	if (!w->open[i] && !(i == 0 && w->gone))
		w->open[i] = block_pool_take(w->pool, w->sub);
	return w->open[i];
}

static void
unused_add(struct window *w, struct block *b)
{
	if (!b)
		return;
	b->next = w->unused;
	w->unused = b;
}

static void
shift(struct window *w, uint64_t by)
{
	w->origin += by;
	w->gone = w->holes = false;
	w->open[0] = w->open[1];
	w->open[1] = w->open[2];
	w->open[2] = NULL;
	w->born[0] = w->born[1];
}

static bool
has_packets(const struct block *b)
{
	return b && b->filled;
}

static void
closed_add(struct window *w, struct block *b)
{
	block_close(b);
	*w->closed_end = b;
	w->closed_end = &b->next;
}

/* Number of slots before the first packet.  A block of heaps has none. */
static uint32_t
leading(const struct block *b)
{
	uint32_t slot = 0;

	while (!b->notes && slot < b->used && !block_has(b, slot))
		slot++;
	return slot;
}

/* Closes open[0], which has packets, with `used` slots.  A run begins with a
 * packet that came, so missing slots before its first block were lost here and
 * count as outside. */
static void
leave(struct window *w, struct block *b, uint32_t used)
{
	if (!w->stored)
		w->outside += w->gap + leading(b);
	w->stored = w->origin + b->used;
	b->used = used;
	b->run = w->run;
	b->base = w->base;
	b->first = w->origin;
	b->gap = w->gap;
	w->gap = 0;
	closed_add(w, b);
}

void
window_leave(struct window *w, struct block *b, uint32_t run, uint64_t first)
{
	b->run = run;
	b->base = b->gap = 0;
	b->first = first;
	closed_add(w, b);
}

/* Closes the first block after `used` slots.  A block without packets becomes a
 * gap. */
static void
first_close(struct window *w, uint32_t used)
{
	struct block *b = w->open[0];

	if (has_packets(b)) {
		leave(w, b, used);
	} else if (!w->gone) {
		unused_add(w, b);
		w->gap += used;
	}
	shift(w, used);
}

void
window_pass_on(struct window *w, bool early)
{
	struct block *b = w->open[0];

	if (!has_packets(b) || (b->filled < w->slots && !early))
		return;
	leave(w, b, w->slots);
	w->open[0] = NULL;
	w->gone = true;
	w->holes = b->filled < w->slots;
}

void
window_forward(struct window *w, uint64_t off)
{
	uint64_t blocks = off / w->slots - 1;

	for (int i = 0; i < WINDOW_BLOCKS && blocks; i++, blocks--)
		first_close(w, w->slots);
	w->gap += blocks * w->slots;
	w->origin += blocks * w->slots;
}

/* Moves the packets from slot `from` on into slot 0 and up of a new block.
 * NULL: no block is free, and they stay. */
static struct block *
tail_take(struct window *w, struct block *b, uint32_t from)
{
	struct block *next = block_pool_take(w->pool, w->sub);

	for (uint32_t slot = from; next && slot < b->used; slot++) {
		uint32_t to = slot - from;

		if (!block_has(b, slot))
			continue;
		memcpy(block_slot(next, to), block_slot(b, slot),
		       b->slot_bytes);
		next->present[to / 64] |= 1ull << to % 64;
		next->used = to + 1;
		next->filled++;
		b->present[slot / 64] &= ~(1ull << slot % 64);
		b->filled--;
	}
	if (next)
		next->first_ns = next->last_ns = b->last_ns;
	return next;
}

/* Closes the first block short.  open[1] and open[2] have no packets and go
 * back: their slots stand for other sequences now. */
static void
first_close_short(struct window *w, struct block *tail, uint32_t used)
{
	unused_add(w, w->open[1]);
	unused_add(w, w->open[2]);
	w->open[1] = w->open[2] = NULL;
	first_close(w, used);
	w->open[0] = tail;
	if (w->highest < w->origin)
		w->highest = w->lifted = w->origin;
}

static uint32_t
whole_frames(const struct window *w, uint32_t slots)
{
	return (slots + w->parts - 1) / w->parts * w->parts;
}

/* Closes the first block because of its age, while the run goes on. */
static bool
first_age(struct window *w, int64_t now)
{
	struct block *b = w->open[0], *tail = NULL;
	uint32_t parts = b->used % w->parts;

	if (parts == b->used)
		return false; /* a single, incomplete frame stays open */
	if (parts)
		tail = tail_take(w, b, b->used - parts);
	if (tail)
		b->used -= parts;
	first_close_short(w, tail, whole_frames(w, b->used));
	w->born[0] = now;
	return true;
}

bool
window_close_oldest(struct window *w, int64_t now)
{
	if (!has_packets(w->open[1]))
		return has_packets(w->open[0]) && first_age(w, now);
	first_close(w, w->slots);
	return true;
}

bool
window_oldest(const struct window *w, int64_t *born)
{
	for (int i = 0; i < WINDOW_OPEN; i++) {
		if (!has_packets(w->open[i]))
			continue;
		*born = w->born[i];
		return true;
	}
	return false;
}

/* Counts packets behind the last stored one: they came, or others after them,
 * but no block had room.  Nothing is known to be lost behind the highest
 * packet. */
static void
tail_count(struct window *w)
{
	if (w->running && w->highest != w->lifted && w->highest > w->stored)
		w->outside += w->highest - w->stored;
}

void
window_end(struct window *w)
{
	uint64_t highest = w->highest, lifted = w->lifted;

	if (has_packets(w->open[1]))
		first_close(w, w->slots);
	if (has_packets(w->open[0]))
		first_close_short(w, NULL, whole_frames(w, w->open[0]->used));
	for (int i = 0; i < WINDOW_BLOCKS; i++) {
		unused_add(w, w->open[i]);
		w->open[i] = NULL;
	}
	w->highest = highest;
	w->lifted = lifted;
	tail_count(w);
	w->gap = 0;
	w->gone = w->holes = false;
	w->running = false;
}

void
window_put_unused(struct window *w)
{
	struct block *b;

	while ((b = w->unused)) {
		w->unused = b->next;
		block_pool_put(b);
	}
}

void
window_release(struct window *w, void (*out)(void *arg, struct block *b),
	       void *arg)
{
	struct block *b;

	window_put_unused(w);
	while ((b = w->closed)) {
		w->closed = b->next;
		b->next = NULL;
		out(arg, b);
	}
	w->closed_end = &w->closed;
}
