/* SPDX-License-Identifier: MIT */
/*
 * The blocks of one stock: which substream may take one, and how they return.
 *
 * Substreams that share a stock must not starve each other when one is flooded
 * or the disks are slow.  So each is guaranteed STOCK_EACH blocks (fewer in a
 * small stock), and `need` is how many of the guaranteed ones are not taken
 * now; `home` is the number of free blocks:
 *
 *   need = sum over substreams of max(0, STOCK_EACH - held)
 *   home >= need, always
 *
 * A substream below its guarantee takes a block: home and need both fall by
 * one.  A substream at its guarantee takes one only while home > need.  A block
 * that returns raises home by one, and need by at most one.  So a guaranteed
 * block is never refused, and finding out needs no search.  `held` counts all
 * blocks that are not free: a substream whose blocks wait for slow disks has
 * used up its guarantee, and what is left is for the others.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/memory/map.h"
#include "flow/memory/pool_priv.h"
#include "flow/memory/shelf.h"

/* Number of checksums that a block needs, for all of its memory. */
static uint32_t
quanta(const struct stock_args *args)
{
	struct stock_args one = *args;

	one.blocks = 1;
	if (!args->quantum)
		return 0;
	return (uint32_t)((pool_need(&one) + args->quantum - 1) /
			  args->quantum);
}

int
stock_new(struct stock **stock, struct pool *pool,
	  const struct stock_args *args)
{
	uint64_t words = (args->slots + 63) / 64;
	struct stock *s =
	    calloc(1, sizeof *s + args->blocks * sizeof s->block[0]);

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->pool = pool;
	s->a = *args;
	s->a.subs = args->subs ? args->subs : 1;
	snprintf(s->who, sizeof s->who, "%.79s",
		 args->who ? args->who : "a stream");
	s->a.who = NULL;
	s->bytes = pool_need(args);
	s->bits = calloc(args->blocks * words, sizeof *s->bits);
	s->held = calloc(s->a.subs, sizeof *s->held);
	s->quanta = quanta(args);
	s->sum = calloc((size_t)args->blocks * s->quanta + 1, sizeof *s->sum);
	if (!s->bits || !s->held || !s->sum ||
	    shelf_make(&s->shelf, args->blocks) < 0) {
		stock_free(s);
		return -ENOMEM;
	}
	*stock = s;
	return 0;
}

void
stock_free(struct stock *s)
{
	pthread_mutex_destroy(&s->lock);
	shelf_drop(s->shelf);
	free(s->held);
	free(s->bits);
	free(s->sum);
	free(s);
}

void
stock_place(struct stock *s, unsigned i, uint8_t *at)
{
	s->block[i].data = at;
}

/* Makes the blocks free to be taken, once all have their memory.  Until then
 * the stock counts as one of no blocks, with nothing guaranteed. */
void
stock_fill(struct stock *s)
{
	uint64_t words = (s->a.slots + 63) / 64;
	unsigned each = s->a.blocks / s->a.subs;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->a.blocks; i++) {
		struct block *b = &s->block[i];

		b->present = s->bits + i * words;
		b->sum = s->sum + (size_t)i * s->quanta;
		b->quantum = s->a.quantum;
		b->slots = s->a.slots;
		b->extra = s->a.extra;
		b->slot_bytes = s->a.slot_bytes;
		b->home = s;
		b->next = s->free;
		s->free = b;
	}
	s->each = each < STOCK_EACH ? each : STOCK_EACH;
	atomic_store_explicit(&s->need, s->a.subs * s->each,
			      memory_order_relaxed);
	atomic_store_explicit(&s->home, s->a.blocks, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
	s->filled = true;
}

bool
stock_filled(const struct stock *s)
{
	return s->filled;
}

struct shelf *
stock_shelf(const struct stock *s)
{
	return s->shelf;
}

unsigned
stock_subs(const struct stock *s)
{
	return s->a.subs;
}

unsigned
stock_blocks(const struct stock *s)
{
	return s->a.blocks;
}

unsigned
stock_home(const struct stock *s)
{
	return atomic_load_explicit(&s->home, memory_order_relaxed);
}

/* Number of free blocks that are not guaranteed to a substream.  Both atomics
 * may be a moment old. */
static unsigned
left_over(const struct stock *s)
{
	unsigned home = atomic_load_explicit(&s->home, memory_order_relaxed);
	unsigned need = atomic_load_explicit(&s->need, memory_order_relaxed);

	return home > need ? home - need : 0;
}

