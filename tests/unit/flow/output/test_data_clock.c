/* SPDX-License-Identifier: MIT */
#include "flow/output/data_clock.h"

#include "contract/log.h"
#include "lib/suite.h"

static struct data_clock c;
static int64_t now = 1700000000 * NS_SECOND;

/* Looks twice a second, with data so far behind, and a way that takes up to 3
 * ms more. */
static void
go(int seconds, int64_t behind, double drift)
{
	const int64_t begin = now;

	for (int i = 0; i < 2 * seconds; i++) {
		int64_t way = i % 4 * NS_MS;

		now += NS_SECOND / 2;
		data_clock_add(&c,
			       now - behind - way -
				   (int64_t)(drift * (double)(now - begin)),
			       now);
	}
}

static int64_t
behind(void)
{
	int64_t ns = 0;

	ck_assert(data_clock_behind(&c, &ns));
	return ns;
}

START_TEST(says_the_least)
{
	int64_t ns;
	double drift;

	ck_assert(!data_clock_behind(&c, &ns));
	go(15, 102 * NS_MS, 0);
	ck_assert_int_eq(behind(), 102 * NS_MS);
	ck_assert(!data_clock_drift(&c, &drift));
	go(60, 102 * NS_MS, 0);
	ck_assert_int_eq(behind(), 102 * NS_MS);
	ck_assert(data_clock_drift(&c, &drift));
	ck_assert_double_eq_tol(drift, 0, 1e-6);
	ck_assert_uint_eq(c.steps, 0);
}
END_TEST

START_TEST(steps_are_found)
{
	go(20, 0, 0);
	go(20, -NS_SECOND, 0); /* a second ahead: at once */
	ck_assert_uint_eq(c.steps, 1);
	ck_assert_int_eq(c.step_ns, -NS_SECOND);
	ck_assert_int_eq(behind(), -NS_SECOND);
	go(1, -NS_SECOND + 10 * NS_MS, 0); /* one late look is no step */
	go(20, -NS_SECOND, 0);
	ck_assert_uint_eq(c.steps, 1);
	go(20, -NS_SECOND + 10 * NS_MS, 0);
	ck_assert_uint_eq(c.steps, 2);
	ck_assert_int_eq(c.step_ns, 10 * NS_MS);
	ck_assert_int_eq(behind(), -NS_SECOND + 10 * NS_MS);
}
END_TEST

/* A formatter without its maser; the clocks' drift is no step. */
START_TEST(drift_is_found)
{
	double drift;

	go(60, 0, 1e-4);
	ck_assert(data_clock_drift(&c, &drift));
	ck_assert_double_eq_tol(drift, 1e-4, 1e-5);
	go(60, 60 * 100000, -1e-4);
	ck_assert_uint_eq(c.steps, 0);
	/* A sender that is too slow for what it says: half a percent. */
	c.looks = 0;
	go(60, 0, 5e-3);
	ck_assert_uint_eq(c.steps, 0);
	ck_assert(data_clock_drift(&c, &drift));
	ck_assert_double_eq_tol(drift, 5e-3, 5e-4);
}
END_TEST

/* Blocks of several disks come in any order, and of a slow stream seldom. */
START_TEST(any_order)
{
	go(5, 0, 0);
	data_clock_add(&c, now - 3 * NS_SECOND, now - 3 * NS_SECOND);
	ck_assert_int_eq(behind(), 0);
	for (int i = 0; i < 100; i++) {
		now += 8 * NS_SECOND;
		data_clock_add(&c, now - 7 * NS_MS, now);
	}
	ck_assert_int_eq(behind(), 7 * NS_MS);
}
END_TEST

SUITE("data_clock", says_the_least, steps_are_found, drift_is_found, any_order)
