/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_POOL_PRIV_H
#define SPATE_FLOW_MEMORY_POOL_PRIV_H

#include <pthread.h>

#include "flow/memory/pool.h"

/*
 * A stock, shared by the two halves of a pool: pool.c has the arena and its
 * extents, stock.c the blocks of one stock.
 */
struct stock {
	struct pool *pool;
	struct stock_args a;
	char who[80];
	uint64_t bytes;
	struct stock *next; /* pool::stocks */
	bool filled;	    /* has its memory; event loop only */

	pthread_mutex_t lock; /* guards the fields below */
	struct block *free;
	atomic_uint home; /* blocks that are free: length of `free`; read
			     without the lock */
	atomic_uint need; /* free blocks that are promised to substreams; read
			     without the lock */
	unsigned each;	  /* guaranteed blocks per substream */
	uint32_t *held;	  /* per substream: blocks that are not free */
	bool leaving;	  /* returned by its owner; freed with its last block */

	struct shelf *shelf; /* counted reference */
	uint64_t *bits;
	struct block_sum *sum;
	uint32_t quanta; /* checksums per block */
	struct block block[];
};

/* Makes a stock without memory for its data.  Returns 0 or -ENOMEM. */
int stock_new(struct stock **stock, struct pool *pool,
	      const struct stock_args *args);
/* Sets the address of block i.  After all blocks have theirs, stock_fill makes
 * them free to be taken. */
void stock_place(struct stock *s, unsigned i, uint8_t *at);
void stock_fill(struct stock *s);
void stock_free(struct stock *s);

/* Frees the memory of these free blocks, which no thread will take any more. */
void pool_cut(struct stock *s, struct block *home);

/* Frees the stock and all of its memory; any thread. */
void pool_take_back(struct stock *s);

#endif
