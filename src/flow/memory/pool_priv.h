/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_POOL_PRIV_H
#define SPATE_FLOW_MEMORY_POOL_PRIV_H

#include <pthread.h>

#include "flow/memory/pool.h"

/*
 * What the two halves of a pool share: pool.c has the arena and its extents,
 * stock.c the blocks of one of them.
 */
struct stock {
	struct pool *pool;
	struct stock_args a;
	char who[80];
	uint64_t bytes;
	struct stock *next; /* pool::stocks */
	bool filled;	    /* it has its memory; the event loop's */

	pthread_mutex_t lock; /* over what is below */
	struct block *free;
	atomic_uint home; /* length of free; read without the lock */
	atomic_uint need; /* the same */
	unsigned each;	  /* blocks that a substream has a right to */
	uint32_t *held;	  /* of each substream: blocks that are not home */
	bool leaving;	  /* returned; goes with its last block */

	struct shelf *shelf; /* held */
	uint64_t *bits;
	struct block_sum *sum;
	uint32_t quanta; /* of a block's memory */
	struct block block[];
};

/* One without memory for its data yet.  0 or -ENOMEM. */
int stock_new(struct stock **stock, struct pool *pool,
	      const struct stock_args *args);
/* Where a block's data is; of all of them, and then they can be filled in. */
void stock_place(struct stock *s, unsigned i, uint8_t *at);
void stock_fill(struct stock *s);
void stock_free(struct stock *s);

/* The memory of these of its blocks is free again: nobody will take them. */
void pool_cut(struct stock *s, struct block *home);

/* All of its memory is free again, and the stock with it; any thread. */
void pool_take_back(struct stock *s);

#endif
