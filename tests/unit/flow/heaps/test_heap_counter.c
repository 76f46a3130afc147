/* SPDX-License-Identifier: MIT */
/* Heaps that did not come, by the counts of those that did. */
#include "flow/heaps/heap_counter.h"

#include "lib/dice.h"
#include "lib/suite.h"

enum { HEAPS = 1000 };

static struct heap_counter
steps_of(uint64_t far)
{
	return (struct heap_counter){ .far = far };
}

START_TEST(those_left_out_are_missing)
{
	static const uint64_t step[] = { 1, 2, 8, 1000003 };

	for (unsigned k = 0; k < 4; k++) {
		struct heap_counter s = steps_of(100);
		struct dice dice = { k + 1 };
		uint64_t lost = 0, told = 0;

		for (uint64_t i = 0; i < HEAPS; i++) {
			if (i > 10 && i < HEAPS - 1 && dice_chance(&dice, 10))
				lost++;
			else
				heap_counter_see(&s, 77 + i * step[k], 0);
			if (dice_chance(&dice, 5))
				told += heap_counter_missing(&s);
		}
		ck_assert_uint_eq(told + heap_counter_missing(&s), lost);
	}
}
END_TEST

/* Heaps may begin in another order than they were sent. */
START_TEST(those_that_are_late_are_not)
{
	struct heap_counter s = steps_of(100);
	uint64_t told = 0;

	for (uint64_t i = 0; i < HEAPS; i += 2) {
		heap_counter_see(&s, i + 1, 0);
		if (i % 50 == 0)
			told += heap_counter_missing(&s);
		heap_counter_see(&s, i, 0);
	}
	ck_assert_uint_le(told, 1);
	ck_assert_uint_eq(heap_counter_missing(&s), 0);
}
END_TEST

/* The first heaps change places, before the step is known. */
START_TEST(the_first_are_in_another_order)
{
	static const uint64_t first[][4] = {
		{ 3, 0, 6, 9 }, { 0, 6, 3, 9 }, { 0, 3, 9, 6 }, { 6, 3, 0, 9 }
	};

	for (unsigned k = 0; k < 4; k++) {
		struct heap_counter s = steps_of(100);

		for (unsigned i = 0; i < 4; i++)
			heap_counter_see(&s, 77 + first[k][i], 0);
		for (uint64_t i = 12; i < 60; i += 3)
			heap_counter_see(&s, 77 + i, 0);
		ck_assert_uint_eq(heap_counter_missing(&s), 0);
	}
}
END_TEST

START_TEST(a_step_that_was_wrong)
{
	struct heap_counter s = steps_of(100);

	heap_counter_see(&s, 1, 0);
	for (uint64_t i = 3; i < 20; i++) /* the second was lost */
		heap_counter_see(&s, i, 0);
	ck_assert_uint_eq(heap_counter_missing(&s), 1);
}
END_TEST

/* A control heap has a count between those of the data, and then one is lost. */
START_TEST(a_step_that_was_too_small)
{
	for (uint64_t stray = 1; stray < 12; stray += 2) {
		struct heap_counter s = steps_of(100);
		uint64_t told = 0;

		for (uint64_t i = 0; i < 60; i++) {
			if (i == stray || (i % 2 == 0 && i != 40))
				heap_counter_see(&s, i, 0);
			told += heap_counter_missing(&s);
		}
		ck_assert_uint_eq(told, 1);
	}
}
END_TEST

START_TEST(counts_that_mean_nothing)
{
	struct heap_counter s = steps_of(100);
	struct dice dice = { 9 };

	for (unsigned i = 0; i < HEAPS; i++)
		heap_counter_see(&s, dice_bits(&dice) >> 20, 0);
	ck_assert_uint_eq(heap_counter_missing(&s), 0);
}
END_TEST

START_TEST(a_leap_is_no_loss)
{
	struct heap_counter s = steps_of(100);

	for (uint64_t i = 0; i < 20; i++)
		heap_counter_see(&s, i, 0);
	for (uint64_t i = 1000000; i < 1000020; i++)
		heap_counter_see(&s, i, 0);
	for (uint64_t i = 0; i < 20; i++)
		heap_counter_see(&s, i, 0);
	ck_assert_uint_eq(heap_counter_missing(&s), 0);
}
END_TEST

START_TEST(each_sender_counts_for_itself)
{
	struct heap_counter s = steps_of(100);

	for (uint64_t i = 0; i < 50; i++) {
		for (uint32_t k = 0; k < HEAP_COUNTER_SENDERS; k++) {
			if (i != 20 + k)
				heap_counter_see(&s, i * (k + 1), k);
		}
	}
	ck_assert_uint_eq(heap_counter_missing(&s), HEAP_COUNTER_SENDERS);
}
END_TEST

/* There was no memory for some, of which many pieces came; one of them began
 * after all. */
START_TEST(those_without_memory_are_missing)
{
	struct heap_counter s = steps_of(100);

	heap_counter_pass(&s, 5, 0);
	for (uint64_t i = 0; i < 20; i++)
		heap_counter_see(&s, 2 * i, 0);
	for (uint64_t i = 20; i < 25; i++) {
		for (unsigned pieces = 0; pieces < 10; pieces++)
			heap_counter_pass(&s, 2 * i, 0);
	}
	heap_counter_pass(&s, 3, 0);
	heap_counter_pass(&s, 1000, 0);
	heap_counter_pass(&s, 49, 0);
	heap_counter_pass(&s, 50, 1);
	ck_assert_uint_eq(heap_counter_missing(&s), 5);
	heap_counter_pass(&s, 50, 0);
	heap_counter_see(&s, 50, 0);
	ck_assert_uint_eq(heap_counter_missing(&s), 0);
	heap_counter_see(&s, 54, 0);
	ck_assert_uint_eq(heap_counter_missing(&s), 1);
}
END_TEST

SUITE("heap_counter", those_without_memory_are_missing,
      those_left_out_are_missing, those_that_are_late_are_not,
      the_first_are_in_another_order, a_step_that_was_wrong,
      a_step_that_was_too_small, counts_that_mean_nothing, a_leap_is_no_loss,
      each_sender_counts_for_itself)
