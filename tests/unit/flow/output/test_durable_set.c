/* SPDX-License-Identifier: MIT */
/* Numbers that become durable in nearly any order, against a plain array. */
#include "flow/output/durable_set.h"

#include "lib/dice.h"
#include "lib/suite.h"

enum { MANY = 40000 };

static uint64_t
plain_end(const uint8_t *has, uint64_t from)
{
	while (has[from])
		from++;
	return from;
}

START_TEST(as_an_array)
{
	static uint8_t has[2 * MANY];
	struct dice dice = { .state = 3 };
	struct durable_set s;
	uint64_t base = 0;

	durable_set_init(&s, 5);
	for (unsigned i = 0; i < 5; i++)
		has[i] = 1;
	for (unsigned i = 0; i < MANY; i++) {
		/* Behind a hole that is there for long, now and then. */
		uint64_t n = base + dice_roll(&dice, i < MANY / 2 ? 40 : 3000);

		durable_set_add(&s, n);
		has[n] = 1;
		if (dice_chance(&dice, 70))
			base = plain_end(has, 0);
		n = base + dice_roll(&dice, 60);
		ck_assert_uint_eq(durable_set_end(&s, n), plain_end(has, n));
		ck_assert_uint_eq(s.floor, plain_end(has, 0));
	}
	ck_assert_uint_gt(s.floor, 1000);
	durable_set_finish(&s);
}
END_TEST

/* One so far away that there is no memory for it is waited for. */
START_TEST(nobody_takes_all_memory)
{
	struct durable_set s;

	durable_set_init(&s, 0);
	durable_set_add(&s, 1ull << 60);
	ck_assert_uint_eq(durable_set_end(&s, 1ull << 60), 1ull << 60);
	durable_set_add(&s, 0);
	ck_assert_uint_eq(durable_set_end(&s, 0), 1);
	durable_set_add(&s, 0);
	ck_assert_uint_eq(s.floor, 1);
	durable_set_finish(&s);
}
END_TEST

START_TEST(lost_ones)
{
	struct durable_set s;

	durable_set_init(&s, 0);
	ck_assert(!durable_set_is_lost(&s, 0));
	for (uint64_t n = 0; n < MANY; n++)
		n % 7 == 3 ? durable_set_lose(&s, n) : durable_set_add(&s, n);
	ck_assert_uint_eq(s.floor, MANY);
	for (uint64_t n = 0; n < 2 * MANY; n++)
		ck_assert_int_eq(durable_set_is_lost(&s, n),
				 n < MANY && n % 7 == 3);
	durable_set_lose(&s,
			 1ull << 60); /* no memory for that: it is not told */
	ck_assert(!durable_set_is_lost(&s, 1ull << 60));
	durable_set_finish(&s);
}
END_TEST

SUITE("durable_set", lost_ones, as_an_array, nobody_takes_all_memory)
