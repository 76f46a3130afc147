/* SPDX-License-Identifier: MIT */
/*
 * The blocks of one pool: which substream may take one, and how they return.
 *
 * Substreams that share a pool must not starve each other when one is flooded
 * or the disks are slow.  So each is guaranteed BLOCK_POOL_EACH blocks (fewer
 * in a small pool), and `need` is how many of the guaranteed ones are not taken
 * now; `free_blocks` is how many are free:
 *
 *   need = sum over substreams of max(0, BLOCK_POOL_EACH - held)
 *   free_blocks >= need, always
 *
 * A substream below its guarantee takes a block: free_blocks and need both fall
 * by one.  A substream at its guarantee takes one only while free_blocks >
 * need.  A block that returns raises free_blocks by one, and need by at most
 * one.  So a guaranteed block is never refused, and finding out needs no
 * search.  `held` counts all blocks that are not free: a substream whose blocks
 * wait for slow disks has used up its guarantee, and what is left is for the
 * others.
 *
 * Where disks are slow for a while, memory that nobody else needs takes the
 * packets.  A pool that grows borrows a piece more from the arena whenever it is
 * about to lend its last blocks out: in block_pool_take(), once for a block, so
 * that no packet waits for another thread.  It returns what it has beyond its
 * right as soon as blocks come back that it does not need, or that another pool
 * has a right to.  In steady work it has what it has a right to, and the memory
 * that goes round stays as small as before.
 *
 * Blocks without memory are `bare`.  While a pool has less than its right,
 * because the arena is not touched yet or others have to return first,
 * free_blocks may be below need: who comes first is served.
 *
 * Order of locks: the arena's before the pool's.
 */
#include "flow/memory/block_pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/memory/arena.h"
#include "flow/memory/shm_page.h"
#include "flow/memory/tap.h"

enum { PAGE = 4096 };

struct block_pool {
	struct arena_borrower borrower;
	struct block_pool_args a;
	/* arena_changes() when the arena had nothing to lend */
	atomic_uint refused;

	pthread_mutex_t lock; /* guards the fields below */
	struct block *free;
	struct block *bare;	 /* blocks without memory */
	atomic_uint has;	 /* blocks with memory; read without the lock */
	atomic_uint free_blocks; /* length of `free`; read without the lock */
	atomic_uint need; /* free blocks that are promised to substreams; read
			     without the lock */
	unsigned each;	  /* guaranteed blocks per substream */
	uint32_t *held;	  /* per substream: blocks that are not free */
	bool leaving;	  /* returned by its owner; freed with its last block */
	unsigned giving;  /* calls of piece_give() that still use the pool */

	struct lent_blocks *lent; /* counted reference */
	uint64_t *bits;
	uint8_t *side;
	struct block_sum *sum;
	uint32_t quanta; /* checksums per block */
	struct block block[];
};

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t
block_bytes_of(const struct block_pool_args *args)
{
	return round_up((uint64_t)args->slots * args->slot_bytes, PAGE) +
	       round_up(args->extra, PAGE);
}

uint64_t
block_pool_need(const struct block_pool_args *args)
{
	return args->blocks * block_bytes_of(args);
}

/* Number of checksums that a block needs, for all of its memory. */
static uint32_t
quanta(const struct block_pool_args *args)
{
	if (!args->quantum)
		return 0;
	return (uint32_t)((block_bytes_of(args) + args->quantum - 1) /
			  args->quantum);
}

static void
pool_free(struct block_pool *p)
{
	pthread_mutex_destroy(&p->lock);
	lent_blocks_drop(p->lent);
	free(p->held);
	free(p->bits);
	free(p->side);
	free(p->sum);
	free(p);
}

/* Takes memory for one more block in.  Called by the arena, under its lock. */
static void
piece_take(struct arena_borrower *borrower, uint8_t *at)
{
	struct block_pool *p = (struct block_pool *)borrower;
	struct block *b;

	pthread_mutex_lock(&p->lock);
	b = p->bare;
	p->bare = b->next;
	b->data = at;
	b->next = p->free;
	p->free = b;
	atomic_fetch_add_explicit(&p->has, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->free_blocks, 1, memory_order_relaxed);
	pthread_mutex_unlock(&p->lock);
}

/* Sets what is constant in the blocks, all of which are bare. */
static void
blocks_make(struct block_pool *p)
{
	uint64_t words = (p->a.slots + 63) / 64;

	for (unsigned i = p->a.most; i--;) {
		struct block *b = &p->block[i];

		b->present = p->bits + i * words;
		b->sum = p->sum + (size_t)i * p->quanta;
		b->quantum = p->a.quantum;
		b->slots = p->a.slots;
		b->extra = p->a.extra;
		b->slot_bytes = p->a.slot_bytes;
		b->pool = p;
		b->next = p->bare;
		p->bare = b;
	}
}

