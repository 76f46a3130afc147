/* SPDX-License-Identifier: MIT */
#include "flow/receive/backlog.c"

#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum { MIB = 1 << 20, SLOTS = 64, SLOT = 1024, MOST = 64, ROUNDS = 20000 };
#define S INT64_C(1000000000)

static struct arena *arena;
static struct block_pool *pool;
static struct backlog *kept;
static struct fault fault;

/* What went out, in its order. */
static struct {
	uint16_t sub;
	uint64_t first, gap;
	unsigned filled;
} gone[ROUNDS * 4];
static unsigned outs;

static void
out(void *arg, struct block *b)
{
	ck_assert_ptr_eq(arg, &outs);
	ck_assert_int_eq(b->state, BLOCK_CLOSED);
	ck_assert_ptr_null(b->next);
	gone[outs].sub = b->sub;
	gone[outs].first = b->first;
	gone[outs].gap = b->gap;
	gone[outs++].filled = b->filled;
	block_seal(b);
	block_drop(b);
}

static void
begin(unsigned blocks, unsigned subs, int64_t keep)
{
	const struct block_pool_args s = { .blocks = blocks,
					   .slots = SLOTS,
					   .slot_bytes = SLOT,
					   .subs = subs };
	const struct backlog_args b = {
		.keep = keep, .subs = subs, .out = out, .arg = &outs
	};
	struct backlog_args args = b;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 16 * MIB, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &s, &fault), 0);
	args.pool = pool;
	ck_assert_int_eq(backlog_make(&kept, &args), 0);
	outs = 0;
}

/* Every block is home again, whatever became of it. */
static void
end(void)
{
	backlog_free(kept);
	ck_assert_uint_eq(block_pool_free_blocks(pool),
			  block_pool_blocks(pool));
	block_pool_return(pool);
	arena_free(arena);
}

static struct block *
closed(unsigned sub, uint64_t first, unsigned filled)
{
	struct block *b = block_pool_take(pool, sub);

	if (!b)
		return NULL;
	b->first = first;
	b->used = SLOTS;
	b->filled = filled;
	block_close(b);
	return b;
}

static void
put(unsigned sub, uint64_t first, unsigned filled, int64_t now)
{
	struct block *b = closed(sub, first, filled);

	ck_assert_ptr_nonnull(b);
	backlog_put(kept, b, now);
}

static uint64_t
before_start(void)
{
	struct counts c = { 0 };

	c.placed = 1000000;
	backlog_counts(kept, &c);
	ck_assert_uint_eq(c.placed + c.drop[DROP_BEFORE_START], 1000000);
	ck_assert_uint_eq(-c.bytes, c.drop[DROP_BEFORE_START] * SLOT);
	return c.drop[DROP_BEFORE_START];
}

START_TEST(what_is_old_goes_home)
{
	begin(32, 1, 10 * S);
	for (int i = 0; i < 20; i++)
		put(0, (uint64_t)i, 3, i * S);
	ck_assert_uint_eq(kept->length, 10);
	ck_assert_uint_eq(before_start(), 30);
	backlog_age(kept, 22 * S);
	ck_assert_uint_eq(kept->length, 7);
	ck_assert_uint_eq(before_start(), 39);
	ck_assert_uint_eq(outs, 0);
	end();
}
END_TEST

START_TEST(what_is_kept_goes_out_in_order)
{
	begin(32, 1, 10 * S);
	for (int i = 0; i < 20; i++)
		put(0, (uint64_t)i, 3, i * S);
	backlog_open(kept);
	ck_assert_int_eq(backlog_kept(kept), 10 * S);
	ck_assert_uint_eq(outs, 10);
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(gone[i].first, 10 + i);
	/* And whatever comes goes straight through, however late it is. */
	put(0, 20, 3, 20 * S);
	put(0, 21, 3, 900 * S);
	backlog_age(kept, 2000 * S);
	ck_assert_uint_eq(outs, 12);
	ck_assert_uint_eq(gone[11].first, 21);
	ck_assert_uint_eq(before_start(), 30);
	end();
}
END_TEST

START_TEST(nothing_is_kept_for_no_time)
{
	begin(8, 1, 0);
	put(0, 0, 7, S);
	ck_assert_uint_eq(kept->length, 0);
	ck_assert_uint_eq(before_start(), 7);
	end();
}
END_TEST

/* Its time window is open, its folders are not made yet. */
START_TEST(what_is_held_does_not_age)
{
	begin(16, 1, 2 * S);
	put(0, 0, 1, 0);
	put(0, 1, 1, S);
	backlog_hold(kept);
	put(0, 2, 1, 100 * S);
	backlog_age(kept, 200 * S);
	ck_assert_uint_eq(kept->length, 3);
	backlog_open(kept);
	backlog_hold(kept);
	ck_assert_uint_eq(outs, 3);
	put(0, 3, 1, 201 * S);
	ck_assert_uint_eq(outs, 4);
	ck_assert_uint_eq(before_start(), 0);
	end();
}
END_TEST

