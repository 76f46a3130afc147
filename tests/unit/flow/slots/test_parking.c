/* SPDX-License-Identifier: MIT */
#include "flow/slots/candidate.h"

#include <string.h>

#include "base/log.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum { BLOCKS = 10, SUBS = 2 };

static struct arena *arena;
static struct block_pool *pool;
static struct parking parking;

static void
parking_open(uint32_t slots)
{
	struct block_pool_args args = {
		.blocks = BLOCKS, .slots = slots, .slot_bytes = 16, .subs = SUBS
	};
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	ck_assert_int_eq(parking_init(&parking, pool, 1, slots), 0);
}

static void
parking_close(void)
{
	parking_release(&parking);
	parking_finish(&parking);
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	block_pool_return(pool);
	arena_free(arena);
}

static unsigned
away(void)
{
	return BLOCKS - block_pool_free_blocks(pool);
}

/* Every place is memory of its own. */
static unsigned
fill(void)
{
	unsigned n = 0;
	int at;

	while ((at = parking_take(&parking, true)) >= 0) {
		memset(parking_slot(&parking, (unsigned)at), at % 251, 16);
		ck_assert_uint_eq((unsigned)at, n);
		n++;
	}
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *slot = parking_slot(&parking, i);

		ck_assert_uint_eq(slot[0], i % 251);
		ck_assert_uint_eq(slot[15], i % 251);
	}
	return n;
}

START_TEST(a_block_is_borrowed_while_something_waits)
{
	parking_open(1000);
	ck_assert_uint_eq(away(), 0);
	ck_assert_uint_eq(fill(), PARKING_MOST);
	ck_assert_uint_eq(away(), 1);
	parking_put(&parking, 77);
	parking_put(&parking, 200);
	ck_assert_int_eq(parking_take(&parking, false), 77);
	ck_assert_int_eq(parking_take(&parking, false), 200);
	for (unsigned i = 0; i < PARKING_MOST; i++) {
		parking_release(&parking);
		ck_assert_uint_eq(away(), 1);
		parking_put(&parking, i);
	}
	parking_release(&parking);
	ck_assert_uint_eq(away(), 0);
	parking_close();
}
END_TEST

START_TEST(what_leaves_is_there_until_the_batch_ends)
{
	parking_open(64);
	ck_assert_uint_eq(fill(), 64);
	parking_leave(&parking, 5);
	ck_assert_int_eq(parking_take(&parking, true), -1);
	parking_release(&parking);
	ck_assert_int_eq(parking_take(&parking, true), 5);
	for (unsigned i = 0; i < 64; i++)
		parking_leave(&parking, i);
	ck_assert_uint_eq(away(), 1);
	parking_release(&parking);
	ck_assert_uint_eq(away(), 0);
	parking_close();
}
END_TEST

/* Small blocks: several, as far as some are left for the stream. */
START_TEST(small_blocks_make_one_of_several)
{
	parking_open(10);
	ck_assert_uint_eq(fill(), 60);
	ck_assert_uint_eq(away(), 6);
	for (unsigned i = 10; i < 20; i++)
		parking_put(&parking, i);
	parking_release(&parking);
	ck_assert_uint_eq(away(), 5);
	ck_assert_int_eq(parking_take(&parking, false), 10);
	for (unsigned i = 0; i < 60; i++) {
		if (i <= 10 || i >= 20)
			parking_put(&parking, i);
	}
	parking_close();
}
END_TEST

/* The first block is its right, and only before there are others. */
START_TEST(what_others_need_stays)
{
	struct block *b[BLOCKS];
	unsigned n = 0;

	parking_open(100);
	while ((b[n] = block_pool_take(pool, 0)))
		n++;
	ck_assert_uint_eq(n, BLOCKS - BLOCK_POOL_EACH);
	ck_assert_int_eq(parking_take(&parking, false), -1);
	ck_assert_int_eq(parking_take(&parking, true), 0);
	for (unsigned i = 1; i < 100; i++)
		ck_assert_int_eq(parking_take(&parking, false), (int)i);
	ck_assert_int_eq(parking_take(&parking, true), -1);
	for (unsigned i = 0; i < 100; i++)
		parking_put(&parking, i);
	while (n)
		block_pool_put(b[--n]);
	parking_close();
}
END_TEST

SUITE("parking", a_block_is_borrowed_while_something_waits,
      what_leaves_is_there_until_the_batch_ends,
      small_blocks_make_one_of_several, what_others_need_stays)
