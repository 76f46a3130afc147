/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_PREDICTION_H
#define SPATE_FLOW_PLACE_PREDICTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A prediction says which packets one source will bring next to one placement.
 * A source that is the only one of its stream brings every packet.  Where
 * several sources share a stream, each has a pattern: bursts of `burst` packets
 * in a row, which repeat every `cycle` packets.
 *
 *   two sockets in turn     0 . 2 . 4 . 6 .      burst 1, cycle 2
 *   bursts of two of three  0 1 . . . . 6 7      burst 2, cycle 6
 *
 * A zeroed prediction is valid.  Sequences are relative to a run.  Only the
 * receiver thread may use it.
 */
enum { PREDICTION_SURE = 3 }; /* repetitions in a row that prove a pattern */

struct prediction {
	uint64_t next; /* first sequence that is expected */
	uint64_t run;  /* number of the run plus 1; 0: no run yet */
	/* Highest sequence that this source brought in the run. */
	uint64_t top;
	/* The source is far from the run: it will begin another. */
	bool away;

	uint32_t burst, cycle; /* packets; burst 0: no pattern, every packet */
	uint64_t phase;	       /* sequence of a burst's first packet, modulo
				  cycle */

	/* State of the learning. */
	uint64_t last; /* sequence of the newest packet */
	uint32_t at;   /* packets in a row up to that one */
	uint32_t was_at, was_step;
	uint32_t sure; /* repetitions of that burst length (was_at) and step
			  (was_step) in a row */
};

/* Starts again for another run, in which the source brought `top` so far. */
void prediction_begin(struct prediction *a, uint64_t run, uint64_t top);

/* Learns from a packet of the run: `rel` is its sequence. */
void prediction_saw(struct prediction *a, uint64_t rel);

/* Returns the first sequence from `rel` on that the source is expected to
 * bring; *at is how many packets of its burst precede that one. */
uint64_t prediction_from(const struct prediction *a, uint64_t rel,
			 uint32_t *at);

/* Returns the distance from there to the next expected sequence, and moves
 * *at. */
static inline uint32_t
prediction_step(const struct prediction *a, uint32_t *at)
{
	if (!a->burst || ++*at < a->burst)
		return 1;
	*at = 0;
	return a->cycle - a->burst + 1;
}

#endif