/* Makes a pool without memory for its data.  Returns 0 or -ENOMEM. */
static int
pool_new(struct block_pool **pool, struct arena *arena,
	 const struct block_pool_args *args)
{
	uint64_t words = (args->slots + 63) / 64;
	unsigned most = args->most > args->blocks ? args->most : args->blocks;
	struct block_pool *p = calloc(1, sizeof *p + most * sizeof p->block[0]);

	if (!p)
		return -ENOMEM;
	memory_lock_make(&p->lock);
	p->a = *args;
	p->a.most = most;
	p->a.subs = args->subs ? args->subs : 1;
	p->borrower = (struct arena_borrower){ .arena = arena,
					       .right = args->blocks,
					       .most = most,
					       .piece = block_bytes_of(args),
					       .least = 2 * p->a.subs + 2,
					       .take = piece_take };
	snprintf(p->borrower.who, sizeof p->borrower.who, "%.79s",
		 args->who ? args->who : "a stream");
	p->a.who = NULL;
	atomic_init(&p->refused, arena_changes(arena) - 1);
	p->each = args->blocks / p->a.subs;
	if (p->each > BLOCK_POOL_EACH)
		p->each = BLOCK_POOL_EACH;
	atomic_init(&p->need, p->a.subs * p->each);
	p->bits = calloc(most * words, sizeof *p->bits);
	p->held = calloc(p->a.subs, sizeof *p->held);
	p->quanta = quanta(args);
	p->sum = calloc((size_t)most * p->quanta + 1, sizeof *p->sum);
	p->side = malloc((size_t)most * args->side + 1);
	if (!p->bits || !p->held || !p->sum || !p->side ||
	    lent_blocks_make(&p->lent, most) < 0) {
		pool_free(p);
		return -ENOMEM;
	}
	/* Touches it: no page of it is missing when packets come. */
	memset(p->side, 0xff, (size_t)args->blocks * args->side + 1);
	blocks_make(p);
	*pool = p;
	return 0;
}

int
block_pool_borrow(struct arena *arena, struct block_pool **pool,
		  const struct block_pool_args *args, struct fault *fault)
{
	struct block_pool *p;
	int err = pool_new(&p, arena, args);

	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	err = arena_borrow(&p->borrower, fault);
	if (err) {
		pool_free(p);
		return err;
	}
	*pool = p;
	return 0;
}

int
block_pool_borrow_later(struct arena *arena, struct block_pool **pool,
			const struct block_pool_args *args, struct fault *fault)
{
	struct block_pool *p;
	int err = pool_new(&p, arena, args);

	if (err)
		return fault_set(fault, err, "no-memory", "out of memory");
	err = arena_could_lend(&p->borrower, fault);
	if (err) {
		pool_free(p);
		return err;
	}
	*pool = p;
	return 0;
}

struct lent_blocks *
block_pool_lent(const struct block_pool *p)
{
	return p->lent;
}

unsigned
block_pool_subs(const struct block_pool *p)
{
	return p->a.subs;
}

unsigned
block_pool_blocks(const struct block_pool *p)
{
	return atomic_load_explicit(&p->has, memory_order_relaxed);
}

unsigned
block_pool_most(const struct block_pool *p)
{
	return p->a.most;
}

bool
block_pool_filled(const struct block_pool *p)
{
	return block_pool_blocks(p) >= p->a.blocks;
}

unsigned
block_pool_free_blocks(const struct block_pool *p)
{
	return atomic_load_explicit(&p->free_blocks, memory_order_relaxed);
}

/* Number of free blocks that are not guaranteed to a substream.  Both atomics
 * may be a moment old. */
static unsigned
left_over(const struct block_pool *p)
{
	unsigned free_blocks =
	    atomic_load_explicit(&p->free_blocks, memory_order_relaxed);
	unsigned need = atomic_load_explicit(&p->need, memory_order_relaxed);

	return free_blocks > need ? free_blocks - need : 0;
}

bool
block_pool_tight(const struct block_pool *p)
{
	return left_over(p) == 0;
}

bool
block_pool_plenty(const struct block_pool *p)
{
	return left_over(p) > BLOCK_POOL_EACH;
}

