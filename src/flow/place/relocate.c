/* SPDX-License-Identifier: MIT */
/*
 * A move has to wait for the moves whose source bytes lie in its target.
 * Followed depth first, this order copies every byte once, also in the
 * commonest case: a packet was lost and all behind it landed one place too
 * early; the last one goes first.  A move that turns out to wait for itself has
 * its bytes copied aside.  Copying the whole batch aside first was rejected: it
 * doubles the cost of that commonest case.
 *
 *   pieces  A B C D E        A lost: B lies in A's place, C in B's ...
 *   landed  B C D E          E -> 4, then D -> 3, C -> 2, B -> 1
 *
 * Sources do not overlap, so sorted by address those in a target stand side by
 * side, and a binary search finds the first.  They are nearly sorted already:
 * only reordered pieces, and pieces that came in memory of their own, are not.
 */
#include "flow/place/relocate.h"

#include <assert.h>
#include <string.h>

enum { WAITING, BUSY, DONE };

void
relocate_add(struct relocate *r, uint8_t *from, uint8_t *to, uint32_t bytes)
{
	assert(r->n < RELOCATE_MOST);
	r->move[r->n++] = (struct relocation){ from, to, from, bytes, WAITING };
}

uint8_t *
relocate_aside(struct relocate *r, const uint8_t *from, uint32_t bytes)
{
	uint8_t *to = r->aside + r->used;

	assert(r->used + bytes <= r->aside_bytes);
	memcpy(to, from, bytes);
	r->used += bytes;
	return to;
}

static void
sort(struct relocate *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		struct relocation *v = &r->move[i];
		unsigned at = i;

		for (;
		     at && (uintptr_t)r->order[at - 1]->lay > (uintptr_t)v->lay;
		     at--)
			r->order[at] = r->order[at - 1];
		r->order[at] = v;
	}
}

/* Index of the first move whose source ends behind `at`. */
static unsigned
find(const struct relocate *r, const uint8_t *at)
{
	unsigned low = 0, high = r->n;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		const struct relocation *v = r->order[mid];

		if ((uintptr_t)v->lay + v->bytes <= (uintptr_t)at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Makes one move, after those that lie in its target.  Recursion is at most as
 * deep as there are moves. */
static void
settle(struct relocate *r, struct relocation *v)
{
	uintptr_t end = (uintptr_t)v->to + v->bytes;

	v->state = BUSY;
	for (unsigned i = find(r, v->to); i < r->n; i++) {
		struct relocation *w = r->order[i];

		if ((uintptr_t)w->lay >= end)
			break;
		if (w->state == WAITING)
			settle(r, w);
		else if (w->state == BUSY && w != v && w->from == w->lay)
			w->from = relocate_aside(r, w->from, w->bytes);
	}
	memmove(v->to, v->from, v->bytes);
	v->state = DONE;
}

void
relocate_settle(struct relocate *r)
{
	if (!r->n)
		return;
	sort(r);
	for (unsigned i = 0; i < r->n; i++) {
		uint64_t used = r->used;

		if (r->move[i].state != WAITING)
			continue;
		settle(r, &r->move[i]);
		r->used = used; /* all that waited aside for it has moved */
	}
	r->n = 0;
}
