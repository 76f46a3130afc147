/* SPDX-License-Identifier: MIT */
#include "flow/place/prediction.h"

#include "lib/suite.h"

/* What a source brings: packet i of a pattern. */
static uint64_t
patterned(uint64_t i, uint32_t burst, uint32_t cycle)
{
	return i / burst * cycle + i % burst;
}

static struct prediction
taught(uint64_t first, unsigned n, uint32_t burst, uint32_t cycle)
{
	struct prediction a = { 0 };

	prediction_begin(&a, 1, first);
	for (unsigned i = 1; i < n; i++)
		prediction_saw(&a, first + patterned(i, burst, cycle));
	return a;
}

/* The next packets that it expects are those of the pattern. */
static void
expects(const struct prediction *a, uint64_t first, unsigned i, uint32_t burst,
	uint32_t cycle)
{
	uint32_t at;
	uint64_t rel = prediction_from(a, a->last + 1, &at);

	for (unsigned end = i + 50; i < end; i++) {
		ck_assert_uint_eq(rel, first + patterned(i, burst, cycle));
		rel += prediction_step(a, &at);
	}
}

START_TEST(one_source_brings_all)
{
	struct prediction a = taught(7, 100, 1, 1);

	expects(&a, 7, 100, 1, 1);
	ck_assert_uint_eq(a.top, 106);
}
END_TEST

START_TEST(sources_in_turn)
{
	for (uint32_t cycle = 2; cycle < 9; cycle++) {
		struct prediction a = taught(5, 1 + PREDICTION_SURE, 1, cycle);

		expects(&a, 5, 1 + PREDICTION_SURE, 1, cycle);
	}
}
END_TEST

/* From wherever in a burst it begins; and each place in it is known. */
START_TEST(bursts)
{
	for (unsigned n = 20; n < 30; n++) {
		struct prediction a = taught(1000, n, 4, 8);

		expects(&a, 1000, n, 4, 8);
		a = taught(3, n, 4, 12);
		expects(&a, 3, n, 4, 12);
	}
}
END_TEST

START_TEST(a_loss_shifts_nothing)
{
	struct prediction a = taught(0, 40, 4, 12);

	/* 40 is the first of a burst: it and the next are lost. */
	for (unsigned i = 42; i < 44; i++)
		prediction_saw(&a, patterned(i, 4, 12));
	expects(&a, 0, 44, 4, 12);
	a = taught(0, 40, 1, 2);
	prediction_saw(&a, patterned(41, 1, 2));
	expects(&a, 0, 42, 1, 2);
}
END_TEST

/* Three losses, each as far from the other as it may, are no pattern. */
START_TEST(losses_are_no_pattern)
{
	struct prediction a = taught(0, 100, 1, 1);
	uint64_t rel = 99;

	for (unsigned i = 0; i < 50; i++) {
		rel += 2;
		for (unsigned k = 0; k < 20 + i % 3; k++)
			prediction_saw(&a, rel + k);
		rel += 20 + i % 3 - 1;
	}
	expects(&a, 0, (unsigned)rel + 1, 1, 1);
}
END_TEST

START_TEST(swaps_are_no_pattern)
{
	struct prediction a = taught(0, 100, 1, 2);

	for (unsigned i = 100; i < 140; i += 4) {
		prediction_saw(&a, patterned(i + 1, 1, 2));
		prediction_saw(&a, patterned(i, 1, 2));
		prediction_saw(&a, patterned(i + 2, 1, 2));
		prediction_saw(&a, patterned(i + 3, 1, 2));
	}
	expects(&a, 0, 140, 1, 2);
}
END_TEST

/* The other socket goes silent, and comes back. */
START_TEST(patterns_come_and_go)
{
	struct prediction a = taught(0, 40, 1, 2);

	for (uint64_t rel = 80; rel < 100; rel++)
		prediction_saw(&a, rel);
	expects(&a, 0, 100, 1, 1);
	for (uint64_t rel = 101; rel < 111; rel += 2)
		prediction_saw(&a, rel);
	expects(&a, 1, 55, 1, 2);
}
END_TEST

START_TEST(far_back_is_another_beginning)
{
	struct prediction a = taught(0, 2000, 1, 2);

	for (uint64_t rel = 1001; rel < 1100; rel += 3)
		prediction_saw(&a, rel);
	expects(&a, 1001, 33, 1, 3);
	ck_assert_uint_eq(a.top, 3998);
}
END_TEST

SUITE("prediction", one_source_brings_all, sources_in_turn, bursts,
      a_loss_shifts_nothing, losses_are_no_pattern, swaps_are_no_pattern,
      patterns_come_and_go, far_back_is_another_beginning)
