/* SPDX-License-Identifier: MIT */
#include "flow/memory/block_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum { MIB = 1 << 20, THREADS = 4, ROUNDS = 3000 };

static struct arena *arena;
static struct fault fault;

static void
open_pool(uint64_t bytes)
{
	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, bytes, NULL, &fault), 0);
}

static struct block_pool *
borrow(unsigned blocks, uint32_t slots, uint32_t slot_bytes)
{
	struct block_pool *s;

	ck_assert_int_eq(block_pool_borrow(arena, &s,
					   &(struct block_pool_args){
					       blocks, slots, slot_bytes, 1, 0,
					       0, NULL, 0, 0 },
					   &fault),
			 0);
	return s;
}

START_TEST(says_what_it_has)
{
	struct arena_facts f;
	struct block_pool *s;

	open_pool(3 * MIB);
	f = arena_facts(arena);
	ck_assert_uint_eq(f.bytes, 3 * MIB);
	ck_assert_uint_eq(f.borrowed, 0);
	ck_assert_ptr_nonnull(f.pages);
	s = borrow(3, 100, 1000);
	ck_assert_uint_eq(block_pool_need(&(struct block_pool_args){
			      3, 100, 1000, 1, 0, 0, NULL, 0, 0 }),
			  3 * 102400);
	/* Notes are in pages of their own. */
	ck_assert_uint_eq(block_pool_need(&(struct block_pool_args){
			      3, 100, 1000, 1, 1, 0, NULL, 0, 0 }),
			  3 * 106496);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 3 * 102400);
	block_pool_return(s);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
}
END_TEST

/* Also where there are no huge pages. */
START_TEST(is_shared_when_asked)
{
	const struct arena_wishes way = { .node = -1, .share = true };
	uint64_t bytes;
	uint8_t *at;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 3 * MIB, &way, &fault), 0);
	ck_assert(arena_facts(arena).shared);
	arena_memory(arena, &bytes);
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, arena_fd(arena), 0);
	ck_assert(at != MAP_FAILED);
	memcpy((uint8_t *)(uintptr_t)arena_memory(arena, &bytes) + 3 * MIB - 5,
	       "here", 5);
	ck_assert_str_eq((char *)at + 3 * MIB - 5, "here");
	munmap(at, bytes);
	arena_free(arena);
}
END_TEST

START_TEST(blocks_are_pages_of_their_own)
{
	struct block_pool *s;
	struct block *b[5], *again;

	open_pool(2 * MIB);
	s = borrow(5, 65, 70);
	ck_assert_uint_eq(block_pool_blocks(s), 5);
	for (int i = 0; i < 5; i++) {
		b[i] = block_pool_take(s, 0);
		ck_assert_ptr_nonnull(b[i]);
		ck_assert_int_eq(b[i]->state, BLOCK_OPEN);
		ck_assert_uint_eq((uintptr_t)b[i]->data % 4096, 0);
		ck_assert_uint_eq(b[i]->slots, 65);
		ck_assert_uint_eq(b[i]->slot_bytes, 70);
		ck_assert_uint_eq(b[i]->used + b[i]->filled + b[i]->gap, 0);
		memset(b[i]->data, i, 65 * 70);
		b[i]->present[0] = b[i]->present[1] = ~0ull;
		b[i]->used = b[i]->filled = 65;
		b[i]->gap = 9;
		ck_assert_uint_eq(block_pool_free_blocks(s), 4 - i);
	}
	ck_assert_ptr_null(block_pool_take(s, 0));
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(b[i]->data[0], i);
		ck_assert_uint_eq(b[i]->data[65 * 70 - 1], i);
	}
	/* Last out first, and without what it had. */
	block_pool_put(b[1]);
	block_pool_put(b[3]);
	again = block_pool_take(s, 0);
	ck_assert_ptr_eq(again, b[3]);
	for (uint32_t i = 0; i < 65; i++)
		ck_assert(!block_has(again, i));
	ck_assert_uint_eq(again->used + again->filled + again->gap, 0);
	ck_assert_ptr_eq(block_pool_take(s, 0), b[1]);
	for (int i = 0; i < 5; i++)
		block_pool_put(b[i]);
	block_pool_return(s);
	arena_free(arena);
}
END_TEST

