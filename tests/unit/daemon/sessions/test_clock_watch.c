/* SPDX-License-Identifier: MIT */
#include "daemon/sessions/clock_watch.h"

#include <string.h>

#include "base/clock.h"
#include "lib/suite.h"

static struct clock_watch w;
static bool stepped;

/* A clock that is so far behind, for half a minute. */
static struct data_clock
clock_of(double behind, double drift)
{
	const int64_t begin = 1700000000 * NS_SECOND;
	struct data_clock c = { 0 };

	for (int i = 0; i < 60; i++) {
		int64_t now = begin + i * NS_SECOND / 2;
		double ns = (behind + drift * i / 2) * 1e9;

		data_clock_add(&c, now - (int64_t)ns, now);
	}
	return c;
}

static bool
look(double behind, double drift, int64_t most)
{
	struct data_clock c = clock_of(behind, drift);

	return clock_watch_look(&w, &c, most, &stepped);
}

START_TEST(what_is_wrong)
{
	ck_assert(!look(0.010, 0, 0));
	ck_assert(look(-1, 0, 0));
	ck_assert_str_eq(w.why,
			 "the time of the data is 1.000 s ahead of ours");
	ck_assert(!look(-1, 0, 0));
	ck_assert(look(0.102, 0, 0));
	ck_assert_int_eq(w.wrong, CLOCK_RIGHT);
	ck_assert_str_eq(w.why, "");
	ck_assert(look(0.102, 0, 100 * NS_MS));
	ck_assert_str_eq(w.why, "the time of the data is 0.102 s behind ours");
	/* by a tenth */
	ck_assert(!look(0.095, 0, 100 * NS_MS));
	ck_assert(look(0.085, 0, 100 * NS_MS));
	ck_assert(!look(0.095, 0, 100 * NS_MS));
	ck_assert(look(0.010, 1e-3, 0));
	ck_assert_msg(strstr(w.why, "falls behind by 10"), "%s", w.why);
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
	struct data_clock c = clock_of(0, 0);

	clock_watch_look(&w, &c, 0, &stepped);
	ck_assert(!stepped);
	c.steps++;
	ck_assert(clock_watch_look(&w, &c, 0, &stepped));
	ck_assert(stepped);
	ck_assert(!clock_watch_look(&w, &c, 0, &stepped));
}
END_TEST

/* Two clocks; each look at the steady one takes `pace`. */
static struct {
	int64_t utc, steady, pace;
} fake;

static int64_t
fake_utc(void *arg)
{
	(void)arg;
	return fake.utc + fake.steady;
}

static int64_t
fake_steady(void *arg)
{
	(void)arg;
	return fake.steady += fake.pace;
}

static const struct clock_source fakes = { fake_utc, fake_steady, NULL };

START_TEST(utc_steps)
{
	struct utc_watch u = { 0 };

	fake.utc = 1700000000 * NS_SECOND;
	fake.steady = NS_SECOND;
	fake.pace = 1000;
	clock_replaced = &fakes;
	utc_watch_look(&u);
	fake.utc += 4 * NS_MS;
	utc_watch_look(&u);
	ck_assert(!utc_watch_stepped(&u, fake.steady));
	fake.utc -= 3 * NS_SECOND;
	fake.pace = NS_SECOND; /* held up */
	utc_watch_look(&u);
	ck_assert(!utc_watch_stepped(&u, fake.steady));
	fake.pace = 1000;
	utc_watch_look(&u);
	ck_assert(utc_watch_stepped(&u, fake.steady));
	fake.steady += 29 * NS_SECOND;
	utc_watch_look(&u);
	ck_assert(utc_watch_stepped(&u, fake.steady));
	ck_assert(!utc_watch_stepped(&u, fake.steady + 2 * NS_SECOND));
	clock_replaced = NULL;
}
END_TEST

SUITE("clock_watch", what_is_wrong, half_years, steps_are_told, utc_steps)
