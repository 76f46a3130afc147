/* SPDX-License-Identifier: MIT */
/*
 * A pool that many substreams share: whatever some of them do, each of the
 * others can have its blocks.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "lib/dice.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "lib/suite.h"

enum { SUBS = 7, MOST = 40, ROUNDS = 20000 };

static struct arena *arena;
static struct block_pool *pool;

static void
pool_open(unsigned blocks, unsigned subs)
{
	struct block_pool_args args = { blocks, 4, 64, subs, 0, 0, NULL, 0, 0 };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
}

static void
pool_close(void)
{
	ck_assert_uint_eq(block_pool_free_blocks(pool),
			  block_pool_blocks(pool));
	block_pool_return(pool);
	arena_free(arena);
}

START_TEST(one_alone_has_all)
{
	struct block *b[5];

	pool_open(5, 1);
	for (int i = 0; i < 5; i++) {
		ck_assert(i < 2 || !block_pool_tight(pool));
		b[i] = block_pool_take(pool, 0);
		ck_assert_ptr_nonnull(b[i]);
	}
	ck_assert(block_pool_tight(pool));
	ck_assert_ptr_null(block_pool_take(pool, 0));
	for (int i = 0; i < 5; i++)
		block_pool_put(b[i]);
	pool_close();
}
END_TEST

/* Blocks that wait for a slow disk count as those of their substream. */
START_TEST(a_greedy_one_leaves_the_others_theirs)
{
	struct block *b[MOST];
	unsigned n = 0;

	pool_open(2 * SUBS + 3, SUBS);
	while ((b[n] = block_pool_take(pool, 3))) {
		ck_assert_uint_eq(b[n]->sub, 3);
		block_close(b[n]);
		block_seal(b[n++]);
	}
	ck_assert_uint_eq(n, 2 + 3);
	ck_assert(block_pool_tight(pool));
	for (unsigned sub = 0; sub < SUBS; sub++) {
		for (unsigned i = 0; i < 2 && sub != 3; i++) {
			b[n] = block_pool_take(pool, sub);
			ck_assert_ptr_nonnull(b[n++]);
		}
		ck_assert_ptr_null(block_pool_take(pool, sub));
	}
	block_drop(b[0]);
	ck_assert_ptr_nonnull(b[0] =
				  block_pool_take(pool, 0)); /* now anyone's */
	block_pool_put(b[0]);
	for (unsigned i = 1; i < n; i++)
		block_pool_put(b[i]);
	pool_close();
}
END_TEST

/* Fewer than two each: one each; fewer than that: first come. */
START_TEST(too_few_are_shared_too)
{
	struct block *b[MOST];
	unsigned n = 0;

	pool_open(SUBS + 2, SUBS);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_nonnull(b[n++] = block_pool_take(pool, 0));
	ck_assert_ptr_null(block_pool_take(pool, 0));
	for (unsigned sub = 1; sub < SUBS; sub++)
		ck_assert_ptr_nonnull(b[n++] = block_pool_take(pool, sub));
	while (n)
		block_pool_put(b[--n]);
	pool_close();
	pool_open(SUBS - 2, SUBS);
	while ((b[n] = block_pool_take(pool, 0)))
		n++;
	ck_assert_uint_eq(n, SUBS - 2);
	while (n)
		block_pool_put(b[--n]);
	pool_close();
}
END_TEST

/* Takes and returns at random, beside a model of what has to come of it. */
START_TEST(a_right_is_never_refused)
{
	struct dice dice = { 5 };
	struct block *b[MOST];
	unsigned held[SUBS] = { 0 }, n = 0, blocks = 2 * SUBS + 5;

	pool_open(blocks, SUBS);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned sub = dice_roll(&dice, SUBS), need = 0;
		bool take = dice_chance(&dice, i / 1000 % 2 ? 70 : 45);

		if (!take && n) {
			unsigned which = dice_roll(&dice, n);

			held[b[which]->sub]--;
			block_pool_put(b[which]);
			b[which] = b[--n];
		}
		if (!take)
			continue;
		for (unsigned s = 0; s < SUBS; s++)
			need += held[s] < 2 ? 2 - held[s] : 0;
		b[n] = block_pool_take(pool, sub);
		ck_assert_int_eq(b[n] != NULL,
				 held[sub] < 2 || blocks - n > need);
		held[sub] += b[n] != NULL;
		n += b[n] != NULL;
	}
	while (n)
		block_pool_put(b[--n]);
	pool_close();
}
END_TEST