bool
block_pool_roomy(const struct block_pool *p)
{
	unsigned blocks = block_pool_blocks(p), each = p->each * p->a.subs;

	return block_pool_plenty(p) && blocks > each &&
	       left_over(p) > (blocks - each) / 4;
}

unsigned
block_pool_room(struct block_pool *p, unsigned sub)
{
	unsigned held, room, most;

	pthread_mutex_lock(&p->lock);
	held = p->held[sub];
	room = left_over(p);
	most = block_pool_free_blocks(p);
	pthread_mutex_unlock(&p->lock);
	if (held < p->each)
		room += p->each - held;
	return room < most ? room : most;
}

/* Takes a block off the free list.  NULL: none is free, or none that this
 * substream may have.  Call under the lock. */
static struct block *
block_out(struct block_pool *p, unsigned sub)
{
	struct block *b = p->free;
	bool right = p->held[sub] < p->each;

	if (!b || (!right && block_pool_tight(p)))
		return NULL;
	p->free = b->next;
	p->held[sub]++;
	atomic_fetch_sub_explicit(&p->free_blocks, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&p->need, right, memory_order_relaxed);
	return b;
}

static struct block *
block_get(struct block_pool *p, unsigned sub)
{
	struct block *b;

	pthread_mutex_lock(&p->lock);
	b = block_out(p, sub);
	pthread_mutex_unlock(&p->lock);
	return b;
}

/* Borrows more from the arena until some blocks are left beyond those that are
 * guaranteed.  After a refusal it does not ask again before something has
 * changed. */
static void
pool_grow(struct block_pool *p)
{
	unsigned changes = arena_changes(p->borrower.arena);

	if (atomic_load_explicit(&p->refused, memory_order_relaxed) == changes)
		return;
	while (!block_pool_plenty(p) && arena_grow(&p->borrower))
		;
	if (!block_pool_plenty(p))
		atomic_store_explicit(&p->refused, changes,
				      memory_order_relaxed);
}

/* Takes a block.  Before blocks are missed the pool grows; if it cannot, lent
 * blocks are taken back, since their readers need a moment to put them. */
static struct block *
block_or_lent(struct block_pool *p, unsigned sub)
{
	struct block *b = block_get(p, sub);
	bool plenty = block_pool_plenty(p);

	if (!plenty) {
		pool_grow(p);
		plenty = block_pool_plenty(p);
	}
	if (!b)
		b = block_get(p, sub);
	lent_blocks_hint(p->lent, !plenty);
	if (plenty || !lent_blocks_any(p->lent))
		return b;
	lent_blocks_revoke(p->lent);
	return b ? b : block_get(p, sub);
}

struct block *
block_pool_take(struct block_pool *p, unsigned sub)
{
	struct block *b;

	assert(sub < p->a.subs);
	b = block_or_lent(p, sub);
	if (!b)
		return NULL;
	/* Release fence: a live reader that sees anything written from here on
	 * also sees the odd generation that shm_page_hide stored (shm_page.c). */
	atomic_thread_fence(memory_order_release);
	memset(b->present, 0, (b->slots + 63) / 64 * sizeof *b->present);
	memset(b->sum, 0, p->quanta * sizeof *b->sum);
	b->summed = 0;
	b->next = NULL;
	b->used = b->filled = b->notes = b->missing = 0;
	b->bytes = 0;
	b->sub = b->taker = (uint16_t)sub;
	b->gap = 0;
	b->fps = 0;
	b->brought = NULL;
	b->parity = NULL;
	b->grouped = 0;
	b->quantum = p->a.quantum;
	b->state = BLOCK_OPEN;
	return b;
}

static void
pool_take_back(struct block_pool *p)
{
	arena_return(&p->borrower);
	pool_free(p);
}

/* True if nobody uses the pool any more.  Call under the lock. */
static bool
is_over(const struct block_pool *p)
{
	return p->leaving && !p->giving &&
	       block_pool_free_blocks(p) == block_pool_blocks(p);
}

/* Makes a block that is not free bare, and begins to return its memory.  Call
 * under the lock, and piece_give() after it. */
static uint8_t *
piece_out(struct block_pool *p, struct block *b)
{
	b->next = p->bare;
	p->bare = b;
	atomic_fetch_sub_explicit(&p->has, 1, memory_order_relaxed);
	p->giving++;
	return b->data;
}

/* Returns memory to the arena, whose lock is not taken under the pool's.  True
 * if the pool is over: the caller takes it back. */
static bool
piece_give(struct block_pool *p, const uint8_t *at)
{
	bool last;

	arena_return_piece(&p->borrower, at);
	pthread_mutex_lock(&p->lock);
	p->giving--;
	last = is_over(p);
	pthread_mutex_unlock(&p->lock);
	return last;
}

