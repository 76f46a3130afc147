/* SPDX-License-Identifier: MIT */
/*
 * Cubes: one item of each heap in its slot, however its packets came, and
 * zero wherever nothing did.
 */
#include "lib/cube_bench.h"
#include "lib/dice.h"

static struct bench bench;

/* ---- order ----------------------------------------------------------- */

static void
in_order(const struct format_shape *shape, uint32_t longest, unsigned batch,
	 uint32_t skip, uint32_t tail)
{
	uint64_t learned;

	cube_open(&bench, shape, batch);
	for (unsigned count = 2; count < 16; count++)
		flow_heap(&bench, bench_cube(&bench, count, skip, tail),
			  longest, batch);
	cube_next(&bench, batch);
	learned = placement_counts(bench.placement)->moved;
	for (unsigned count = 16; count < 50; count++) {
		flow_heap(&bench, bench_cube(&bench, count, skip, tail),
			  longest, batch);
		cube_next(&bench, batch);
	}
	cube_end(&bench);
	all_there(&bench, 48);
	/* Nothing is copied but what has two items in it. */
	ck_assert_uint_le(placement_counts(bench.placement)->moved,
			  learned + (tail ? 34 : 0));
	bench_close(&bench);
}

START_TEST(heaps_in_order)
{
	static const uint32_t skip[] = { 0, 884, 1851, 7 };

	for (unsigned i = 0; i < 4; i++) {
		in_order(&by_count, JUMBO, 10, skip[i], 0);
		in_order(&by_count, MTU, 64, skip[i], 0);
		in_order(&by_count, MTU, 1, skip[i], 100);
		in_order(&by_count, MTU, 128, skip[i], 3000);
		in_order(&by_time, JUMBO, 10, skip[i], 0);
		in_order(&by_time, MTU, 64, skip[i], 100);
	}
}
END_TEST

