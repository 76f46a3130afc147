/* SPDX-License-Identifier: MIT */
/*
 * Heaps in a row: in the order that networks may give them, and with what
 * networks lose.
 */
#include "lib/heap_bench.h"

static struct bench bench;

START_TEST(in_order)
{
	static const uint32_t batch[] = { 1, 7, 64, 128 };
	const struct counts *c;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t learned;

		flow_open(&bench, 400, 12, batch[i]);
		for (unsigned n = 1; n <= 3; n++)
			flow_heap(&bench, bench_heap(&bench, n, 60000, 17),
				  JUMBO, batch[i]);
		bench_batch(&bench);
		bench_aim(&bench, batch[i]);
		learned = placement_counts(bench.placement)->moved;
		for (unsigned n = 4; n <= 60; n++) {
			flow_heap(&bench, bench_heap(&bench, n, 60000, 17),
				  JUMBO, batch[i]);
			while (bench.outs)
				bench_home(&bench);
		}
		c = flow_end(&bench);
		all_whole(&bench);
		ck_assert_uint_eq(c->heaps, 60);
		ck_assert_uint_eq(c->heaps_incomplete, 0);
		ck_assert_uint_eq(c->runs, 1);
		/* Nothing is copied once it is known what heaps are like. */
		ck_assert_uint_eq(c->moved, learned);
		bench_close(&bench);
	}
}
END_TEST

/* ---- order ----------------------------------------------------------- */

/* Of each heap the n-th packet comes first, or last. */
static void
one_out_of_place(uint32_t longest, unsigned which, bool first)
{
	flow_open(&bench, 64, 12, 16);
	for (unsigned count = 1; count <= 12; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);
		unsigned n = bench_cuts(s, longest);

		if (first)
			flow(&bench, s, longest, which, 16);
		for (unsigned i = 0; i < n; i++) {
			if (i != which)
				flow(&bench, s, longest, i, 16);
		}
		if (!first)
			flow(&bench, s, longest, which, 16);
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}

START_TEST(one_piece_is_out_of_place)
{
	for (unsigned which = 0; which < 6; which++) {
		one_out_of_place(JUMBO, which, true);
		one_out_of_place(JUMBO, which, false);
		one_out_of_place(MTU, which, true);
		one_out_of_place(MTU, which, false);
	}
}
END_TEST