/* True if a block that comes back is one more than the pool has a right to, and
 * is not needed.  Call under the lock. */
static bool
is_extra(const struct block_pool *p)
{
	return block_pool_blocks(p) > p->a.blocks && !p->leaving &&
	       (arena_asks_back(p->borrower.arena) ||
		left_over(p) > 2 * BLOCK_POOL_EACH);
}

/* Returns a block to its pool, or its memory to the arena.  The lock orders all
 * earlier use of the block before the next taker's. */
static void
block_free(struct block *b)
{
	struct block_pool *p = b->pool;
	const uint8_t *extra = NULL;
	bool last;

	shm_page_hide(b);
	free(b->brought);
	b->brought = NULL;
	if (b->parity && atomic_fetch_sub(&b->parity->holders, 1) == 1)
		free(b->parity);
	b->parity = NULL;
	b->state = BLOCK_FREE;
	pthread_mutex_lock(&p->lock);
	if (p->held[b->taker]-- <= p->each)
		atomic_fetch_add_explicit(&p->need, 1, memory_order_relaxed);
	if (is_extra(p)) {
		extra = piece_out(p, b);
	} else {
		b->next = p->free;
		p->free = b;
		atomic_fetch_add_explicit(&p->free_blocks, 1,
					  memory_order_relaxed);
	}
	lent_blocks_hint(p->lent, !block_pool_plenty(p));
	last = is_over(p);
	pthread_mutex_unlock(&p->lock);
	if (extra)
		last = piece_give(p, extra);
	if (last)
		pool_take_back(p);
}

/* Takes a free block beyond the right out, if another pool has a right to it.
 * Returns its memory, or NULL. */
static const uint8_t *
extra_out(struct block_pool *p)
{
	const uint8_t *at = NULL;
	struct block *b;

	pthread_mutex_lock(&p->lock);
	b = p->free;
	if (b && block_pool_blocks(p) > p->a.blocks && left_over(p)) {
		p->free = b->next;
		atomic_fetch_sub_explicit(&p->free_blocks, 1,
					  memory_order_relaxed);
		at = piece_out(p, b);
	}
	pthread_mutex_unlock(&p->lock);
	return at;
}

int
block_pool_fill(struct block_pool *p)
{
	const uint8_t *at;

	if (!block_pool_filled(p))
		return arena_fill(&p->borrower);
	/* The owner calls, so the pool does not end with these pieces. */
	while (arena_asks_back(p->borrower.arena) && (at = extra_out(p)))
		(void)piece_give(p, at);
	return 0;
}

/* Takes the free blocks out of a pool that is leaving; NULL if all blocks are
 * free, when pool_take_back frees everything at once. */
static struct block *
leftovers(struct block_pool *p)
{
	struct block *free_ones = NULL;

	pthread_mutex_lock(&p->lock);
	if (block_pool_free_blocks(p) < block_pool_blocks(p)) {
		free_ones = p->free;
		p->free = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	return free_ones;
}

void
block_pool_return(struct block_pool *p)
{
	struct block *b;
	bool all;

	arena_leave(&p->borrower);
	for (b = leftovers(p); b; b = b->next)
		arena_return_piece(&p->borrower, b->data);
	/* Waits also for a thread that returns the last block: it may still
	 * have the lock when we see all blocks free. */
	pthread_mutex_lock(&p->lock);
	p->leaving = true;
	all = is_over(p);
	pthread_mutex_unlock(&p->lock);
	if (all)
		pool_take_back(p);
}

void *
block_pool_side(const struct block *b)
{
	const struct block_pool *p = b->pool;

	if (!p->a.side)
		return NULL;
	return p->side + (size_t)(b - p->block) * p->a.side;
}

void
block_pool_put(struct block *b)
{
	block_free(b);
}

void
block_close(struct block *b)
{
	b->state = BLOCK_CLOSED;
}

void
block_seal(struct block *b)
{
	atomic_store_explicit(&b->holders, 1, memory_order_relaxed);
	b->state = BLOCK_SEALED;
}

/* Relaxed: the caller holds the block, so it cannot return to its pool
 * meanwhile. */
void
block_hold(struct block *b)
{
	atomic_fetch_add_explicit(&b->holders, 1, memory_order_relaxed);
}

/* acq_rel: pairs with the drops of the other holders, see block.h. */
void
block_drop(struct block *b)
{
	if (atomic_fetch_sub_explicit(&b->holders, 1, memory_order_acq_rel) ==
	    1)
		block_free(b);
}
