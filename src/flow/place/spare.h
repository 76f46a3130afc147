/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_SPARE_H
#define SPATE_FLOW_PLACE_SPARE_H

#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/moves.h"

/*
 * Spare memory is the scratch memory of an intake: buffers for what the kernel
 * delivers beside the slots of blocks (prefixes, and packets without a block to
 * land in), and working arrays to sort one batch.  Nothing in it outlives the
 * batch, so all places of an intake share one, however many there are.
 *
 * Only the thread of the intake may use it.
 */
struct heaps_spare;

struct spare {
	uint32_t slot_bytes, prefix_bytes;
	uint8_t *discard; /* RECEIVE_BATCH slots for packets without a block */
	uint8_t *prefix;  /* RECEIVE_BATCH prefixes */

	/* Discard slots, prefixes and keys that the aims of this receive call
	 * use.  Set it to 0 before aiming for another call. */
	unsigned used;
	uint64_t key[RECEIVE_BATCH];

	struct moves moves;
	struct heaps_spare *heaps; /* NULL: the places are slots, not heaps */
	uint8_t *memory;
};

/* Make scratch memory, for slots of these sizes or for heaps.  Return 0 or
 * -ENOMEM. */
int spare_make(struct spare **spare, uint32_t slot_bytes,
	       uint32_t prefix_bytes);
int spare_make_heaps(struct spare **spare);
void spare_free(struct spare *s); /* NULL is allowed */

/* Address of discard slot n. */
static inline uint8_t *
spare_slot(const struct spare *s, unsigned n)
{
	return s->discard + (uint64_t)n * s->slot_bytes;
}

static inline uint8_t *
spare_prefix(const struct spare *s, unsigned n)
{
	return s->prefix + (uint64_t)n * s->prefix_bytes;
}

#endif
