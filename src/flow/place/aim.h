/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_AIM_H
#define SPATE_FLOW_PLACE_AIM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An aim is what one source is expected to bring next to one place.  A source
 * that is the only one of its stream brings every packet; where several bring
 * one stream, each has a pattern: bursts of so many packets in a row, which
 * come again every `cycle` packets.
 *
 *   two sockets in turn     0 . 2 . 4 . 6 .      burst 1, cycle 2
 *   bursts of two of three  0 1 . . . . 6 7      burst 2, cycle 6
 *
 * Zero to begin with.  Sequences are relative to a run; the receiver's
 * thread only.
 */
enum { AIM_SURE = 3 }; /* times that a pattern has to come in a row */

struct aim {
	uint64_t next; /* the first to aim at */
	uint64_t run;  /* one more than the number of that run; 0: none */
	uint64_t top;  /* the highest that this source brought of it */
	bool away;     /* far from the run: it will begin another */

	uint32_t burst, cycle; /* burst 0: every packet */
	uint64_t phase;	       /* of a burst's first, modulo cycle */

	/* What it is learned from. */
	uint64_t last; /* that came */
	uint32_t at;   /* packets in a row up to that one */
	uint32_t was_at, was_step;
	uint32_t sure; /* times that this was so in a row */
};

/* Another run, in which the source brought `top` so far. */
void aim_begin(struct aim *a, uint64_t run, uint64_t top);

/* That packet of the run came. */
void aim_saw(struct aim *a, uint64_t rel);

/* The first from `rel` on that the source is expected to bring; *at: how many
 * of its burst are before it. */
uint64_t aim_from(const struct aim *a, uint64_t rel, uint32_t *at);

/* From there on: how far it is to the next. */
static inline uint32_t
aim_step(const struct aim *a, uint32_t *at)
{
	if (!a->burst || ++*at < a->burst)
		return 1;
	*at = 0;
	return a->cycle - a->burst + 1;
}

#endif