static atomic_bool refused;

static void *
modest(void *arg)
{
	unsigned sub = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS / 4; i++) {
		struct block *a = block_pool_take(pool, sub);
		struct block *b = block_pool_take(pool, sub);

		if (!a || !b)
			atomic_store(&refused, true);
		if (a)
			block_pool_put(a);
		if (b)
			block_pool_put(b);
	}
	return NULL;
}

static void *
greedy(void *arg)
{
	unsigned sub = (unsigned)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS / 40; i++) {
		struct block *b[MOST];
		unsigned n = 0;

		while (n < MOST && (b[n] = block_pool_take(pool, sub)))
			n++;
		while (n)
			block_pool_put(b[--n]);
	}
	return NULL;
}

START_TEST(nor_on_many_threads)
{
	pthread_t thread[SUBS];

	pool_open(2 * SUBS + 1, SUBS);
	for (uintptr_t i = 0; i < SUBS; i++)
		pthread_create(&thread[i], NULL, i < 3 ? modest : greedy,
			       (void *)i);
	for (int i = 0; i < SUBS; i++)
		pthread_join(thread[i], NULL);
	ck_assert(!atomic_load(&refused));
	pool_close();
}
END_TEST

/* ---- pools that grow ----------------------------------------------------- */

enum { PIECE = 4096, PIECES = 20 };

static void
pieces_open(unsigned pieces)
{
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, pieces * PIECE, NULL, &fault), 0);
}

static int
pool_grows(struct block_pool **p, unsigned right, unsigned most)
{
	const struct block_pool_args args = {
		.blocks = right, .slots = 4, .slot_bytes = 64, .most = most
	};
	struct fault fault;

	return block_pool_borrow(arena, p, &args, &fault);
}

static unsigned
take_all(struct block_pool *p, struct block **b)
{
	unsigned n = 0;

	while (n < PIECES + 1 && (b[n] = block_pool_take(p, 0)))
		n++;
	return n;
}

START_TEST(a_pool_grows_while_nobody_else_needs_it)
{
	struct block *b[PIECES + 1];

	pieces_open(PIECES);
	ck_assert_int_eq(pool_grows(&pool, 5, 15), 0);
	ck_assert_uint_eq(block_pool_blocks(pool), 5);
	ck_assert_uint_eq(take_all(pool, b), 15);
	ck_assert_uint_eq(arena_facts(arena).lent, 10 * PIECE);
	for (unsigned i = 0; i < 15; i++) {
		for (unsigned k = 0; k < i; k++)
			ck_assert_ptr_ne(b[i]->data, b[k]->data);
	}
	for (unsigned i = 0; i < 15; i++)
		block_pool_put(b[i]);
	/* It keeps no more than it may soon need. */
	ck_assert_uint_ge(block_pool_blocks(pool), 5);
	ck_assert_uint_le(block_pool_blocks(pool), 5 + 2 * BLOCK_POOL_EACH);
	ck_assert_uint_eq(take_all(pool, b), 15);
	for (unsigned i = 0; i < 15; i++)
		block_pool_put(b[i]);
	block_pool_return(pool);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
}
END_TEST

/* Who begins to record gets what it has a right to as soon as it comes back,
 * and who has more keeps its right. */
START_TEST(what_is_lent_is_asked_back)
{
	struct block *b[PIECES + 1], *own[PIECES + 1];
	struct block_pool *other, *third;

	pieces_open(PIECES);
	ck_assert_int_eq(pool_grows(&pool, 5, PIECES), 0);
	ck_assert_uint_eq(take_all(pool, b), PIECES);
	ck_assert_int_eq(pool_grows(&other, 8, PIECES), 0);
	ck_assert(!block_pool_filled(other));
	ck_assert_uint_eq(block_pool_blocks(other), 0);
	ck_assert_uint_eq(block_pool_room(other, 0), 0);
	ck_assert_ptr_null(block_pool_take(other, 0));
	/* Rights alone count for who else may begin. */
	ck_assert_int_eq(pool_grows(&third, 8, 8), -ENOMEM);
	for (unsigned i = 0; i < 3; i++)
		block_pool_put(b[i]);
	ck_assert_ptr_null(block_pool_take(pool, 0));
	/* It takes what has come back, as soon as it needs it. */
	ck_assert_ptr_nonnull(own[0] = block_pool_take(other, 0));
	ck_assert_uint_eq(block_pool_blocks(other), 3);
	ck_assert_int_eq(block_pool_fill(other), -ENOMEM);
	for (unsigned i = 3; i < PIECES; i++)
		block_pool_put(b[i]);
	ck_assert_int_eq(block_pool_fill(other), 0);
	ck_assert_uint_eq(block_pool_blocks(other), 8);
	ck_assert_uint_ge(block_pool_blocks(pool), 5);
	ck_assert(!arena_asks_back(arena));
	/* The third has room, and makes what lies idle come back. */
	ck_assert_int_eq(pool_grows(&third, 7, 7), 0);
	block_pool_fill(pool);
	ck_assert_int_eq(block_pool_fill(third), 0);
	ck_assert_uint_eq(block_pool_blocks(pool), 5);
	block_pool_put(own[0]);
	block_pool_return(third);
	block_pool_return(other);
	block_pool_return(pool);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
}
END_TEST