static void
one_out_of_place(const struct format_shape *shape, unsigned which, bool first)
{
	cube_open(&bench, shape, 16);
	for (unsigned count = 2; count < 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 10);
		unsigned n = bench_cuts(s, MTU);
		bool odd = count > 4;

		if (odd && first)
			flow(&bench, s, MTU, which, 16);
		for (unsigned i = 0; i < n; i++) {
			if (!odd || i != which)
				flow(&bench, s, MTU, i, 16);
		}
		if (odd && !first)
			flow(&bench, s, MTU, which, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	all_there(&bench, 28);
	bench_close(&bench);
}

START_TEST(one_piece_is_out_of_place)
{
	for (unsigned which = 0; which < 5; which++) {
		one_out_of_place(&by_count, which, true);
		one_out_of_place(&by_count, which, false);
		one_out_of_place(&by_time, which, true);
		one_out_of_place(&by_time, which, false);
	}
}
END_TEST

START_TEST(heaps_in_turns)
{
	for (unsigned way = 2; way <= 4; way++) {
		cube_open(&bench, &by_count, 32);
		for (unsigned count = 12; count < 36; count += way) {
			struct sent *s[4];

			for (unsigned i = 0; i < way; i++)
				s[i] = bench_cube(&bench, count + i, 884, 0);
			for (unsigned n = 0; n < bench_cuts(s[0], MTU); n++) {
				for (unsigned i = 0; i < way; i++)
					flow(&bench, s[i], MTU, n, 32);
			}
			while (bench.outs)
				bench_home(&bench);
		}
		cube_end(&bench);
		all_there(&bench, 24);
		bench_close(&bench);
	}
}
END_TEST

/* Descriptors in the first heap alone: the item lies elsewhere in others. */
START_TEST(items_lie_elsewhere)
{
	for (unsigned which = 0; which < 3; which++) {
		cube_open(&bench, &by_count, 16);
		for (unsigned count = 2; count < 30; count++) {
			struct sent *s = bench_cube(&bench, count,
						    count == 2 ? 1851 : 300, 0);
			bool late = count > 4;

			for (unsigned i = 0; i < bench_cuts(s, MTU); i++) {
				unsigned n = i;

				if (late && i <= which)
					n = i == which ? 0 : i + 1;
				flow(&bench, s, MTU, n, 16);
			}
			while (bench.outs)
				bench_home(&bench);
		}
		cube_end(&bench);
		all_there(&bench, 28);
		bench_close(&bench);
	}
}
END_TEST

/* ---- loss ------------------------------------------------------------ */

START_TEST(what_is_lost_is_zero_and_counted)
{
	unsigned at = 0, gone = 0, heaps = 0;
	const struct counts *c;

	cube_open(&bench, &by_count, 32);
	for (unsigned count = 2; count <= 90; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		unsigned n = bench_cuts(s, MTU);

		if (count > 8 && count % 7 == 0 && count < 88) {
			gone += n;
			continue;
		}
		heaps++;
		for (unsigned i = 0; i < n; i++) {
			if (count > 8 && i && ++at % 13 == 0)
				gone++;
			else
				flow(&bench, s, MTU, i, 32);
		}
		while (bench.outs)
			bench_home(&bench);
	}
	c = cube_end(&bench);
	ck_assert_uint_eq(lost(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, gone);
	ck_assert_uint_eq(c->heaps, heaps);
	bench_close(&bench);
}
END_TEST

/* By count the first packet is not needed, if another heap was as long. */
START_TEST(a_lost_first_piece_costs_itself)
{
	cube_open(&bench, &by_count, 32);
	for (unsigned count = 2; count <= 20; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);

		for (unsigned i = count > 5; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU, i, 32);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(lost(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, 15);
	bench_close(&bench);
}
END_TEST

/* By an item it is: what comes without is in no slot. */
START_TEST(heaps_whose_time_never_comes)
{
	unsigned untimed = 0;

	cube_open(&bench, &by_time, 32);
	for (unsigned count = 2; count <= 20; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		bool without = count > 5 && count % 3 == 0;

		untimed += without ? bench_cuts(s, MTU) - 1 : 0;
		for (unsigned i = without; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU, i, 32);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_UNTIMED), untimed);
	ck_assert_uint_eq(bench_dropped(&bench), untimed);
	bench_close(&bench);
}
END_TEST

/* Time leaps by some steps, and the packet that says so is late. */
START_TEST(a_wrong_guess_is_put_right)
{
	cube_open(&bench, &by_time, 8);
	for (unsigned count = 2; count <= 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		uint64_t time = count * 5000 + (count > 8 ? 15000 : 0);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = time / 5000;
		for (unsigned i = 0; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU,
			     count < 9 || i > 4 ? i
			     : i == 4		? 0
						: i + 1,
			     8);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(lost(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	bench_close(&bench);
}
END_TEST

/* So far that it is not in the window: what came before is untimed. */
START_TEST(a_guess_that_is_too_wrong_costs_what_was_guessed)
{
	cube_open(&bench, &by_time, 8);
	for (unsigned count = 2; count <= 30; count++) {
		struct sent *s = bench_cube(&bench, count, 1851, 0);
		uint64_t time = count * 5000 + (count > 15 ? 250000 : 0);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = time / 5000;
		for (unsigned i = 0; i < bench_cuts(s, MTU); i++)
			flow(&bench, s, MTU,
			     count != 16 || i > 4 ? i
			     : i == 4		  ? 0
						  : i + 1,
			     8);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_UNTIMED), 4);
	ck_assert_uint_eq(bench_dropped(&bench), 4);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	bench_close(&bench);
}
END_TEST

/* Every 25 packets in any order, from the very first on: whatever a heap's
 * first packet is overtaken by waits for it. */
static void
shuffled(const struct format_shape *shape, uint32_t skip, unsigned seed)
{
	enum { HEAPS = 120, SHUFFLE = 25, BATCH = 16 };
	struct sent *s[HEAPS];
	struct dice dice = { seed };
	unsigned order[SHUFFLE], cuts, at = 0, all;

	cube_open(&bench, shape, BATCH);
	for (unsigned i = 0; i < HEAPS; i++)
		s[i] = bench_cube(&bench, i + 2, skip, 0);
	cuts = bench_cuts(s[0], MTU);
	all = HEAPS * cuts;
	for (; at < all; at += SHUFFLE) {
		unsigned n = all - at < SHUFFLE ? all - at : SHUFFLE;

		for (unsigned i = 0; i < n; i++)
			order[i] = at + i;
		dice_shuffle(&dice, order, n);
		for (unsigned i = 0; i < n; i++)
			flow(&bench, s[order[i] / cuts], MTU, order[i] % cuts,
			     BATCH);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	all_there(&bench, HEAPS);
	bench_close(&bench);
}

START_TEST(what_overtakes_its_time_waits_for_it)
{
	for (unsigned seed = 0; seed < suite_times(10, 40); seed++) {
		shuffled(&by_time, 0, seed);
		shuffled(&by_time, 1851, seed);
		shuffled(&by_count, 0, seed);
		shuffled(&by_count, 1851, seed);
	}
}
END_TEST

START_TEST(duplicates_are_dropped)
{
	const struct counts *c;
	struct sent *s, *last = NULL;

	cube_open(&bench, &by_count, 31);
	for (unsigned count = 2; count <= 30; count++) {
		s = bench_cube(&bench, count, 884, 0);
		for (unsigned n = 0; n < bench_cuts(s, MTU); n++) {
			flow(&bench, s, MTU, n, 31);
			flow(&bench, n < 3 && last ? last : s, MTU, n, 31);
		}
		for (unsigned n = 0; n < 3 && last; n++)
			flow(&bench, s, MTU, n, 31);
		last = s;
		while (bench.outs)
			bench_home(&bench);
	}
	c = cube_end(&bench);
	ck_assert_uint_eq(lost(&bench), 0);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->placed, 29 * bench_cuts(s, MTU));
	ck_assert_uint_eq(bench_dropped(&bench),
			  bench_drop(&bench, DROP_DUPLICATE));
	bench_close(&bench);
}
END_TEST

/* ---- time ------------------------------------------------------------ */

static void
steps(uint64_t step, bool given)
{
	struct format_shape shape = { .time_step = given ? step : 0 };

	cube_open(&bench, &shape, 16);
	bench.step = step;
	for (unsigned i = 1; i <= 30; i++) {
		flow_heap(&bench, bench_cube(&bench, i * step, 884, 0), MTU,
			  16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	all_there(&bench, 30);
	ck_assert_uint_eq(bench.gap, 0);
	bench_close(&bench);
}

START_TEST(counts_by_any_step)
{
	steps(1, false);
	steps(1, true);
	steps(8, false);
	steps(8, true);
	steps(1000000007, false);
}
END_TEST

/* Rounded times, whose step is no whole number. */
START_TEST(times_that_are_rounded)
{
	cube_open(&bench, &by_time, 16);
	for (unsigned i = 0; i < 200; i++) {
		struct sent *s = bench_cube(&bench, 2 + i, 884, 0);
		uint64_t time = (uint64_t)(1000000 + i * 1000.37 + 0.5);

		s->item[1] = htobe64(UINT64_C(1) << 63 |
				     (uint64_t)BENCH_TIME << BENCH_BITS | time);
		s->count_out = 1000 + i;
		flow_heap(&bench, s, MTU, 16);
		while (bench.outs)
			bench_home(&bench);
	}
	cube_end(&bench);
	all_there(&bench, 200);
	bench_close(&bench);
}
END_TEST

SUITE("cubes", heaps_in_order, one_piece_is_out_of_place, heaps_in_turns,
      items_lie_elsewhere, what_is_lost_is_zero_and_counted,
      a_lost_first_piece_costs_itself, heaps_whose_time_never_comes,
      a_wrong_guess_is_put_right,
      a_guess_that_is_too_wrong_costs_what_was_guessed,
      what_overtakes_its_time_waits_for_it, duplicates_are_dropped,
      counts_by_any_step, times_that_are_rounded)
