/* SPDX-License-Identifier: MIT */
#include "flow/place/data_clock.h"

#include <math.h>
#include <string.h>

#include "contract/log.h"
#include "lib/dice.h"
#include "lib/suite.h"

enum { LEAST = 80000, SPREAD = 60000 }; /* ns on the way: least, and more */

static struct data_clock c;
static struct dice dice = { 1 };
static int64_t now = 1000 * NS_SECOND; /* steady */
static int64_t offset = 1700000000 * NS_SECOND;
static bool stamped = true;

/* Adds a window: four threads, of which one is `apart` ns behind, and each packet
 * has its way. */
static void
window_add(int64_t behind, int64_t late, int64_t apart)
{
	struct data_clock_window w = { 0 };
	struct format_packet p = { 0 };

	data_clock_clear(&w);
	now += NS_SECOND;
	w.number = 1;
	w.fps = 4000;
	w.offset = offset;
	w.stamped = stamped;
	for (int i = 0; i < 64; i++) {
		int64_t way = LEAST + dice_roll(&dice, SPREAD) + late;

		p.thread = (uint32_t)i % 4;
		data_clock_packet(&w, 0, &p,
				  now + offset - behind -
				      (p.thread == 2 ? apart : 0),
				  now + offset + way, "");
	}
	data_clock_add(&c, &w);
}

static void
go(int seconds, int64_t behind, double drift)
{
	for (int i = 0; i < seconds; i++)
		window_add(behind + (int64_t)(drift * 1e9 * i), 0, 0);
}

static void
is_behind(int64_t ns, int64_t within)
{
	int64_t is = 0;

	ck_assert(data_clock_behind(&c, &is));
	ck_assert_msg(is >= ns + LEAST - within && is <= ns + LEAST + within,
		      "%lld, expected %lld", (long long)is, (long long)ns);
}

static double
drift(void)
{
	double d = 0, error;

	ck_assert(data_clock_drift(&c, &d, &error));
	ck_assert(error < 1e-4);
	return d;
}

START_TEST(says_the_least)
{
	double d, error;
	int64_t ns;

	ck_assert(!data_clock_behind(&c, &ns));
	go(5, 102 * NS_MS, 0);
	is_behind(102 * NS_MS, 30000);
	ck_assert(!data_clock_drift(&c, &d, &error));
	ck_assert(isnan(data_clock_spread(&c)));
	go(60, 102 * NS_MS, 0);
	is_behind(102 * NS_MS, 30000);
	ck_assert_double_eq_tol(drift(), 0, 1e-6);
	/* a 64th of the spread of single packets */
	ck_assert_double_eq_tol(data_clock_spread(&c), SPREAD / 64e9, 3e-7);
	ck_assert_uint_eq(c.steps, 0);
	ck_assert_ptr_null(data_clock_apart(&c));
}
END_TEST

START_TEST(steps_are_found)
{
	static const int64_t step[] = { -NS_SECOND, NS_MS, -NS_MS, 600000,
					-7 * NS_MS };
	int64_t at = 0;

	go(20, 0, 0);
	for (unsigned i = 0; i < sizeof step / sizeof *step; i++) {
		at += step[i];
		go(20, at, 0);
		ck_assert_uint_eq(c.steps, i + 1);
		ck_assert_int_le(llabs(c.step_ns - step[i]), 30000);
		is_behind(at, 60000);
	}
	go(20, at + 200000, 0); /* too little to tell */
	ck_assert_uint_eq(c.steps, 5);
}
END_TEST

START_TEST(what_is_late_is_no_step)
{
	go(20, 0, 0);
	for (int i = 0; i < 200; i++)
		window_add(0,
			   dice_chance(&dice, 30) ? dice_roll(&dice, 20) * NS_MS
						  : 0,
			   0);
	ck_assert_uint_eq(c.steps, 0);
	is_behind(0, 60000);
}
END_TEST

