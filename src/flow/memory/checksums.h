/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_QUANTA_H
#define SPATE_FLOW_MEMORY_QUANTA_H

#include "store/record/block.h"

/*
 * Quanta are the pieces of a block that each have a checksum (block.h).  The
 * receiver sums packets that arrived in order right after they came, while
 * their bytes are in its cache; the writer that seals the block sums the rest.
 *
 *   block_sum  |=======|=======|===....|=======|==.....|
 *                                 ^ a packet is missing: left to the writer
 *                                                  ^ block::summed
 *
 * Both functions do nothing for a block without checksums.
 */

/* Sums the packets that follow block::summed without a gap.  Only the owner of
 * the block may call, while it is OPEN or just CLOSED. */
void checksums_extend(struct block *b);

/* Sums all the rest, and makes the checksum of the whole block.  Its data must
 * be complete. */
void checksums_seal(struct block *b);

#endif
