/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BLOCK_POOL_H
#define SPATE_FLOW_MEMORY_BLOCK_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/record/block.h"

/*
 * A block pool has the blocks of one stream, all equal.  A stream that starts
 * recording borrows the memory for them from the arena, and returns it when it
 * is done.  While disks are slow it may grow: what the arena has beyond the
 * rights of all pools is lent to whoever needs it.
 *
 * Any thread may call, except where noted.  Functions that borrow and return
 * take the arena's lock and are meant for the event loop; the others take the
 * pool's lock and cost a few instructions, and the arena's for a block beyond
 * the right.
 */
struct arena;
struct block_pool;
struct lent_blocks;

struct block_pool_args {
	unsigned blocks;	    /* that it has a right to */
	uint32_t slots, slot_bytes; /* of each block */
	unsigned subs;		    /* substreams, such as the ports of a
				       stream, that share it; 0 is 1 */
	uint32_t extra;	  /* bytes per block for notes, see heaps_extra */
	uint32_t quantum; /* bytes per checksum; 0: no checksums */
	const char *who;  /* name of the borrower, for error texts; copied; or
			     NULL */
	uint32_t side;	  /* bytes per block for whoever has the block, see
			     block_pool_side; not part of the arena */
	unsigned most;	  /* blocks that it may grow to while nobody else needs
			     the memory; below `blocks`: it does not grow */
};

/* Bytes of arena that such a pool takes. */
uint64_t block_pool_need(const struct block_pool_args *args);

/*
 * Borrows a pool.  Returns 0, or -ENOMEM with a fault that says how much is
 * needed, how much is free, who has the rest, and what would work.
 */
int block_pool_borrow(struct arena *arena, struct block_pool **pool,
		      const struct block_pool_args *args, struct fault *fault);

/*
 * Borrows a pool without its memory yet: no block can be taken until
 * block_pool_fill succeeds.  -ENOMEM and a fault if `memory` could never hold
 * it.  Event loop only; block_pool_fill may fail for as long as other pools
 * have the memory.
 */
int block_pool_borrow_later(struct arena *arena, struct block_pool **pool,
			    const struct block_pool_args *args,
			    struct fault *fault);
/* Gives a pool what it lacks of its right, as far as it is there; or returns
 * free blocks beyond the right that another pool lacks.  Returns 0: the pool
 * has its right; -ENOMEM: other pools have some of it, or it is not touched
 * yet.  Event loop only; call it now and then. */
int block_pool_fill(struct block_pool *pool);
bool block_pool_filled(const struct block_pool *pool);

/* Returns a pool; its free blocks' memory can be borrowed again at once.
 * Blocks still in use (a hung disk may have some) keep their memory, and the
 * last of them frees the pool. */
void block_pool_return(struct block_pool *pool);

/*
 * Guaranteed blocks per substream, whatever the other substreams do.  A
 * substream gets more only from blocks that no other has a claim to.  A block
 * counts against its substream until it is free again.
 */
enum { BLOCK_POOL_EACH = 2 };

/*
 * Takes a free block for this substream: OPEN, no bit set, no gap.  NULL: no
 * block is free, or none that this substream may have.  Blocks that taps
 * borrowed are taken back as soon as few are left.  The block freed last is
 * taken first, which keeps the working set in the cache.
 */
struct block *block_pool_take(struct block_pool *pool, unsigned sub);

/* Number of blocks that this substream could take now. */
unsigned block_pool_room(struct block_pool *pool, unsigned sub);

/* block_pool_tight: no free block is left beyond those guaranteed, so a
 * substream that has its BLOCK_POOL_EACH would be refused.  block_pool_plenty:
 * enough are left for optional uses, such as lending to taps.
 * block_pool_roomy: and more than a quarter of those that are not guaranteed, so
 * that blocks need not be freed as soon as they are written. */
bool block_pool_tight(const struct block_pool *pool);
bool block_pool_plenty(const struct block_pool *pool);
bool block_pool_roomy(const struct block_pool *pool);

/* Working memory of a block beside its data, block_pool_args::side bytes, for
 * whoever has the block.  NULL: there is none. */
void *block_pool_side(const struct block *b);

/* Returns an OPEN block that was never used to its pool. */
void block_pool_put(struct block *b);

/* The blocks of the pool that are lent to taps; see tap.h. */
struct lent_blocks *block_pool_lent(const struct block_pool *pool);

unsigned block_pool_subs(const struct block_pool *pool);
unsigned block_pool_blocks(
    const struct block_pool *pool); /* blocks that have memory now */
unsigned block_pool_most(
    const struct block_pool *pool); /* blocks that it may ever have */
unsigned block_pool_free_blocks(
    const struct block_pool *pool); /* blocks that are free now */

/* State changes of a block; store/record/block.h draws them. */
void block_close(struct block *b); /* OPEN -> CLOSED */
void block_seal(struct block *b);  /* CLOSED -> SEALED, one holder */

#endif
