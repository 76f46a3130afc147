/* SPDX-License-Identifier: MIT */
#include "daemon/health/clock_watch.h"

#include <string.h>

#include "base/clock.h"
#include "lib/suite.h"

static struct clock_watch w;
static bool stepped;

/* The window of a second: two threads, the second one so much behind the first. */
static struct data_clock_window
window_of(int second, double behind, double apart)
{
	const int64_t now = 1700000000 * NS_SECOND + second * NS_SECOND;
	struct data_clock_window window;
	struct format_packet p = { .station = 'W' << 8 | 'z' };

	data_clock_clear(&window);
	window.number = (uint64_t)second + 1;
	window.fps = 1000;
	window.offset = 0;
	for (int i = 0; i < 12; i++) {
		p.thread = (uint32_t)i % 3;
		data_clock_packet(
		    &window, 0, &p,
		    now - (int64_t)(behind * 1e9) -
			(p.thread == 1 ? (int64_t)(apart * 1e9) : 0),
		    now, p.thread == 1 ? "10.0.0.1:5" : "");
	}
	return window;
}

/* Looks at a clock that is so far behind, for half a minute.  True if what is
 * wrong is something else than before. */
static bool
look_apart(double behind, double drift, int64_t most, double apart)
{
	struct data_clock_window window;
	enum clock_wrong was = w.wrong;

	w.clock = (struct data_clock){ 0 };
	w.seen = 0;
	for (int i = 0; i < 30; i++) {
		window = window_of(i, behind + drift * i, apart);
		if (i < 29)
			data_clock_add(&w.clock, &window);
	}
	ck_assert(clock_watch_look(&w, &window, most, &stepped) ==
		  (was != w.wrong));
	return was != w.wrong;
}

static bool
look(double behind, double drift, int64_t most)
{
	return look_apart(behind, drift, most, 0);
}

START_TEST(what_is_wrong)
{
	ck_assert(!look(0.010, 0, 0));
	ck_assert_str_eq(clock_watch_sender(&w, 0, 1), "10.0.0.1:5");
	ck_assert_str_eq(clock_watch_sender(&w, 0, 2), "");
	ck_assert_str_eq(clock_watch_sender(&w, 1, 1), "");
	ck_assert(look(-1, 0, 0));
	ck_assert_str_eq(w.why,
			 "the time of the data is 1.000 s ahead of ours: "
			 "was it set to the wrong second, or did it "
			 "miss a leap second?");
	ck_assert(!look(-1, 0, 0));
	ck_assert(look(0.102, 0, 0));
	ck_assert_int_eq(w.wrong, CLOCK_RIGHT);
	ck_assert_ptr_null(clock_wrong_name(w.wrong));
	ck_assert_str_eq(w.why, "");
	ck_assert(look(0.102, 0, 100 * NS_MS));
	ck_assert_str_eq(w.why, "the time of the data is 0.102 s behind ours");
	ck_assert_str_eq(clock_wrong_name(w.wrong), "far");
	/* by a tenth */
	ck_assert(!look(0.095, 0, 100 * NS_MS));
	ck_assert(look(0.085, 0, 100 * NS_MS));
	ck_assert(!look(0.095, 0, 100 * NS_MS));
	ck_assert(look(0.010, 1e-3, 0));
	ck_assert_msg(strstr(w.why, "falls behind by 1000 us"), "%s", w.why);
	ck_assert(look(0.010, 1e-5, 0)); /* any computer's */
	ck_assert_int_eq(w.wrong, CLOCK_RIGHT);
}
END_TEST

/* Whole seconds have names. */
START_TEST(clocks_without_leap_seconds)
{
	static const struct {
		double behind;
		const char *said;
	} is[] = {
		{ -18.01, "18.010 s ahead of ours: is it set to the time of "
			  "GPS instead of UTC?" },
		{ -37, "37.000 s ahead of ours: is it set to TAI instead of "
		       "UTC?" },
		{ 1.05, "1.050 s behind ours: was it set to the wrong second, "
			"or did it miss a leap second?" },
		{ 18, "18.000 s behind ours" },
		{ -18.5, "18.500 s ahead of ours" },
		{ -2, "2.000 s ahead of ours" },
	};

	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		const char *at;

		look(0, 0, 0);
		look(is[i].behind, 0, 0);
		at = strstr(w.why, is[i].said);
		ck_assert_msg(at && !at[strlen(is[i].said)], "%s", w.why);
	}
	look(0, 0, 0);
	look(0.05, 0, 20 * NS_MS);
	ck_assert_str_eq(w.why, "the time of the data is 0.050 s behind ours");
}
END_TEST

