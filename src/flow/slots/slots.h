/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SLOTS_H
#define SPATE_FLOW_SLOTS_SLOTS_H

#include "flow/place/placement.h"

/*
 * A placement for packets of equal size.  Each packet has a slot of its own,
 * which follows from its sequence, in the two open blocks of the window
 * (window.h):
 *
 *        origin          +slots          +2 slots         +3 slots
 *          | open          | open          | ahead            |
 *   late   |  xxx x xxxxxxx|xx.x           |                  |  gap, or
 *          |               |    ^ highest  |                  |  candidate
 *
 * A packet in `ahead` closes the first block and moves the window one block on.
 * A step forward of up to max_gap slots becomes a gap.  A packet farther ahead,
 * or before the origin, waits as a candidate for the next run.  A block also
 * closes when its first packet is max_age old, perhaps short; the origin then
 * moves to behind its last packet.
 *
 * At the end of the recording, a candidate that nothing contradicts becomes a
 * run.
 *
 * Returns 0 or -ENOMEM.
 */
int slots_make(struct placement **placement, const struct placement_args *args);

/* Bytes that a block of `slots` slots needs beside its data
 * (block_pool_args::side) to hold packets until the stream is learned. */
uint32_t slots_side(const struct format_shape *shape, uint32_t slots);

/* Makes scratch memory for such placements.  Returns 0 or -ENOMEM. */
static inline int
slots_scratch_make(struct scratch **scratch, const struct placement_args *args)
{
	return scratch_make(scratch, args->geometry->payload,
			    args->shape->prefix);
}

#endif