START_TEST(what_was_cancelled_goes_home)
{
	begin(16, 1, 20 * S);
	put(0, 0, 5, 0);
	put(0, 1, 5, S);
	backlog_drop(kept);
	put(0, 2, 5, 2 * S);
	backlog_open(kept);
	ck_assert_uint_eq(outs, 0);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 16);
	ck_assert_uint_eq(before_start(), 15);
	end();
}
END_TEST

/* The stream never waits for its past: there is always room for two more. */
START_TEST(a_short_stock_keeps_less)
{
	begin(8, 1, 1000 * S);
	for (int i = 0; i < 100; i++) {
		put(0, (uint64_t)i, 1, i);
		ck_assert_uint_ge(block_pool_room(pool, 0), ROOM);
	}
	ck_assert_uint_eq(kept->length, 8 - ROOM);
	ck_assert_uint_eq(before_start(), 100 - (8 - ROOM));
	ck_assert_int_eq(backlog_kept(kept), 1000 * S);
	backlog_hold(kept);
	backlog_open(kept);
	ck_assert_uint_eq(gone[0].first, 100 - (8 - ROOM));
	ck_assert_int_eq(backlog_kept(kept), 8 - ROOM);
	end();
}
END_TEST

/* Nor one substream for the past of the others. */
START_TEST(substreams_share_what_is_kept)
{
	enum { SUBS = 6 };

	begin(2 * SUBS + 4, SUBS, 1000 * S);
	for (unsigned i = 0; i < 200; i++) {
		unsigned sub = i < 100 ? i % SUBS : i % 2;

		put(sub, i, 1, i);
		ck_assert_uint_ge(block_pool_room(pool, sub), ROOM);
	}
	ck_assert_uint_gt(kept->length, 3);
	ck_assert_uint_eq(before_start(), 200 - kept->length);
	end();
}
END_TEST

/* What is missing before the first that goes out is not of the recording. */
START_TEST(a_recording_begins_without_a_gap)
{
	struct block *b;

	begin(32, 2, 10 * S);
	for (unsigned i = 0; i < 6; i++) {
		b = closed(i % 2, i, 1);
		b->gap = 100 + i;
		backlog_put(kept, b, i * 3 * S);
	}
	backlog_open(kept);
	ck_assert_uint_eq(outs, 4);
	ck_assert_uint_eq(gone[0].gap, 0);
	ck_assert_uint_eq(gone[1].gap, 0);
	ck_assert_uint_eq(gone[2].gap, 104);
	ck_assert_uint_eq(gone[3].gap, 105);
	end();
}
END_TEST

START_TEST(also_if_all_before_it_went_home)
{
	struct block *b;

	begin(8, 1, 0);
	put(0, 0, 1, 0);
	backlog_open(kept);
	for (unsigned i = 0; i < 2; i++) {
		b = closed(0, i, 1);
		b->gap = 7;
		backlog_put(kept, b, S);
	}
	ck_assert_uint_eq(gone[0].gap, 0);
	ck_assert_uint_eq(gone[1].gap, 7);
	end();
}
END_TEST

/* ---- threads ---------------------------------------------------------- */

static atomic_bool opened;

static void *
putter(void *arg)
{
	unsigned sub = *(unsigned *)arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct block *b = closed(sub, i, 1);

		while (i == ROUNDS / 2 && !atomic_load(&opened))
			sched_yield();
		while (!b) {
			sched_yield();
			b = closed(sub, i, 1);
		}
		backlog_put(kept, b, (int64_t)i * 1000);
		backlog_age(kept, (int64_t)i * 1000);
	}
	return NULL;
}

/* Receivers put while the event loop opens: each substream's blocks that go
 * out are all from some moment on, in order. */
START_TEST(it_opens_while_blocks_come)
{
	unsigned sub[2] = { 0, 1 }, next[2] = { 0 }, any[2] = { 0 };
	pthread_t thread[2];

	begin(24, 2, 5000);
	atomic_store(&opened, false);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
		    pthread_create(&thread[i], NULL, putter, &sub[i]), 0);
	while (before_start() < ROUNDS / 4)
		sched_yield();
	backlog_hold(kept);
	backlog_open(kept);
	atomic_store(&opened, true);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < outs; i++) {
		unsigned s = gone[i].sub;

		if (any[s]++)
			ck_assert_uint_eq(gone[i].first, next[s]);
		next[s] = (unsigned)gone[i].first + 1;
	}
	ck_assert_uint_eq(next[0], ROUNDS);
	ck_assert_uint_eq(next[1], ROUNDS);
	ck_assert_uint_eq(outs + before_start(), 2 * ROUNDS);
	end();
}
END_TEST

SUITE_THREADS("backlog", NULL, what_is_old_goes_home,
	      what_is_kept_goes_out_in_order, nothing_is_kept_for_no_time,
	      what_is_held_does_not_age, what_was_cancelled_goes_home,
	      a_short_stock_keeps_less, substreams_share_what_is_kept,
	      a_recording_begins_without_a_gap, also_if_all_before_it_went_home,
	      it_opens_while_blocks_come)
