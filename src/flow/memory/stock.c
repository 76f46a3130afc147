/* SPDX-License-Identifier: MIT */
/*
 * The blocks of one stock: who may take one, and how they come home.
 *
 * Substreams that share a stock must not starve each other, be it that one is
 * flooded, or that the disks are slow.  So each has a right to STOCK_EACH
 * blocks, and `need` is how many of those it does not have just now:
 *
 *   need = sum over substreams of max(0, STOCK_EACH - held)
 *   home >= need, always
 *
 * Whoever has less than his right takes one: both go down.  Whoever has it
 * takes one only while home > need.  One that comes home makes home larger
 * by one, and need by at most one.  So the right is never refused, and needs
 * no search.  Held is what is not home: a substream whose blocks wait for
 * slow disks has used its right up, and what is left is for the others.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/memory/map.h"
#include "flow/memory/pool_priv.h"
#include "flow/memory/shelf.h"

/* That a block's memory may have. */
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

/* Before that the numbers are those of a stock of no blocks, of which nobody
 * has a right to any. */
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

/* Blocks that nobody has a right to.  Both numbers may be a moment old. */
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

/* Under the lock; NULL where there is none, or none for it. */
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

/* What is lent goes home before it is missed, since who reads it takes a
 * moment to put it. */
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
	/* Whoever sees what is written now also sees that it was hidden. */
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

/* The lock orders all use of the block before whoever takes it next. */
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

/* Nobody takes of it any more: those that are home, unless all are. */
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
	/* Also because who saw the last block home may be faster than who
	 * brought it. */
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

/* Relaxed: the caller holds it, so it cannot go home meanwhile. */
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