START_TEST(the_first_that_fits)
{
	struct block_pool *a, *b, *c, *d;
	struct block *k, *other;
	uint8_t *from;

	open_pool(4 * MIB);
	a = borrow(1, 256, 4096);
	b = borrow(1, 256, 4096);
	c = borrow(1, 256, 4096);
	k = block_pool_take(a, 0);
	from = k->data;
	block_pool_put(k);
	block_pool_return(b);
	d = borrow(2, 256, 4096); /* in two pieces */
	k = block_pool_take(d, 0);
	other = block_pool_take(d, 0);
	ck_assert_ptr_eq(k->data, from + 3 * MIB);
	ck_assert_ptr_eq(other->data, from + MIB);
	block_pool_put(k);
	block_pool_put(other);
	block_pool_return(d);
	d = borrow(2, 64, 4096); /* half of the hole */
	k = block_pool_take(d, 0);
	ck_assert(k->data >= from + MIB && k->data < from + 2 * MIB);
	block_pool_put(k);
	b = borrow(1, 256, 4096); /* the other half is too small */
	k = block_pool_take(b, 0);
	ck_assert_ptr_eq(k->data, from + 3 * MIB);
	block_pool_put(k);
	block_pool_return(a);
	block_pool_return(d);
	d = borrow(2, 256, 4096); /* what was given back is one again */
	block_pool_return(d);
	block_pool_return(b);
	block_pool_return(c);
	d = borrow(4, 256, 4096);
	block_pool_return(d);
	arena_free(arena);
}
END_TEST

/* The arena is whole huge pages; what was asked for may be less. */
START_TEST(the_limit_is_hard)
{
	struct block_pool *s, *other;

	open_pool(3 * MIB);
	s = borrow(2, 256, 4096);
	ck_assert_int_eq(
	    block_pool_borrow(
		arena, &other,
		&(struct block_pool_args){ 2, 256, 4096, 1, 0, 0, "r2", 0, 0 },
		&fault),
	    -ENOMEM);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 2 * MIB);
	other = borrow(1, 256, 4096);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 3 * MIB);
	block_pool_return(other);
	block_pool_return(s);
	arena_free(arena);
}
END_TEST

START_TEST(says_who_has_it)
{
	struct block_pool *a, *b, *c;
	char line[1024];

	open_pool(16 * MIB);
	ck_assert_int_eq(
	    block_pool_borrow(
		arena, &a,
		&(struct block_pool_args){ 4, 256, 4096, 1, 0, 0, "r1", 0, 0 },
		&fault),
	    0);
	ck_assert_int_eq(
	    block_pool_borrow(
		arena, &b,
		&(struct block_pool_args){ 2, 256, 4096, 1, 0, 0, "r2", 0, 0 },
		&fault),
	    0);
	ck_assert_int_eq(
	    block_pool_borrow(
		arena, &c,
		&(struct block_pool_args){ 11, 256, 4096, 1, 0, 0, "r3", 0, 0 },
		&fault),
	    -ENOMEM);
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, "11 blocks of r3"), "%s", line);
	ck_assert_msg(strstr(line, "r1 has 4.0 MiB"), "%s", line);
	ck_assert_msg(strstr(line, "r2 has 2.0 MiB"), "%s", line);
	ck_assert_msg(strstr(line, "10.0 MiB are free"), "%s", line);
	ck_assert_msg(strstr(line, "`blocks` = 10 of the stream would fit"),
		      "%s", line);
	block_pool_return(a);
	block_pool_return(b);
	arena_free(arena);
}
END_TEST

START_TEST(too_much_is_explained)
{
	struct block_pool *s, *other;
	char line[1024];

	open_pool(4 * MIB);
	s = borrow(1, 256, 4096);
	ck_assert_int_eq(
	    block_pool_borrow(
		arena, &other,
		&(struct block_pool_args){ 5, 256, 4096, 1, 0, 0, NULL, 0, 0 },
		&fault),
	    -ENOMEM);
	fault_line(&fault, line, sizeof line);
	ck_assert_str_eq(fault.code, "no-memory");
	ck_assert_msg(strstr(line, "5 blocks"), "%s", line);
	ck_assert_msg(strstr(line, "5.0 MiB"), "%s", line);
	ck_assert_msg(strstr(line, "4.0 MiB"), "%s", line);
	ck_assert_msg(strstr(line, "3.0 MiB"), "%s", line);
	ck_assert_msg(strstr(line, "`memory`"), "%s", line);
	ck_assert_uint_eq(arena_facts(arena).borrowed, MIB);
	block_pool_return(s);
	arena_free(arena);
	ck_assert_int_eq(arena_make(&arena, 1ull << 60, NULL, &fault), -ENOMEM);
	fault_line(&fault, line, sizeof line);
	ck_assert_msg(strstr(line, "`memory`"), "%s", line);
}
END_TEST

