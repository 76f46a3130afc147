/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_POOL_H
#define SPATE_FLOW_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/block.h"

/*
 * A pool is all the memory that packets ever lie in: one arena, made and
 * touched when the daemon starts, and a hard limit.  A stream that is armed
 * borrows a stock of equal blocks from it, and gives it back when it is done.
 *
 * Any thread may call; pool functions take a lock and are for the event
 * loop, stock functions take another one and cost a few instructions.  Lock
 * order: none is held while the other is taken.
 */
struct arena_way;
struct pool;
struct stock;
struct shelf;

struct pool_facts {
	uint64_t bytes; /* that can be borrowed */
	uint64_t borrowed;
	const char *pages; /* "hugetlb", "transparent" or "small" */
	bool locked;	   /* cannot be swapped out */
	bool shared;	   /* others may be given it, to read */
};

/* Has the machine so much?  0, or -ENOMEM with a fault. */
int pool_fits(uint64_t bytes, struct fault *fault);
/* 0, or -errno with a fault.  Logs one line on what it got. */
int pool_make(struct pool **pool, uint64_t bytes, struct fault *fault);
/* The same, of an arena that is so. */
int pool_make_way(struct pool **pool, uint64_t bytes,
		  const struct arena_way *way, struct fault *fault);
void pool_free(struct pool *pool); /* every stock is back */
struct pool_facts pool_facts(struct pool *pool);

/* All of its memory; as long as the pool is there. */
const void *pool_arena(const struct pool *pool, uint64_t *bytes);

/* The same for others, who can only read it (memfile.h); the pool's.  -1: this
 * memory cannot be shared. */
int pool_arena_fd(const struct pool *pool);

struct stock_args {
	unsigned blocks;
	uint32_t slots, slot_bytes; /* of each */
	unsigned subs;		    /* substreams that share it; 0 is 1 */
	uint32_t extra;	  /* bytes of each for notes, see place_extra */
	uint32_t quantum; /* bytes that a checksum is of; 0: none are taken */
	const char *who;  /* borrows, for people; copied; or NULL */
};

/* What such a stock needs of the arena. */
uint64_t pool_need(const struct stock_args *args);

/*
 * Borrows a stock; -ENOMEM and a fault that says how much is needed, how
 * much is free, who has the rest, and what would work.
 */
int pool_borrow(struct pool *pool, struct stock **stock,
		const struct stock_args *args, struct fault *fault);

/*
 * The same of a stock that gets its memory later: until pool_fill gives it that
 * no block of it can be taken.  -ENOMEM and a fault where `memory` could never
 * hold it.  The event loop; others may take of it meanwhile.
 */
int pool_borrow_later(struct pool *pool, struct stock **stock,
		      const struct stock_args *args, struct fault *fault);
/* 0: it has its memory, now or for long; -ENOMEM: others still have it. */
int pool_fill(struct stock *stock);
bool stock_filled(const struct stock *stock);

/* Blocks that are not home yet (a disk that hangs may have some) keep their
 * own memory, and the last takes the stock along; the rest is free at once. */
void stock_return(struct stock *stock);

/*
 * Each substream can have STOCK_EACH blocks whatever the others do; more, it
 * only gets of what those cannot want.  A block counts as its substream's
 * until it is home again.
 */
enum { STOCK_EACH = 2 };

/*
 * What taps have of it is taken back as soon as there are not plenty left.
 *
 * The block that came home last, OPEN, with no bit set and no gap, for this
 * substream; NULL when there is none, or none for it.  Last out first keeps
 * the working set in the cache.
 */
struct block *stock_take(struct stock *stock, unsigned sub);

/* How many it could take now. */
unsigned stock_room(struct stock *stock, unsigned sub);

/* Would somebody who has STOCK_EACH be refused just now?  And are there
 * enough for what could be done without? */
bool stock_tight(const struct stock *stock);
bool stock_plenty(const struct stock *stock);

/* An OPEN block that was never used goes home. */
void stock_put(struct block *b);

/* What taps have of it; see shelf.h. */
struct shelf *stock_shelf(const struct stock *stock);

unsigned stock_subs(const struct stock *stock);
unsigned stock_blocks(const struct stock *stock);
unsigned stock_home(const struct stock *stock); /* how many are free now */

/* The moves of a block's state; see contract/block.h. */
void block_close(struct block *b); /* OPEN -> CLOSED */
void block_seal(struct block *b);  /* CLOSED -> SEALED, one holder */

#endif
