/* SPDX-License-Identifier: MIT */
/*
 * A pattern is learned from its seams: so many packets in a row, then a step.
 * One lost packet makes a seam too, but hardly three alike in a row, and one
 * wrong pattern costs no more than copies: so a pattern is believed when the
 * same seam came AIM_SURE times, and until another one did, or until far more
 * packets in a row came than it allows (the other sockets went silent).
 *
 * Where in the pattern the source is follows from the phase, not from what
 * came last, so that a loss shifts nothing.
 *
 * Sources without any pattern (packets dealt out by a hash) never get one, or
 * lose it soon; then they are expected to bring every packet, most of which
 * land beside their slots and are copied: as without all this.
 */
#include "flow/place/aim.h"

enum {
	NEAR = 256,	/* back by less is a swap, by more another beginning */
	FAR = 1u << 20, /* a step is no farther */
	LONG = 8,	/* packets in a row that no short burst has */
};

void
aim_begin(struct aim *a, uint64_t run, uint64_t top)
{
	*a = (struct aim){
		.next = top + 1, .run = run, .top = top, .last = top, .at = 1
	};
}

/* A seam: `step` behind the last of a burst begins another, at rel. */
static void
seam(struct aim *a, uint64_t rel, uint32_t step)
{
	if (a->at != a->was_at || step != a->was_step)
		a->sure = 0;
	a->was_at = a->at;
	a->was_step = step;
	if (++a->sure < AIM_SURE)
		return;
	a->burst = a->at;
	a->cycle = a->at + step - 1;
	a->phase = rel % a->cycle;
}

void
aim_saw(struct aim *a, uint64_t rel)
{
	uint64_t step = rel - a->last;

	if (rel <= a->last && a->last - rel < NEAR)
		return;
	if (step == 1) {
		if (++a->at > LONG && a->at > 2 * a->burst)
			a->burst = 0;
	} else {
		if (step <= FAR)
			seam(a, rel, (uint32_t)step);
		a->at = 1;
	}
	a->last = rel;
	if (rel > a->top)
		a->top = rel;
}

uint64_t
aim_from(const struct aim *a, uint64_t rel, uint32_t *at)
{
	uint64_t behind;

	*at = 0;
	if (!a->burst)
		return rel;
	behind = (rel + a->cycle - a->phase) % a->cycle;
	if (behind >= a->burst)
		return rel + a->cycle - behind;
	*at = (uint32_t)behind;
	return rel;
}
