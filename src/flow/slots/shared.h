/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SHARED_H
#define SPATE_FLOW_SLOTS_SHARED_H

#include <stdint.h>

#include "flow/place/place.h"

/*
 * A shared place is one place that several receiver threads feed at once:
 * each has a handle, which is a place to its intake, and what they bring goes
 * into the same blocks.
 *
 *   shared_make -> handle[0] -> intake, receiver  \
 *                  handle[1] -> intake, receiver   > one window, one output
 *                  ...                            /
 *
 * Between making and freeing, a handle belongs to one thread.  Each counts
 * what it took in; the sums over all of them agree, once all are flushed.
 * Blocks are handed out one at a time, by whichever thread closes them, and
 * the last handle that is flushed closes the rest.
 *
 * Packets have to carry a sequence, and the time at which they came
 * (receive_packet::arrived) where their order is to outlive the threads'.
 */
enum { SHARED_SLOTS = 64 }; /* least in a block, per thread */

/* Can streams of this shape be shared, in blocks of so many slots?  0, or
 * -EINVAL and a sentence. */
int shared_check(const struct format_shape *shape, uint32_t slots,
		 unsigned threads, char *why, uint32_t why_bytes);

/* Fills handle[0..threads-1]; place_free each.  0 or -ENOMEM. */
int shared_make(struct place **handle, unsigned threads,
		const struct place_args *args);

/* How long a thread waits for the others before a block is closed, or a run
 * begun, ns; for tests. */
void shared_patience(struct place *handle, int64_t ns);

#endif
