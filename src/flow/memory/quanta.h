/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_QUANTA_H
#define SPATE_FLOW_MEMORY_QUANTA_H

#include "contract/block.h"

/*
 * Quanta are the pieces of a block that checksums are taken of (block.h): by
 * the receiver as far as packets came in order, right after they came, while
 * their bytes are in its cache; the rest by the writer that seals the block.
 *
 *   block_sum  |=======|=======|===....|=======|==.....|
 *                                ^ a packet is missing: left behind
 *                                                 ^ summed
 *
 * Nothing where no checksums are taken.
 */

/* Takes in what is in its place, and stays there.  Whoever owns it, OPEN or
 * just closed. */
void quanta_extend(struct block *b);

/* All the rest, and the checksum of the whole.  The data is complete. */
void quanta_seal(struct block *b);

#endif