/* Others have its memory yet: nothing can be taken until it is filled. */
START_TEST(memory_may_come_later)
{
	const struct block_pool_args args = { 4, 256,	 4096, 2, 0,
					      0, "late", 0,    0 };
	struct block_pool *s, *late;
	struct block *b;

	open_pool(4 * MIB);
	s = borrow(2, 256, 4096);
	ck_assert_int_eq(block_pool_borrow_later(arena, &late, &args, &fault),
			 0);
	ck_assert(!block_pool_filled(late));
	ck_assert_uint_eq(arena_facts(arena).borrowed, 2 * MIB);
	ck_assert_ptr_null(block_pool_take(late, 0));
	ck_assert_uint_eq(block_pool_room(late, 1), 0);
	ck_assert(block_pool_tight(late));
	ck_assert_int_eq(block_pool_fill(late), -ENOMEM);
	block_pool_return(s);
	ck_assert_int_eq(block_pool_fill(late), 0);
	ck_assert_int_eq(block_pool_fill(late), 0);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 4 * MIB);
	ck_assert_uint_eq(block_pool_room(late, 1), 2);
	b = block_pool_take(late, 0);
	ck_assert_ptr_nonnull(b);
	block_pool_put(b);
	block_pool_return(late);
	/* One that never gets any; and one that never could. */
	ck_assert_int_eq(block_pool_borrow_later(arena, &late, &args, &fault),
			 0);
	block_pool_return(late);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	ck_assert_int_eq(
	    block_pool_borrow_later(arena, &late,
				    &(struct block_pool_args){
					5, 256, 4096, 1, 0, 0, "never", 0, 0 },
				    &fault),
	    -ENOMEM);
	ck_assert_str_eq(fault.code, "no-memory");
	arena_free(arena);
}
END_TEST

START_TEST(home_when_the_last_lets_go)
{
	struct block_pool *s;
	struct block *b;

	open_pool(2 * MIB);
	s = borrow(1, 4, 100);
	b = block_pool_take(s, 0);
	block_close(b);
	ck_assert_int_eq(b->state, BLOCK_CLOSED);
	block_seal(b);
	ck_assert_int_eq(b->state, BLOCK_SEALED);
	block_hold(b);
	block_hold(b);
	block_drop(b);
	block_drop(b);
	ck_assert_uint_eq(block_pool_free_blocks(s), 0);
	block_drop(b);
	ck_assert_uint_eq(block_pool_free_blocks(s), 1);
	ck_assert_int_eq(b->state, BLOCK_FREE);
	block_pool_return(s);
	arena_free(arena);
}
END_TEST

/* ---- threads --------------------------------------------------------- */

static _Atomic(struct block *) handed[THREADS];
static atomic_bool over;

/* Reads what it holds, and lets go. */
static void *
reader(void *arg)
{
	_Atomic(struct block *) *mine = arg;

	while (!atomic_load(&over) || atomic_load(mine)) {
		struct block *b = atomic_exchange(mine, NULL);

		if (!b) {
			sched_yield();
			continue;
		}
		for (uint32_t i = 1; i < 100; i++) {
			if (b->data[i] != b->data[0])
				abort();
		}
		block_drop(b);
	}
	return NULL;
}

static void
hand_round(struct block_pool *s, uint8_t byte)
{
	struct block *b = block_pool_take(s, 0);

	if (!b) {
		sched_yield();
		return;
	}
	memset(b->data, byte, 100);
	block_close(b);
	block_seal(b);
	for (int i = 0; i < THREADS; i++) {
		struct block *none = NULL;

		block_hold(b);
		if (!atomic_compare_exchange_strong(&handed[i], &none, b))
			block_drop(b);
	}
	block_drop(b);
}

