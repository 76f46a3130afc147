/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_EXTENTS_H
#define SPATE_FLOW_MEMORY_EXTENTS_H

#include <stdint.h>

struct stock;

/*
 * Extents record which pieces of an arena belong to which stock, in a list
 * ordered by address; the gaps between them are free.
 *
 * A stock takes the first gaps that hold at least one block, so free memory
 * that is fragmented still serves every request that fits in it.  The owner of
 * the list locks.
 */
struct extent {
	uint8_t *data;
	uint64_t bytes;
	struct stock *stock;
	struct extent *next; /* extents::list */
};

struct extents {
	uint8_t *data;
	uint64_t bytes;
	struct extent *list;
};

/* Number of pieces of `bytes` that fit into the free gaps. */
uint64_t extents_room(const struct extents *e, uint64_t bytes);

/*
 * Takes n pieces for a stock and calls `place` with the index and address of
 * each.  Returns 0, or -ENOMEM with nothing taken.
 */
int extents_take(struct extents *e, struct stock *stock, unsigned n,
		 uint64_t bytes,
		 void (*place)(struct stock *stock, unsigned i, uint8_t *at));

/* Frees one piece of an extent.  Returns 0, or -ENOMEM with nothing freed. */
int extents_cut(struct extents *e, const uint8_t *at, uint64_t bytes);

/* Frees all extents of a stock. */
void extents_give(struct extents *e, const struct stock *stock);

#endif
