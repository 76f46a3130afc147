/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SLOTS_H
#define SPATE_FLOW_SLOTS_SLOTS_H

#include "flow/place/place.h"

/*
 * Slots are the place of packets that are equal in size: each has a slot of
 * its own, which follows from its sequence, in the two open blocks of the
 * window (window.h):
 *
 *        origin          +slots          +2 slots         +3 slots
 *          | open          | open          | ahead            |
 *   late   |  xxx x xxxxxxx|xx.x           |                  |  gap, or
 *          |               |    ^ highest  |                  |  candidate
 *
 * A packet in `ahead` closes the first block and moves everything one on.  A
 * step forward of up to max_gap is a gap.  What is farther, or before the
 * origin, waits as a candidate for the next run.  A block also closes when
 * its first packet is max_age old, then perhaps short; the origin moves
 * behind its last packet.
 *
 * At the end a candidate without rivals becomes a run.
 */
int slots_make(struct place **place, const struct place_args *args);

#endif