START_TEST(a_thread_is_apart)
{
	look(0, 0, 0);
	ck_assert(look_apart(0, 0, 0, 0.100));
	ck_assert_int_eq(w.wrong, CLOCK_APART);
	ck_assert_str_eq(w.why,
			 "the time of thread 1 of station Wz is 0.1000 s "
			 "behind that of the others");
	ck_assert(!look_apart(0, 0, 0, -1));
	ck_assert_msg(strstr(w.why, "1.0000 s ahead of"), "%s", w.why);
	/* Less than a frame is how it sends. */
	ck_assert(look_apart(0, 0, 0, 0.0005));
	ck_assert_int_eq(w.wrong, CLOCK_RIGHT);
}
END_TEST

/* 2024: 1 January to 1 July 182 days, to 1 January 184; two are a year. */
START_TEST(half_years)
{
	static const double days[] = { 181, 182, 184, -181, -184, 365, 366 };

	for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
		look(0, 0, 0);
		ck_assert(look(days[i] * 86400, 0, 0));
		ck_assert_int_eq(w.wrong, CLOCK_EPOCH);
	}
	ck_assert(look(100.0 * 86400, 0, 0));
	ck_assert_int_eq(w.wrong, CLOCK_FAR);
}
END_TEST

START_TEST(steps_are_told)
{
	struct data_clock_window window;
	unsigned told = 0;

	look(0, 0, 0);
	for (int i = 30; i < 40; i++) {
		window = window_of(i, 0.001, 0);
		clock_watch_look(&w, &window, 0, &stepped);
		told += stepped;
		/* The same window again says nothing. */
		ck_assert(!clock_watch_look(&w, &window, 0, &stepped));
		ck_assert(!stepped);
	}
	ck_assert_uint_eq(told, 1);
	ck_assert_int_eq(w.clock.step_ns / 1000, 1000);
}
END_TEST

/* 2016-12-31T23:59:60 was the last one. */
#define NEW_YEAR (1483228800 * NS_SECOND)

static void
leap(int64_t ours, double data)
{
	struct data_clock_window window;

	w = (struct clock_watch){ 0 };
	for (int i = 0; i < 20; i++) {
		bool over = i >= 10;

		/* Our clock repeats a second, and then so much of it is known. */
		window = window_of(i, over ? -(double)ours + data : 0, 0);
		window.offset = over ? -ours * NS_SECOND : 0;
		for (unsigned k = 0; k < window.threads; k++)
			window.thread[k].arrived += window.offset;
		clock_watch_tai(&w, over ? 36 + ours : 36,
				NEW_YEAR + (i - 10 - ours * over) * NS_SECOND);
		clock_watch_look(&w, &window, 0, &stepped);
	}
}

START_TEST(leap_seconds)
{
	static const struct {
		int64_t seconds; /* from the leap second's end */
		const char *said;
	} at[] = {
		{ 3, ": it took a leap second, and ours did not" },
		{ -3, ": it took a leap second, and ours did not" },
		{ 100, "" },
		{ 31 * 86400 + 3, "" }, /* 1 February */
		{ 181 * 86400 + 3, ": it took a leap second, and ours did "
				   "not" }, /* 1 July */
	};

	/* Both take it: a step, and nothing is wrong. */
	leap(1, 1);
	ck_assert_uint_eq(w.clock.steps, 1);
	ck_assert_str_eq(clock_watch_step(&w, NEW_YEAR + 12 * NS_SECOND),
			 ": it took the leap second, as ours did");
	ck_assert_int_eq(w.wrong, CLOCK_RIGHT);
	/* Ours alone. */
	leap(1, 0);
	ck_assert_uint_eq(w.clock.steps, 0);
	ck_assert_str_eq(w.why,
			 "the time of the data is 1.000 s ahead of ours: "
			 "it did not take the leap second that ours "
			 "took");
	/* The data's alone. */
	leap(0, 1);
	ck_assert_uint_eq(w.clock.steps, 1);
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		ck_assert_str_eq(
		    clock_watch_step(&w, NEW_YEAR + at[i].seconds * NS_SECOND),
		    at[i].said);
	/* A step of something else is none, and TAI may be told late. */
	leap(0, 0.9);
	ck_assert_str_eq(clock_watch_step(&w, NEW_YEAR), "");
	clock_watch_tai(&w, 0, NEW_YEAR);
	clock_watch_tai(&w, 37, NEW_YEAR);
	ck_assert_int_eq(w.leap_ns, 0);
}
END_TEST

SUITE("clock_watch", leap_seconds, what_is_wrong, clocks_without_leap_seconds,
      a_thread_is_apart, half_years, steps_are_told)
