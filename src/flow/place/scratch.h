/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_SCRATCH_H
#define SPATE_FLOW_PLACE_SCRATCH_H

#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/relocate.h"

/*
 * Scratch is memory of an intake for one batch: buffers for what the kernel
 * delivers beside the slots of blocks (prefixes, and packets without a block to
 * land in), and working arrays to sort one batch.  Nothing in it outlives the
 * batch, so all places of an intake share one, however many there are.
 *
 * Only the thread of the intake may use it.
 */
struct heaps_scratch;

struct scratch {
	uint32_t slot_bytes, prefix_bytes;
	uint8_t *discard; /* RECEIVE_BATCH slots for packets without a block */
	uint8_t *prefix;  /* RECEIVE_BATCH prefixes */

	/* Discard slots and prefixes that the aims of this receive call use.
	 * Set it to 0 before aiming for another call. */
	unsigned used;

	struct relocate relocate;
	/* One allocation, freed with the scratch memory (heaps.c).  NULL: the
	 * places are slots, not heaps. */
	struct heaps_scratch *heaps;
	uint8_t *memory;
};

/* Makes scratch memory for slots of these sizes; heaps_scratch_make makes that
 * of heaps.  Returns 0 or -ENOMEM. */
int scratch_make(struct scratch **scratch, uint32_t slot_bytes,
		 uint32_t prefix_bytes);
void scratch_free(struct scratch *s); /* NULL is allowed */

/* Address of discard slot n. */
static inline uint8_t *
scratch_slot(const struct scratch *s, unsigned n)
{
	return s->discard + (uint64_t)n * s->slot_bytes;
}

static inline uint8_t *
scratch_prefix(const struct scratch *s, unsigned n)
{
	return s->prefix + (uint64_t)n * s->prefix_bytes;
}

#endif
