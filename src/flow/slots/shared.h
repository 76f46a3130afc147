/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SHARED_H
#define SPATE_FLOW_SLOTS_SHARED_H

#include <stdint.h>

#include "flow/place/placement.h"

/*
 * A shared placement is one that several receiver threads feed at once.  Each
 * thread has a handle, which looks like a placement to its intake, and packets
 * of all go into the same blocks.
 *
 *   shared_make -> handle[0] -> intake, receiver  \
 *                  handle[1] -> intake, receiver   > one window, one output
 *                  ...                            /
 *
 * Between making and freeing, a handle belongs to one thread.  Each counts the
 * packets that it took in; after all are flushed the sums agree.  Blocks are
 * handed out one at a time, by the thread that closes them, and the last handle
 * to be flushed closes the rest.
 *
 * Packets have to carry a sequence, and their time of arrival
 * (receive_packet::arrived) where order across threads matters.
 */
enum { SHARED_SLOTS = 64 }; /* least slots in a block, per thread */

/* Checks that streams of this shape can be shared, in blocks of so many slots.
 * Returns 0, or -EINVAL and a sentence in `why`. */
int shared_check(const struct format_shape *shape, uint32_t slots,
		 unsigned threads, char *why, uint32_t why_bytes);

/* Fills handle[0..threads-1]; placement_free each.  Returns 0 or -ENOMEM. */
int shared_make(struct placement **handle, unsigned threads,
		const struct placement_args *args);

#endif