START_TEST(heaps_in_turns)
{
	for (unsigned way = 2; way <= 7; way++) {
		flow_open(&bench, 256, 8, 64);
		for (unsigned count = 0; count < 21; count += way) {
			struct sent *s[7];

			for (unsigned i = 0; i < way; i++)
				s[i] = bench_heap(&bench, count + i, 30000, 5);
			for (unsigned n = 0; n < bench_cuts(s[0], MTU); n++) {
				for (unsigned i = 0; i < way; i++)
					flow(&bench, s[i], MTU, n, 64);
			}
		}
		flow_end(&bench);
		all_whole(&bench);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(two_senders_with_the_same_counts)
{
	flow_open(&bench, 256, 8, 32);
	for (unsigned count = 0; count < 20; count++) {
		struct sent *a = bench_heap(&bench, count, 20000, 5);
		struct sent *b = bench_heap(&bench, count, 20000, 5);

		b->sender = 7;
		for (unsigned n = 0; n < bench_cuts(a, MTU); n++) {
			flow(&bench, a, MTU, n, 32);
			flow(&bench, b, MTU, n, 32);
		}
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* Sizes that change from heap to heap: every prediction is wrong. */
START_TEST(no_two_heaps_alike)
{
	flow_open(&bench, 256, 8, 50);
	for (unsigned count = 1; count < 60; count++)
		flow_heap(&bench,
			  bench_heap(&bench, count, count * 7919 % 40000 + 1,
				     count * 31 % 90),
			  count % 3 ? MTU : JUMBO, 50);
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* ---- loss ------------------------------------------------------------ */

START_TEST(what_is_lost_is_counted)
{
	const struct counts *c;
	unsigned at = 0, lost = 0;

	flow_open(&bench, 64, 40, 32);
	for (unsigned count = 1; count <= 60; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);
		unsigned n = bench_cuts(s, MTU);

		for (unsigned i = 0; i < n; i++) {
			if (count > 8 && ++at % 13 == 0)
				lost++;
			else
				flow(&bench, s, MTU, i, 32);
		}
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, lost);
	ck_assert_uint_eq(c->heaps, 60);
	ck_assert_uint_eq(c->heaps_incomplete, 52);
	bench_close(&bench);
}
END_TEST

START_TEST(whole_heaps_that_are_lost_are_counted)
{
	unsigned lost = 0, step = 3;

	flow_open(&bench, 64, 40, 32);
	for (unsigned n = 1; n <= 60; n++) {
		struct sent *s = bench_heap(&bench, 100 + n * step, 60000, 17);

		if (n > 10 && n % 7 < 2)
			lost += bench_cuts(s, MTU);
		else
			flow_heap(&bench, s, MTU, 32);
	}
	flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench.missing, lost);
	bench_close(&bench);
}
END_TEST

/* More holes than a heap may have: dropped, never stored wrong. */
START_TEST(too_many_holes)
{
	struct sent *s;

	flow_open(&bench, 256, 8, 32);
	s = bench_heap(&bench, 1, 200000, 0);
	for (uint32_t at = 0; at + 20 < 200000; at += 22) {
		if (bench.packets == 32) {
			bench_batch(&bench);
			bench_aim(&bench, 32);
		}
		bench_piece(&bench, s, at, 20, 0, 0, false);
	}
	flow_end(&bench);
	ck_assert_uint_gt(bench_drop(&bench, DROP_FRAGMENTED), 0);
	ck_assert_uint_gt(bench.filled, 0);
	bench_close(&bench);
}
END_TEST

START_TEST(heaps_that_never_complete)
{
	const struct counts *c;

	flow_open(&bench, 64, 40, 32);
	for (unsigned count = 1; count <= 100; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);

		flow(&bench, s, MTU, count % 3, 32);
		flow(&bench, s, MTU, 20 + count % 3, 32);
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(c->heaps_incomplete, 100);
	/* What is stored has no holes. */
	ck_assert_uint_lt(bench.block_bytes, 100 * (2 * MTU + 17 * 8));
	bench_close(&bench);
}
END_TEST

START_TEST(time_finishes_heaps_and_blocks)
{
	struct sent *s, *t;

	flow_open(&bench, 64, 8, 32);
	s = bench_heap(&bench, 1, 60000, 3);
	flow(&bench, s, MTU, 0, 32);
	bench_batch(&bench);
	bench.now += 1999;
	placement_age(bench.placement, bench.now);
	ck_assert_uint_eq(bench.outs, 0);
	bench.now++;
	placement_age(bench.placement, bench.now);
	ck_assert_uint_eq(bench.outs, 1);
	/* The rest of it is late. */
	bench_aim(&bench, 32);
	flow(&bench, s, MTU, 1, 32);
	t = bench_heap(&bench, 2, 60000, 3);
	flow(&bench, t, MTU, 0, 32);
	bench_batch(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_LATE), 1);
	/* A heap of which something comes is not cut short. */
	for (unsigned n = 1; n < bench_cuts(t, MTU); n++) {
		bench.now += 1000;
		placement_age(bench.placement, bench.now);
		bench_aim(&bench, 32);
		flow(&bench, t, MTU, n, 32);
		bench_batch(&bench);
	}
	ck_assert_uint_eq(bench_lost(t), 0);
	ck_assert_uint_eq(t->times, 1);
	ck_assert_uint_eq(bench.outs, 2); /* and its block was old */
	bench_close(&bench);
}
END_TEST

SUITE("heaps", in_order, one_piece_is_out_of_place, heaps_in_turns,
      two_senders_with_the_same_counts, no_two_heaps_alike,
      what_is_lost_is_counted, whole_heaps_that_are_lost_are_counted,
      too_many_holes, heaps_that_never_complete, time_finishes_heaps_and_blocks)
