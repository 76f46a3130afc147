/* SPDX-License-Identifier: MIT */
/*
 * Several sockets that bring one stream: each is aimed at what it brings, so
 * that hardly a packet has to be moved.  And two cables that bring the same.
 */
#include "lib/dice.h"
#include "lib/place_bench.h"

enum { SOURCES = 3, BATCH = 64, ROUNDS = 60 };

static struct bench bench;
static struct prediction predictions[SOURCES];

static void
open_slots(uint32_t slots)
{
	struct bench_args args = { .payload = 24,
				   .slots = slots,
				   .parts = 1,
				   .bits = 64,
				   .blocks = 12,
				   .max_gap = 1000,
				   .max_age = 1000 };

	bench_open(&bench, &args);
	memset(predictions, 0, sizeof predictions);
}

static void
source_turn(unsigned source)
{
	bench.prediction[0] = predictions[source];
	bench_aim(&bench, BATCH);
}

static void
source_done(unsigned source)
{
	bench_batch(&bench);
	predictions[source] = bench.prediction[0];
	while (bench.outs > 2)
		bench_home(&bench);
}

/* The n-th packet of one of several that bring bursts in turn. */
static uint64_t
nth(unsigned source, unsigned sources, unsigned burst, uint64_t n)
{
	return n / burst * burst * sources + source * burst + n % burst;
}

static struct counts
in_turn(unsigned sources, unsigned burst, unsigned loss)
{
	struct dice dice = { 3 };
	uint64_t n = 0;

	open_slots(1024);
	for (unsigned round = 0; round < ROUNDS; round++, n += BATCH) {
		for (unsigned s = 0; s < sources; s++) {
			source_turn(s);
			for (unsigned i = 0; i < BATCH; i++) {
				if (!dice_chance(&dice, loss))
					bench_packet(
					    &bench,
					    nth(s, sources, burst, n + i),
					    false);
			}
			source_done(s);
		}
	}
	placement_flush(bench.placement);
	return *placement_counts(bench.placement);
}

START_TEST(sources_in_turn_move_nothing)
{
	for (unsigned sources = 1; sources <= SOURCES; sources++) {
		struct counts c = in_turn(sources, 1, 0);

		ck_assert_uint_eq(c.placed, (uint64_t)sources * BATCH * ROUNDS);
		ck_assert_uint_eq(bench_dropped(&bench), 0);
		/* What was parked, and one batch of each, aimed in the dark. */
		ck_assert_uint_le(c.moved, sources * BATCH + CANDIDATE_AGREE);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(bursts_in_turn_move_little)
{
	for (unsigned sources = 2; sources <= SOURCES; sources++) {
		struct counts c = in_turn(sources, 4, 0);

		ck_assert_uint_eq(c.placed, (uint64_t)sources * BATCH * ROUNDS);
		ck_assert_uint_le(c.moved, sources * BATCH + CANDIDATE_AGREE);
		bench_close(&bench);
	}
}
END_TEST

/* A lost packet shifts those behind it in the batch, and no others: at one in
 * a hundred that is one batch in two, half of it. */
START_TEST(losses_shift_no_more_than_a_batch)
{
	struct counts c = in_turn(2, 1, 1);

	ck_assert_uint_le(c.moved, c.placed / 2);
	ck_assert_uint_eq(c.drop[DROP_OUT_OF_WINDOW], 0);
	bench_close(&bench);
}
END_TEST

/* Dealt out by chance: all are placed, by copy mostly. */
START_TEST(no_pattern_is_no_harm)
{
	struct dice dice = { 9 };
	uint64_t next = 0;

	open_slots(1024);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t queue[2][BATCH];
		unsigned n[2] = { 0, 0 };

		for (; n[0] < BATCH && n[1] < BATCH; next++) {
			unsigned s = dice_roll(&dice, 2);

			queue[s][n[s]++] = next;
		}
		for (unsigned s = 0; s < 2; s++) {
			source_turn(s);
			for (unsigned i = 0; i < n[s]; i++)
				bench_packet(&bench, queue[s][i], false);
			source_done(s);
		}
	}
	placement_flush(bench.placement);
	ck_assert_uint_eq(placement_counts(bench.placement)->placed, next);
	bench_close(&bench);
}
END_TEST

/* Each packet on both: not a run, however long one lags behind the other. */
START_TEST(two_cables_are_no_echo)
{
	open_slots(1024);
	for (uint64_t n = 0; n < ROUNDS; n++) {
		for (unsigned s = 0; s < 2; s++) {
			source_turn(s);
			for (unsigned i = 0; i < BATCH; i++)
				bench_packet(&bench, n * BATCH + i, false);
			source_done(s);
		}
	}
	placement_flush(bench.placement);
	ck_assert_uint_eq(placement_counts(bench.placement)->placed,
			  BATCH * ROUNDS);
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
	ck_assert_uint_eq(
	    placement_counts(bench.placement)->drop[DROP_DUPLICATE],
	    BATCH * ROUNDS);
	bench_close(&bench);
}
END_TEST

/* A full block has left; what comes for it again is a duplicate, and what it
 * was taken for is not open twice. */
START_TEST(full_blocks_leave_at_once)
{
	open_slots(64);
	for (unsigned n = 0; n < 4; n++) {
		source_turn(0);
		for (unsigned i = 0; i < BATCH; i++)
			bench_packet(&bench, n * BATCH + i, false);
		bench_batch(&bench);
		predictions[0] = bench.prediction[0];
		ck_assert_uint_eq(bench.outs, n ? n : 1);
		source_turn(1);
		bench_packet(&bench, n * BATCH + 7, false);
		bench_batch(&bench);
		ck_assert_uint_eq(
		    placement_counts(bench.placement)->drop[DROP_DUPLICATE],
		    n + 1);
	}
	bench_close(&bench);
}
END_TEST

SUITE("place_stride", sources_in_turn_move_nothing, bursts_in_turn_move_little,
      losses_shift_no_more_than_a_batch, no_pattern_is_no_harm,
      two_cables_are_no_echo, full_blocks_leave_at_once)
