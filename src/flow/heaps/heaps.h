/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_HEAPS_H
#define SPATE_FLOW_HEAPS_HEAPS_H

#include "flow/place/placement.h"

/*
 * A placement for packets that are pieces of heaps: each packet says where in
 * its heap its bytes belong, and the heap has memory in an open block.  How
 * heaps are stored depends on the stream's shape:
 *
 *   row    heaps lie one after the other as they come, in two open blocks
 *          (row_block.h); a block closes when it is full and its heaps are
 *          finished
 *   cube   a slot holds one item of a heap; the heap's count (the number that
 *          its sender gave it) or time decides which slot, in the two open
 *          blocks of a window (window.h)
 *
 * A few heaps are live at a time, which means they may still get pieces.  A
 * heap is finished when it is complete, when HEAPS_LIVE newer ones have begun,
 * when its block has to close, or when no piece of it came for max_age.
 *
 * Returns 0 or -ENOMEM.
 */
int heaps_make(struct placement **placement, const struct placement_args *args);

/* Makes scratch memory for placements of heaps.  Returns 0 or -ENOMEM. */
int heaps_scratch_make(struct scratch **scratch);

/* Bytes that a block of such a placement needs behind its slots, for notes;
 * also valid for slots, which need none. */
uint32_t heaps_extra(const struct format_shape *shape,
		     const struct geometry *geometry);

#endif