/* What holders read is never written meanwhile; and the pool may go as
 * soon as it says that all are home. */
/* All but the block that a hung disk has can be borrowed again, wherever it
 * lies. */
START_TEST(what_is_home_is_free_at_once)
{
	enum { N = 512 };
	struct block *b[N];
	struct block_pool *s, *t;

	open_pool(2 * MIB);
	for (unsigned kept = 0; kept < N; kept += 73) {
		s = borrow(N, 64, 64);
		for (unsigned i = 0; i < N; i++)
			b[i] = block_pool_take(s, 0);
		for (unsigned i = 0; i < N; i++) {
			memset(b[i]->data, 1, 4096);
			block_close(b[i]);
			block_seal(b[i]);
		}
		for (unsigned i = 0; i < N; i++) {
			if (i != kept)
				block_drop(b[i]);
		}
		block_pool_return(s);
		t = borrow(N - 1, 64, 64);
		for (unsigned i = 0; i < N - 1; i++) {
			struct block *other = block_pool_take(t, 0);

			ck_assert_ptr_ne(other->data, b[kept]->data);
			block_pool_put(other);
		}
		block_drop(b[kept]);
		ck_assert_uint_eq(arena_facts(arena).borrowed, (N - 1) * 4096);
		block_pool_return(t);
		ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	}
	arena_free(arena);
}
END_TEST

/* A disk that hangs keeps its block, and nobody waits for it. */
START_TEST(a_stock_goes_with_its_last_block)
{
	struct block_pool *s;
	struct block *b;

	open_pool(2 * MIB);
	s = borrow(3, 64, 64);
	b = block_pool_take(s, 0);
	block_close(b);
	block_seal(b);
	block_hold(b);
	block_pool_return(s);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 4096);
	block_drop(b);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 4096);
	block_drop(b);
	ck_assert_uint_eq(arena_facts(arena).borrowed, 0);
	arena_free(arena);
}
END_TEST

START_TEST(holders_on_many_threads)
{
	pthread_t thread[THREADS];

	open_pool(2 * MIB);
	for (int round = 0; round < 20; round++) {
		struct block_pool *s = borrow(3, 1, 100);

		atomic_store(&over, false);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, reader,
				       (void *)&handed[i]);
		for (int i = 0; i < ROUNDS / 20; i++)
			hand_round(s, (uint8_t)i);
		while (block_pool_free_blocks(s) < block_pool_blocks(s))
			sched_yield();
		block_pool_return(s);
		atomic_store(&over, true);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	arena_free(arena);
}
END_TEST

/* The daemon need not wait for all of its memory; who needs more than is ready
 * gets the rest by and by. */
START_TEST(the_rest_is_touched_behind)
{
	const struct block_pool_args args = { .blocks = 512,
					      .slots = 256,
					      .slot_bytes = 4096 };
	struct block_pool *s;
	struct arena_facts f;

	open_pool(512 * MIB);
	f = arena_facts(arena);
	ck_assert_uint_ge(f.ready, 64 * MIB);
	ck_assert_uint_eq(f.bytes, 512 * MIB);
	ck_assert_int_eq(block_pool_borrow(arena, &s, &args, &fault), 0);
	ck_assert_uint_ge(block_pool_blocks(s), 64);
	for (int i = 0; i < 60000 && block_pool_fill(s) < 0; i++)
		usleep(1000);
	ck_assert(block_pool_filled(s));
	ck_assert_uint_eq(block_pool_free_blocks(s), 512);
	ck_assert_uint_eq(arena_facts(arena).ready, 512 * MIB);
	block_pool_return(s);
	arena_free(arena);
	/* It may end meanwhile. */
	open_pool(1024 * MIB);
	arena_free(arena);
}
END_TEST

SUITE_THREADS("arena", NULL, says_what_it_has, is_shared_when_asked,
	      blocks_are_pages_of_their_own, the_first_that_fits,
	      the_limit_is_hard, says_who_has_it, too_much_is_explained,
	      memory_may_come_later, home_when_the_last_lets_go,
	      a_stock_goes_with_its_last_block, what_is_home_is_free_at_once,
	      holders_on_many_threads, the_rest_is_touched_behind)
