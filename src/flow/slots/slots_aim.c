/* SPDX-License-Identifier: MIT */
/*
 * Predicts where the next packets of a source should land: in free slots of the
 * sequences that its aim expects (aim.h), ascending through the whole window,
 * and behind that in scratch memory.
 */
#include "flow/slots/slots_priv.h"

/* Writes the pairs that point into blocks, and returns their number. */
static unsigned
blocks_aim(struct slots *p, const struct aim *aim, struct receive_pair *pair,
	   unsigned n, uint64_t rel)
{
	struct window *w = &p->window;
	uint64_t first = w->origin + (w->gone ? p->slots : 0), slot;
	unsigned landing = 0;
	struct block *b;
	uint32_t at;

	rel = aim_from(aim, rel > first ? rel : first, &at);
	slot = rel - w->origin;
	for (unsigned i = 0; landing < n; slot += aim_step(aim, &at)) {
		if (slot >= p->slots) {
			i += (unsigned)(slot / p->slots);
			slot %= p->slots;
		}
		b = i < WINDOW_BLOCKS ? window_block(w, i) : NULL;
		if (!b)
			break;
		if (block_has(b, (uint32_t)slot))
			continue;
		pair[landing++].payload = block_slot(b, (uint32_t)slot);
	}
	return landing;
}

/* Number of blocks that parked packets will take before a run has its first
 * block. */
static unsigned
parking_needs(const struct slots *p)
{
	unsigned need = p->behind;

	if (p->parking.block[0])
		return 0;
	return (need + p->slots - 1) / p->slots;
}

/* Number of packets, up to n, for which blocks will be free although there is
 * no slot to aim at yet: packets of a run that is about to begin, after the
 * parked ones, or of a block behind a gap. */
static unsigned
room_ahead(const struct slots *p, unsigned n, bool gap, uint64_t off)
{
	unsigned blocks = stock_room(p->a.stock, p->a.sub), less = 0;
	uint64_t room, taken = gap ? off % p->slots : p->slots;

	if (!gap)
		less = parking_needs(p);
	if (blocks <= less ||
	    (less && p->window.running && !stock_plenty(p->a.stock)))
		return 0;
	room = (uint64_t)(blocks - less) * p->slots;
	if (room <= taken)
		return 0;
	return room - taken < n ? (unsigned)(room - taken) : n;
}

unsigned
slots_aim(struct place *place, const struct aim *aim, struct receive_pair *pair,
	  unsigned n)
{
	struct slots *p = (struct slots *)place;
	const struct window *w = &p->window;
	uint64_t rel = aim->run == w->run + 1ull ? aim->next : w->highest;
	uint64_t off = rel > w->origin ? rel - w->origin : 0;
	uint64_t end = (uint64_t)WINDOW_BLOCKS * p->slots;
	bool inside = w->running && !aim->away && off < end;
	struct scratch *scratch = p->a.scratch;
	bool holds = slots_holds(p);
	unsigned landing = 0;

	if (holds)
		landing = slots_held_aim(p, pair, n);
	else if (inside)
		landing = blocks_aim(p, aim, pair, n, rel);
	for (unsigned i = 0; i < n; i++, scratch->used++) {
		if (i >= landing)
			pair[i].payload = scratch_slot(scratch, scratch->used);
		pair[i].prefix = scratch_prefix(scratch, scratch->used);
		pair[i].prefix_bytes = p->a.shape->prefix;
		pair[i].payload_bytes = p->payload;
	}
	if (holds)
		return stock_room(p->a.stock, p->a.sub) ? n : landing;
	if (inside)
		return landing;
	return room_ahead(p, n, w->running && !aim->away, off);
}

void
slots_expect(struct place *place, struct aim *aim, uint64_t sequence)
{
	struct slots *p = (struct slots *)place;

	aim->away = !slots_near(p, sequence, &aim->next);
	aim->run = p->window.run + 1ull;
}
