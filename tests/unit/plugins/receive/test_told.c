/* SPDX-License-Identifier: MIT */
/* What was told, against a bit for each packet. */
#include "receive/tcp/transfer.c"

#include <string.h>

#include "lib/dice.h"
#include "lib/suite.h"

enum { MOST = 4000 };

static struct told t;
static bool bit[MOST];
static uint64_t start;

static void
begin(uint64_t at)
{
	start = at;
	told_clear(&t, at);
	memset(bit, 0, sizeof bit);
}

/* What it says of n packets from `at` on is true. */
static void
check(unsigned at, unsigned n)
{
	unsigned already = 0, fresh = 0;

	while (already < n && bit[at + already])
		already++;
	while (fresh < n && !bit[at + fresh])
		fresh++;
	/* It may say less, where stretches meet: then it is asked again. */
	if (already) {
		unsigned says = told_already(&t, start + at, n);

		ck_assert_uint_ge(says, 1);
		ck_assert_uint_le(says, already);
	} else {
		ck_assert_uint_eq(told_already(&t, start + at, n), 0);
		ck_assert_uint_eq(told_not_yet(&t, start + at, n), fresh);
	}
}

static void
add(unsigned at, unsigned n)
{
	n = told_not_yet(&t, start + at, n);
	if (!n || told_already(&t, start + at, n))
		return;
	told_add(&t, start + at, n);
	memset(bit + at, 1, n);
}

static void
rise(unsigned low)
{
	told_rise(&t, start + low);
	if (t.low - start == low)
		memset(bit, 1, low);
}

START_TEST(any_order)
{
	static const uint64_t starts[] = { 0, 77, UINT64_MAX - MOST / 2 };
	struct dice d = { 5 };

	for (int round = 0; round < 300; round++) {
		unsigned low = 0;

		begin(starts[round % 3]);
		for (int i = 0; i < 200; i++) {
			unsigned n = 1 + dice_roll(&d, 60);
			unsigned at = dice_roll(&d, MOST - 60);

			check(at, n);
			add(at, n);
			check(at, n);
			if (dice_chance(&d, 5)) {
				low += dice_roll(&d, 100);
				rise(low);
			}
			ck_assert_uint_le(t.n, TOLD_RANGES);
		}
		for (unsigned i = 0; i < MOST; i++)
			check(i, 1);
	}
}
END_TEST

START_TEST(in_order_it_is_one_stretch)
{
	begin(0);
	for (unsigned i = 0; i < 3000; i += 10) {
		add(i, 10);
		ck_assert_uint_eq(t.n, 1);
	}
	rise(3000);
	ck_assert_uint_eq(t.n, 0);
	ck_assert_uint_eq(told_already(&t, 2999, 10), 1);
	ck_assert_uint_eq(told_already(&t, 3000, 10), 0);
	rise(10); /* it never falls */
	ck_assert_uint_eq(t.low, 3000);
}
END_TEST

/* More than it can keep: what it says then is that something is new. */
START_TEST(too_many_stretches)
{
	begin(0);
	for (unsigned i = 0; i + 2 < MOST; i += 2)
		add(i, 1);
	ck_assert_uint_eq(t.n, TOLD_RANGES);
	for (unsigned i = 0; i + 2 < MOST; i++) {
		if (told_already(&t, i, 1))
			ck_assert(bit[i]);
	}
	ck_assert_uint_eq(told_already(&t, MOST - 4, 1), 1);
}
END_TEST

SUITE("told", any_order, in_order_it_is_one_stretch, too_many_stretches)
