/* SPDX-License-Identifier: MIT */
/*
 * A pattern is learned from its seams: a number of packets in a row, then a
 * step.  A lost packet makes a seam too, but hardly three equal ones in a row,
 * and a wrong pattern costs no more than copies.  So a pattern is believed when
 * the same seam came PREDICTION_SURE times, until another seam did so, or until
 * far more packets in a row came than it allows (the other sockets went
 * silent).
 *
 * The position in the pattern follows from the phase, not from the newest
 * packet, so a loss shifts nothing.
 *
 * Sources without any pattern (packets dealt out by a hash) never get one, or
 * lose it soon.  They are then expected to bring every packet; most of those
 * land beside their slots and are copied, as they would be without predictions.
 */
#include "flow/place/prediction.h"

enum {
	NEAR = 256,	/* a smaller step back is reordering, a larger one a new
			   beginning */
	FAR = 1u << 20, /* steps farther than this are no seam */
	LONG = 8,	/* more packets in a row than this end a pattern of
			   short bursts */
};

void
prediction_begin(struct prediction *a, uint64_t run, uint64_t top)
{
	*a = (struct prediction){
		.next = top + 1, .run = run, .top = top, .last = top, .at = 1
	};
}

/* Ends a burst: after `step`, another one begins at `rel`. */
static void
seam(struct prediction *a, uint64_t rel, uint32_t step)
{
	if (a->at != a->was_at || step != a->was_step)
		a->sure = 0;
	a->was_at = a->at;
	a->was_step = step;
	if (++a->sure < PREDICTION_SURE)
		return;
	a->burst = a->at;
	a->cycle = a->at + step - 1;
	a->phase = rel % a->cycle;
}

void
prediction_saw(struct prediction *a, uint64_t rel)
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
prediction_from(const struct prediction *a, uint64_t rel, uint32_t *at)
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
