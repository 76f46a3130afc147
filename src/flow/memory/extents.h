/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_EXTENTS_H
#define SPATE_FLOW_MEMORY_EXTENTS_H

#include <stdint.h>

struct stock;

/*
 * Extents say which pieces of an arena are taken, and by which stock.  They
 * stand in the order of their addresses; what is between them is free.
 *
 * A stock takes the first gaps that hold a block or more of it, so blocks
 * that fit into what is free are never refused because it lies in pieces.
 * Its owner locks.
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

/* How many pieces of so many bytes fit into what is free. */
uint64_t extents_room(const struct extents *e, uint64_t bytes);

/*
 * Takes n pieces for a stock, and tells each: `place` is called with its
 * number and address.  0; or -ENOMEM, and then nothing was taken.
 */
int extents_take(struct extents *e, struct stock *stock, unsigned n,
		 uint64_t bytes,
		 void (*place)(struct stock *stock, unsigned i, uint8_t *at));

/* One piece that was taken is free again.  0; or -ENOMEM, and it is not. */
int extents_cut(struct extents *e, const uint8_t *at, uint64_t bytes);

/* All that a stock has is free again. */
void extents_give(struct extents *e, const struct stock *stock);

#endif
