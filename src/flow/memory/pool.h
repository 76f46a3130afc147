/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_POOL_H
#define SPATE_FLOW_MEMORY_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "contract/block.h"

/*
 * A pool is all the memory that packets ever lie in: one arena, allocated and
 * touched when the daemon starts, and a hard limit.  A stream that starts
 * recording borrows a stock of equal blocks from it, and returns the stock when
 * it is done.
 *
 * Any thread may call.  Pool functions take the pool's lock and are meant for
 * the event loop; stock functions take the stock's lock and cost a few
 * instructions.  Neither lock is taken while the other is held.
 */
struct arena_way;
struct pool;
struct stock;
struct shelf;

struct pool_facts {
	uint64_t bytes; /* that can be borrowed at most */
	uint64_t borrowed;
	const char *pages; /* "hugetlb", "transparent" or "small" */
	bool locked;	   /* cannot be swapped out */
	bool shared;	   /* live readers can map it */
};

/* Checks that the machine has that much memory.  Returns 0, or -ENOMEM with a
 * fault. */
int pool_fits(uint64_t bytes, struct fault *fault);
/* Makes a pool with default wishes for its arena.  Returns 0, or -errno with a
 * fault.  Logs one line about the memory. */
int pool_make(struct pool **pool, uint64_t bytes, struct fault *fault);
/* Makes a pool whose arena follows `way` (arena.h). */
int pool_make_way(struct pool **pool, uint64_t bytes,
		  const struct arena_way *way, struct fault *fault);
void pool_free(struct pool *pool); /* every stock was returned */
struct pool_facts pool_facts(struct pool *pool);

/* The address and size of the arena; valid until pool_free. */
const void *pool_arena(const struct pool *pool, uint64_t *bytes);

/* Read-only descriptor of the arena (memfile.h), to give to live readers; the
 * pool owns it.  -1: this memory cannot be shared. */
int pool_arena_fd(const struct pool *pool);

struct stock_args {
	unsigned blocks;
	uint32_t slots, slot_bytes; /* of each block */
	unsigned subs;		    /* substreams, such as the ports of a
				       stream, that share it; 0 is 1 */
	uint32_t extra;	  /* bytes per block for notes, see place_extra */
	uint32_t quantum; /* bytes per checksum; 0: no checksums */
	const char *who;  /* name of the borrower, for error texts; copied; or
			     NULL */
};

/* Bytes of arena that such a stock takes. */
uint64_t pool_need(const struct stock_args *args);

/*
 * Borrows a stock.  Returns 0, or -ENOMEM with a fault that says how much is
 * needed, how much is free, who has the rest, and what would work.
 */
int pool_borrow(struct pool *pool, struct stock **stock,
		const struct stock_args *args, struct fault *fault);

/*
 * Borrows a stock without its memory yet: no block can be taken until pool_fill
 * succeeds.  -ENOMEM and a fault if `memory` could never hold it.  Event loop
 * only; pool_fill may fail for as long as other stocks have the memory.
 */
int pool_borrow_later(struct pool *pool, struct stock **stock,
		      const struct stock_args *args, struct fault *fault);
/* Gives such a stock its memory.  Returns 0: it has it, now or since earlier;
 * -ENOMEM: other stocks still have it.  Event loop only. */
int pool_fill(struct stock *stock);
bool stock_filled(const struct stock *stock);

/* Returns a stock; its free blocks' memory can be borrowed again at once.
 * Blocks still in use (a hung disk may have some) keep their memory, and the
 * last of them frees the stock. */
void stock_return(struct stock *stock);

/*
 * Guaranteed blocks per substream, whatever the other substreams do.  A
 * substream gets more only from blocks that no other has a claim to.  A block
 * counts against its substream until it is free again.
 */
enum { STOCK_EACH = 2 };

/*
 * Takes a free block for this substream: OPEN, no bit set, no gap.  NULL: no
 * block is free, or none that this substream may have.  Blocks that taps
 * borrowed are taken back as soon as few are left.  The block freed last is
 * taken first, which keeps the working set in the cache.
 */
struct block *stock_take(struct stock *stock, unsigned sub);

/* Number of blocks that this substream could take now. */
unsigned stock_room(struct stock *stock, unsigned sub);

/* stock_tight: no free block is left beyond those guaranteed, so a substream
 * that has its STOCK_EACH would be refused.  stock_plenty: enough are left for
 * optional uses, such as lending to taps. */
bool stock_tight(const struct stock *stock);
bool stock_plenty(const struct stock *stock);

/* Returns an OPEN block that was never used to its stock. */
void stock_put(struct block *b);

/* The shelf of the stock: its blocks that are lent to taps; see shelf.h. */
struct shelf *stock_shelf(const struct stock *stock);

unsigned stock_subs(const struct stock *stock);
unsigned stock_blocks(const struct stock *stock);
unsigned stock_home(const struct stock *stock); /* blocks that are free now */

/* State changes of a block; contract/block.h draws them. */
void block_close(struct block *b); /* OPEN -> CLOSED */
void block_seal(struct block *b);  /* CLOSED -> SEALED, one holder */

#endif
