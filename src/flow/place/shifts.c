/* SPDX-License-Identifier: MIT */
/*
 * A shift has to wait for the shifts whose source bytes lie in its target.
 * Followed depth first, this order copies every byte once, also in the
 * commonest case: a packet was lost and all behind it landed one place too
 * early; the last one goes first.  A shift that turns out to wait for itself
 * has its bytes copied aside.
 *
 *   pieces  A B C D E        A lost: B lies in A's place, C in B's ...
 *   landed  B C D E          E -> 4, then D -> 3, C -> 2, B -> 1
 *
 * Sources do not overlap, so sorted by address those in a target stand side by
 * side, and a binary search finds the first.  They are nearly sorted already:
 * only reordered pieces, and pieces that came in memory of their own, are not.
 */
#include "flow/place/shifts.h"

#include <assert.h>
#include <string.h>

enum { WAITING, BUSY, DONE };

void
shifts_add(struct shifts *s, uint8_t *from, uint8_t *to, uint32_t bytes)
{
	assert(s->n < SHIFTS);
	s->shift[s->n++] = (struct shift){ from, to, from, bytes, WAITING };
}

uint8_t *
shifts_aside(struct shifts *s, const uint8_t *from, uint32_t bytes)
{
	uint8_t *to = s->aside + s->used;

	assert(s->used + bytes <= SHIFTS_ASIDE);
	memcpy(to, from, bytes);
	s->used += bytes;
	return to;
}

static void
sort(struct shifts *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct shift *v = &s->shift[i];
		unsigned at = i;

		for (;
		     at && (uintptr_t)s->order[at - 1]->lay > (uintptr_t)v->lay;
		     at--)
			s->order[at] = s->order[at - 1];
		s->order[at] = v;
	}
}

/* Index of the first shift whose source ends behind `at`. */
static unsigned
find(const struct shifts *s, const uint8_t *at)
{
	unsigned low = 0, high = s->n;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		const struct shift *v = s->order[mid];

		if ((uintptr_t)v->lay + v->bytes <= (uintptr_t)at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Moves one shift, after those that lie in its target.  Recursion is at most as
 * deep as there are shifts. */
static void
settle(struct shifts *s, struct shift *v)
{
	uintptr_t end = (uintptr_t)v->to + v->bytes;

	v->state = BUSY;
	for (unsigned i = find(s, v->to); i < s->n; i++) {
		struct shift *w = s->order[i];

		if ((uintptr_t)w->lay >= end)
			break;
		if (w->state == WAITING)
			settle(s, w);
		else if (w->state == BUSY && w != v && w->from == w->lay)
			w->from = shifts_aside(s, w->from, w->bytes);
	}
	memmove(v->to, v->from, v->bytes);
	v->state = DONE;
}

void
shifts_settle(struct shifts *s)
{
	if (!s->n)
		return;
	sort(s);
	for (unsigned i = 0; i < s->n; i++) {
		if (s->shift[i].state == WAITING)
			settle(s, &s->shift[i]);
	}
	s->n = 0;
}
