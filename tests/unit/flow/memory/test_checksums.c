/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "lib/dice.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/memory/checksums.h"
#include "lib/suite.h"

enum { SLOTS = 200, SLOT = 100, QUANTUM = 1024 };

static struct arena *arena;
static struct block_pool *pool;
static struct block *b;

static void
begin(uint32_t quantum)
{
	struct block_pool_args args = { .blocks = 1,
					.slots = SLOTS,
					.slot_bytes = SLOT,
					.quantum = quantum };
	struct dice dice = { 3 };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 1 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &args, &fault), 0);
	b = block_pool_take(pool, 0);
	for (uint32_t i = 0; i < SLOTS * SLOT; i++)
		b->data[i] = (uint8_t)dice_bits(&dice);
}

static void
end(void)
{
	block_close(b);
	block_seal(b);
	block_drop(b);
	block_pool_return(pool);
	arena_free(arena);
}

static void
arrive(uint32_t from, uint32_t to)
{
	for (; from < to; from++) {
		b->present[from / 64] |= 1ull << from % 64;
		b->filled++;
		if (b->used <= from)
			b->used = from + 1;
	}
	checksums_extend(b);
}

static void
check(uint64_t bytes)
{
	checksums_seal(b);
	ck_assert_uint_eq(block_quanta(b), (bytes + QUANTUM - 1) / QUANTUM);
	ck_assert_uint_eq(b->crc, crc32c(0, b->data, bytes));
	for (uint32_t i = 0; i < block_quanta(b); i++) {
		uint64_t at = (uint64_t)i * QUANTUM;
		uint64_t left = bytes - at < QUANTUM ? bytes - at : QUANTUM;

		ck_assert_uint_eq(b->sum[i].bytes, left);
		ck_assert_uint_eq(b->sum[i].crc, crc32c(0, b->data + at, left));
	}
}

START_TEST(what_comes_in_order_is_summed_at_once)
{
	begin(QUANTUM);
	for (uint32_t i = 0; i < SLOTS; i += 8) {
		arrive(i, i + 8);
		ck_assert_uint_eq(b->summed, (i + 8) * SLOT);
	}
	memset(b->data, 0, SLOT * SLOTS); /* nobody looks again */
	checksums_seal(b);
	ck_assert_uint_ne(b->crc, crc32c(0, b->data, SLOT * SLOTS));
	end();
}
END_TEST

START_TEST(a_late_packet_is_waited_for)
{
	begin(QUANTUM);
	arrive(0, 5);
	arrive(6, 9);
	ck_assert_uint_eq(b->summed, 5 * SLOT);
	arrive(5, 6);
	ck_assert_uint_eq(b->summed, 9 * SLOT);
	check(9 * SLOT);
	end();
}
END_TEST

START_TEST(a_lost_one_costs_its_quantum_alone)
{
	begin(QUANTUM);
	arrive(0, 3);
	arrive(4, 11);
	ck_assert_uint_eq(b->summed, 3 * SLOT);
	arrive(11, 16); /* and now well into the second */
	ck_assert_uint_eq(b->summed, 16 * SLOT);
	ck_assert_uint_eq(b->sum[0].bytes, 3 * SLOT);
	ck_assert_uint_eq(b->sum[1].bytes, 16 * SLOT - QUANTUM);
	arrive(16, SLOTS);
	/* It comes at last, or is filled. */
	b->present[0] |= 1 << 3;
	b->data[3 * SLOT] ^= 0x55;
	check(SLOTS * SLOT);
	end();
}
END_TEST

START_TEST(a_block_may_end_before_what_was_summed)
{
	begin(QUANTUM);
	arrive(0, 33);
	ck_assert_uint_eq(b->sum[3].bytes, 33 * SLOT - 3 * QUANTUM);
	b->used = 32; /* the last moved to another block */
	b->data[32 * SLOT] ^= 1;
	check(32 * SLOT);
	end();
}
END_TEST

START_TEST(a_block_begins_without_sums_of_the_last_time)
{
	begin(QUANTUM);
	arrive(0, 40);
	block_close(b);
	block_seal(b);
	block_drop(b);
	b = block_pool_take(pool, 0);
	b->data[0] ^= 1;
	arrive(0, 20);
	check(20 * SLOT);
	end();
}
END_TEST

START_TEST(without_checksums_nothing_is_done)
{
	begin(0);
	arrive(0, 50);
	ck_assert_uint_eq(b->summed, 0);
	checksums_seal(b);
	ck_assert_uint_eq(block_quanta(b), 0);
	end();
}
END_TEST

SUITE("checksums", what_comes_in_order_is_summed_at_once,
      a_late_packet_is_waited_for, a_lost_one_costs_its_quantum_alone,
      a_block_may_end_before_what_was_summed,
      a_block_begins_without_sums_of_the_last_time,
      without_checksums_nothing_is_done)
