/* SPDX-License-Identifier: MIT */
#include "store/read/readahead.h"
#include "lib/dice.h"
#include "lib/suite.h"

/* Who reads on, and who jumps. */

enum { K = 1 << 10, M = 1 << 20 };
#define G (UINT64_C(1) << 30)

static struct readahead t;
static struct dice d;

static uint64_t
step(uint64_t offset, uint64_t bytes)
{
	return readahead_bytes(&t.stretch[readahead_step(&t, offset, bytes)]);
}

START_TEST(test_reads_on)
{
	uint64_t last = 0, ahead;

	t = (struct readahead){ 0 };
	ck_assert_uint_eq(step(0, 128 * K), 0);
	for (uint64_t at = 128 * K; at < 2 * G; at += 128 * K) {
		ahead = step(at, 128 * K);
		ck_assert_uint_gt(ahead, 0);
		if (at < 128 * M)
			ck_assert_uint_ge(ahead, last);
		last = ahead;
	}
	ck_assert_uint_ge(last, G);
}
END_TEST

/* Requests that overtake each other, by up to 4 MiB. */
START_TEST(test_overtaken)
{
	enum { SOME = 32 };
	unsigned without = 0;

	t = (struct readahead){ 0 };
	for (uint64_t at = 0; at < G; at += SOME * 128 * K) {
		unsigned order[SOME];

		for (unsigned i = 0; i < SOME; i++)
			order[i] = i;
		for (unsigned i = SOME - 1; i; i--) {
			/* A thread is some requests late, not all. */
			unsigned with =
			    i > 3 ? i - dice_roll(&d, 4) : dice_roll(&d, i + 1);
			unsigned other = order[i];

			order[i] = order[with];
			order[with] = other;
		}
		for (unsigned i = 0; i < SOME; i++)
			without += !step(at + order[i] * 128 * K, 128 * K);
	}
	ck_assert_uint_lt(without, SOME); /* as it begins */
}
END_TEST

/* A jump costs nothing, wherever somebody has read on before. */
START_TEST(test_jumps)
{
	unsigned ahead = 0;

	t = (struct readahead){ 0 };
	for (uint64_t at = 0; at < 64 * M; at += M)
		step(at, M);
	for (unsigned i = 0; i < 10000; i++)
		ahead +=
		    step(dice_roll(&d, 1 << 20) * (uint64_t)(64 * K), M) > 0;
	/* Some happen to be next to each other. */
	ck_assert_uint_lt(ahead, 100);
	for (unsigned i = 0; i < 10000; i++)
		ck_assert_uint_eq(step(G * 80 - i * 4 * K, 4 * K), 0);
}
END_TEST

/* As many at once as there are stretches. */
START_TEST(test_in_turn)
{
	t = (struct readahead){ 0 };
	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = 0; k < READAHEAD_STRETCHES; k++) {
			uint64_t ahead = step(k * G + i * (uint64_t)M, M);

			ck_assert_int_eq(ahead > 0, i > 0);
		}
	}
}
END_TEST

/* Of each MiB a bit: that is not reading on. */
START_TEST(test_here_and_there)
{
	t = (struct readahead){ 0 };
	for (unsigned i = 0; i < 1000; i++)
		ck_assert_uint_eq(step(i * (uint64_t)M, 64 * K), 0);
}
END_TEST

SUITE("readahead", test_reads_on, test_overtaken, test_jumps, test_in_turn,
      test_here_and_there)