/* Blocks that a hung disk has keep their memory, and nobody waits for them. */
START_TEST(a_pool_that_grew_ends_with_its_last_block)
{
	struct block *b[PIECES + 1];
	struct block_pool *other;

	pieces_open(PIECES);
	ck_assert_int_eq(pool_grows(&pool, 5, PIECES), 0);
	ck_assert_uint_eq(take_all(pool, b), PIECES);
	for (unsigned i = 4; i < PIECES; i++)
		block_pool_put(b[i]);
	block_pool_return(pool);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 4 * PIECE);
	ck_assert(!arena_asks_back(arena));
	ck_assert_int_eq(pool_grows(&other, 17, 17), -ENOMEM);
	ck_assert_int_eq(pool_grows(&other, 16, 16), 0);
	ck_assert(block_pool_filled(other));
	for (unsigned i = 0; i < 4; i++)
		block_pool_put(b[i]);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 16 * PIECE);
	block_pool_return(other);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
}
END_TEST

/* Takes as many blocks as there are, writes into each that it is its own, and
 * returns them. */
static void *
hungry(void *arg)
{
	struct block_pool *p = arg;

	for (int i = 0; i < ROUNDS / 10; i++) {
		struct block *b[PIECES + 1];
		unsigned n = take_all(p, b);

		for (unsigned k = 0; k < n; k++)
			memcpy(b[k]->data, &b[k], sizeof b[k]);
		for (unsigned k = 0; k < n; k++) {
			if (memcmp(b[k]->data, &b[k], sizeof b[k]) != 0)
				atomic_store(&refused, true);
		}
		while (n)
			block_pool_put(b[--n]);
	}
	return NULL;
}

START_TEST(pools_grow_on_many_threads)
{
	struct block_pool *p[3], *guest;
	pthread_t thread[3];
	unsigned guests = 0;

	atomic_store(&refused, false);
	pieces_open(PIECES);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pool_grows(&p[i], 3, PIECES), 0);
		pthread_create(&thread[i], NULL, hungry, p[i]);
	}
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(pool_grows(&guest, 11, 11), 0);
		for (int k = 0; k < 100 && block_pool_fill(guest) < 0; k++) {
			for (int n = 0; n < 3; n++)
				block_pool_fill(p[n]);
			sched_yield();
		}
		guests += block_pool_filled(guest);
		block_pool_return(guest);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	ck_assert(!atomic_load(&refused));
	ck_assert_uint_gt(guests, 0);
	/* A thread that was done before the others gave blocks back has none
	 * yet.  Its owner asks again, as a recording does. */
	for (int i = 0; i < 3; i++)
		block_pool_fill(p[i]);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(block_pool_fill(p[i]), 0);
		ck_assert_uint_ge(block_pool_blocks(p[i]), 3);
		ck_assert_uint_eq(block_pool_free_blocks(p[i]),
				  block_pool_blocks(p[i]));
		block_pool_return(p[i]);
	}
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	ck_assert_uint_eq(arena_facts(arena).lent, 0);
	arena_free(arena);
}
END_TEST

SUITE_THREADS("block_pool", NULL, one_alone_has_all,
	      a_greedy_one_leaves_the_others_theirs, too_few_are_shared_too,
	      a_right_is_never_refused, nor_on_many_threads,
	      a_pool_grows_while_nobody_else_needs_it,
	      what_is_lent_is_asked_back,
	      a_pool_that_grew_ends_with_its_last_block,
	      pools_grow_on_many_threads)