bool
stock_tight(const struct stock *s)
{
	return left_over(s) == 0;
}

bool
stock_plenty(const struct stock *s)
{
	return left_over(s) > STOCK_EACH;
}

unsigned
stock_room(struct stock *s, unsigned sub)
{
	unsigned held, room;

	pthread_mutex_lock(&s->lock);
	held = s->held[sub];
	room = left_over(s);
	pthread_mutex_unlock(&s->lock);
	return held < s->each ? room + s->each - held : room;
}

/* Takes a block off the free list.  NULL: none is free, or none that this
 * substream may have.  Call under the lock. */
static struct block *
block_out(struct stock *s, unsigned sub)
{
	struct block *b = s->free;
	bool right = s->held[sub] < s->each;

	if (!b || (!right && stock_tight(s)))
		return NULL;
	s->free = b->next;
	s->held[sub]++;
	atomic_fetch_sub_explicit(&s->home, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&s->need, right, memory_order_relaxed);
	return b;
}

static struct block *
block_get(struct stock *s, unsigned sub)
{
	struct block *b;

	pthread_mutex_lock(&s->lock);
	b = block_out(s, sub);
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* Takes a block, and takes lent blocks back before they are missed, since their
 * readers need a moment to put them. */
static struct block *
block_or_lent(struct stock *s, unsigned sub)
{
	struct block *b = block_get(s, sub);
	bool plenty = stock_plenty(s);

	shelf_tell(s->shelf, !plenty);
	if (plenty || !shelf_holds(s->shelf))
		return b;
	shelf_revoke(s->shelf);
	return b ? b : block_get(s, sub);
}

struct block *
stock_take(struct stock *s, unsigned sub)
{
	struct block *b;

	assert(sub < s->a.subs);
	b = block_or_lent(s, sub);
	if (!b)
		return NULL;
	/* Release fence: a live reader that sees anything written from here on
	 * also sees the odd generation that map_hide stored (map.c). */
	atomic_thread_fence(memory_order_release);
	memset(b->present, 0, (b->slots + 63) / 64 * sizeof *b->present);
	memset(b->sum, 0, s->quanta * sizeof *b->sum);
	b->summed = 0;
	b->next = NULL;
	b->used = b->filled = b->notes = b->missing = 0;
	b->bytes = 0;
	b->sub = b->taker = (uint16_t)sub;
	b->gap = 0;
	b->fps = 0;
	b->brought = NULL;
	b->quantum = s->a.quantum;
	b->state = BLOCK_OPEN;
	return b;
}

/* Returns a block to its stock.  The lock orders all earlier use of the block
 * before the next taker's. */
static void
go_home(struct block *b)
{
	struct stock *s = b->home;
	bool last;

	map_hide(b);
	free(b->brought);
	b->brought = NULL;
	b->state = BLOCK_FREE;
	pthread_mutex_lock(&s->lock);
	b->next = s->free;
	s->free = b;
	if (s->held[b->taker]-- <= s->each)
		atomic_fetch_add_explicit(&s->need, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->home, 1, memory_order_relaxed);
	shelf_tell(s->shelf, !stock_plenty(s));
	last = s->leaving && stock_home(s) == s->a.blocks;
	pthread_mutex_unlock(&s->lock);
	if (last)
		pool_take_back(s);
}

/* Takes the free blocks out of a stock that is leaving; NULL if all blocks are
 * free, when pool_take_back frees everything at once. */
static struct block *
leftovers(struct stock *s)
{
	struct block *home = NULL;

	pthread_mutex_lock(&s->lock);
	if (stock_home(s) < s->a.blocks) {
		home = s->free;
		s->free = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return home;
}

void
stock_return(struct stock *s)
{
	bool all;

	if (!s->filled) {
		stock_free(s);
		return;
	}
	pool_cut(s, leftovers(s));
	/* Waits also for a thread that returns the last block: it may still
	 * have the lock when we see all blocks free. */
	pthread_mutex_lock(&s->lock);
	s->leaving = true;
	all = stock_home(s) == s->a.blocks;
	pthread_mutex_unlock(&s->lock);
	if (all)
		pool_take_back(s);
}

void
stock_put(struct block *b)
{
	go_home(b);
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

/* Relaxed: the caller holds the block, so it cannot return to its stock
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
		go_home(b);
}
