/* SPDX-License-Identifier: MIT */
/*
 * Predicts where the next pieces of a cube will land: in the rest of the newest
 * heap's slot, and in the slots behind it.
 */
#include "flow/heaps/cubes.h"

/* Address of the slot `off` behind the window's origin.  NULL: it is taken, or
 * there is no memory. */
static uint8_t *
slot_at(struct heaps *p, uint64_t off)
{
	uint32_t slots = p->cubes.window.slots;
	struct block *b;

	if (off >= (uint64_t)WINDOW_BLOCKS * slots)
		return NULL;
	b = cubes_block(p, (unsigned)(off / slots));
	if (!b || cubes_slot_taken(p, b, (uint32_t)(off % slots)))
		return NULL;
	return block_slot(b, (uint32_t)(off % slots));
}

static bool
skip_find(const struct heaps *p, uint64_t length, uint64_t *skip)
{
	for (int i = 0; i < CUBES_KNOWN; i++) {
		if (p->cubes.known[i].any &&
		    p->cubes.known[i].length == length) {
			*skip = p->cubes.known[i].skip;
			return true;
		}
	}
	return false;
}

static unsigned
aim_next(struct heaps *p, struct receive_pair *pair, unsigned i, unsigned n)
{
	const struct window *w = &p->cubes.window;
	struct spot spot = { .keep = p->a.shape->payload };
	uint64_t off = w->highest - w->origin;
	unsigned begin = i;

	if (!w->running || !skip_find(p, p->guess.length, &spot.skip))
		return 0;
	for (; i < n; off++) {
		spot.at = slot_at(p, off);
		if (!spot.at)
			break;
		i += heaps_aim_at(p, &spot, 0, p->guess.length, pair, i, n);
	}
	return i - begin;
}

unsigned
cubes_aim(struct heaps *p, struct receive_pair *pair, unsigned n)
{
	const struct heap *h = p->newest;
	unsigned i = 0;

	if (!p->guess.length)
		return 0;
	if (h && h->ranges.n) {
		struct spot spot = { h->at, h->skip, h->keep };

		i = heaps_aim_at(p, &spot, ranges_end(&h->ranges), h->length,
				 pair, 0, n);
	}
	return i + aim_next(p, pair, i, n);
}
