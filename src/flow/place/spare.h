/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_SPARE_H
#define SPATE_FLOW_PLACE_SPARE_H

#include <stdint.h>

#include "contract/receive.h"
#include "flow/place/moves.h"

/*
 * Spare memory is what the kernel is handed beside the slots of blocks: room
 * for the prefixes of one call, and for packets that have no block to land
 * in; and what is needed to sort one batch.  Nothing in it lasts longer than
 * from an aim to the batch that follows, so that all places of an intake
 * share one, however many they are.
 *
 * The thread of the intake only.
 */
struct heaps_spare;

struct spare {
	uint32_t slot_bytes, prefix_bytes;
	uint8_t *discard; /* RECEIVE_BATCH slots */
	uint8_t *prefix;  /* RECEIVE_BATCH prefixes */

	/* How many of both, and of the keys, the aims of this call took; who
	 * is about to aim for another call makes it 0. */
	unsigned used;
	uint64_t key[RECEIVE_BATCH];

	struct moves moves;
	struct heaps_spare *heaps; /* NULL: places are not of heaps */
	uint8_t *memory;
};

/* 0 or -ENOMEM. */
int spare_make(struct spare **spare, uint32_t slot_bytes,
	       uint32_t prefix_bytes);
int spare_make_heaps(struct spare **spare);
void spare_free(struct spare *s); /* NULL: nothing */

/* Pair number n of a call lies in spare memory. */
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