/* A formatter without its maser; and one that turns. */
START_TEST(drift_is_found)
{
	go(60, 0, 1e-4);
	ck_assert_double_eq_tol(drift(), 1e-4, 5e-6);
	ck_assert_uint_eq(c.steps, 0);
	go(120, 6 * NS_MS, -3e-4);
	ck_assert_double_eq_tol(drift(), -3e-4, 5e-6);
	is_behind(6 * NS_MS - (int64_t)(119 * 3e5), 300000);
	go(30, 6 * NS_MS - (int64_t)(120 * 3e5), 5e-3);
	ck_assert_double_eq_tol(drift(), 5e-3, 5e-5);
}
END_TEST

/* A step of the computer's clock moves what is behind, and is no step of the
 * data. */
START_TEST(our_own_clock_is_set)
{
	go(20, 0, 0);
	offset += 5 * NS_SECOND;
	go(20, 5 * NS_SECOND, 0);
	/* The data's time is what it was: now + the old offset. */
	is_behind(5 * NS_SECOND, 30000);
	offset -= 7 * NS_SECOND;
	go(20, -2 * NS_SECOND, 0);
	is_behind(-2 * NS_SECOND, 30000);
	ck_assert_uint_eq(c.steps, 0);
	ck_assert_double_eq_tol(drift(), 0, 2e-6);
}
END_TEST

/* The time at which packets are read is up to 2 ms late. */
START_TEST(without_stamps)
{
	stamped = false;
	for (int i = 0; i < 60; i++)
		window_add(0, dice_roll(&dice, 2000000), 0);
	ck_assert_uint_eq(c.steps, 0);
	go(20, 10 * NS_MS, 0);
	ck_assert_uint_eq(c.steps, 1);
	ck_assert_int_le(llabs(c.step_ns - 10 * NS_MS), 2 * NS_MS);
}
END_TEST

START_TEST(a_thread_is_apart)
{
	const struct data_clock_apart *a;

	for (int i = 0; i < 2; i++)
		window_add(0, 0, NS_SECOND);
	ck_assert_ptr_null(data_clock_apart(&c));
	window_add(0, 0, NS_SECOND);
	a = data_clock_apart(&c);
	ck_assert_ptr_nonnull(a);
	ck_assert_uint_eq(a->thread, 2);
	ck_assert_int_le(llabs(a->ns - NS_SECOND), 100000);
	is_behind(0, 60000);	  /* it does not count */
	window_add(0, 0, 100000); /* less than a frame */
	ck_assert_ptr_null(data_clock_apart(&c));
}
END_TEST

START_TEST(windows_are_merged)
{
	struct data_clock_window w = { 0 }, one = { 0 };
	struct format_packet p = { 0 };

	data_clock_clear(&w);
	data_clock_merge(&w, &one); /* it has not seen any */
	ck_assert_uint_eq(w.threads, 0);
	for (uint32_t i = 0; i < 2 * DATA_CLOCK_THREADS; i++) {
		data_clock_clear(&one);
		one.number = 3;
		one.stamped = i != 5;
		one.carded = i == 7;
		p.thread = i % (DATA_CLOCK_THREADS / 2);
		data_clock_packet(&one, 7, &p, 0, 1000 - i, "a");
		data_clock_merge(&w, &one);
	}
	ck_assert_uint_eq(w.threads, DATA_CLOCK_THREADS / 2);
	ck_assert_uint_eq(w.number, 6 * DATA_CLOCK_THREADS);
	ck_assert(!w.stamped);
	ck_assert(w.carded);
	for (unsigned i = 0; i < w.threads; i++) {
		ck_assert_uint_eq(w.thread[i].packets, 4);
		ck_assert_uint_eq(w.thread[i].sub, 7);
		ck_assert_int_eq(w.thread[i].behind,
				 1000 - 3 * DATA_CLOCK_THREADS / 2 -
				     (int)w.thread[i].thread);
	}
	data_clock_add(&c, &w);
	ck_assert(!c.stamped && c.carded);
	data_clock_clear(&w);
	ck_assert(w.stamped && !w.carded);
}
END_TEST

SUITE("data_clock", says_the_least, steps_are_found, what_is_late_is_no_step,
      drift_is_found, our_own_clock_is_set, without_stamps, a_thread_is_apart,
      windows_are_merged)
