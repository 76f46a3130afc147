/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_HEAPS_H
#define SPATE_FLOW_HEAPS_HEAPS_H

#include "flow/place/place.h"

/*
 * Heaps are the place of packets that are pieces of heaps: each says itself
 * where in its heap it belongs, and the heap has memory in an open block.
 *
 *   row    heaps lie one after the other as they come, in two open blocks
 *          (bay.h); a block closes when it is full and its heaps are done
 *   cube   a slot holds one item of a heap; which slot follows from the
 *          heap's count or time, in the two open blocks of a window (window.h)
 *
 * A few heaps are live at a time: they still get pieces.  One is finished
 * when all of it has come, when HEAPS_LIVE newer ones have begun, when its
 * block has to close, or when nothing of it came for max_age.
 */
int heaps_make(struct place **place, const struct place_args *args);

/* What sorting takes beside struct spare. */
struct heaps_spare;
int heaps_spare_make(struct heaps_spare **spare);
void heaps_spare_free(struct heaps_spare *spare);

#endif
