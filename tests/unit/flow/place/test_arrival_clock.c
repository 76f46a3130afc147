/* SPDX-License-Identifier: MIT */
#include "flow/place/time_window.c"

#include "lib/suite.h"

#define MS   INT64_C(1000000)
#define S    INT64_C(1000000000)
#define HOUR (3600 * S)
#define UTC0 (1700000000 * S) /* of the steady clock's zero, at first */

/* The steady clock is at 1000 s, and UTC has been as it is for long. */
static const int64_t now = 1000 * S;
static struct arrival a;

static void
begin(void)
{
	a = (struct arrival){ 0 };
	arrival_set(&a, UTC0 + now - S, now - S, 0);
}

/* Stamped at `at` by a UTC that is `by` off, and read at `read`. */
static int64_t
turned(int64_t at, int64_t by, int64_t read)
{
	return arrival_time(&a, UTC0 + at + by, read);
}

START_TEST(a_stamp_is_a_time)
{
	begin();
	ck_assert_int_eq(turned(now - 5 * MS, 0, now), now - 5 * MS);
	ck_assert_int_eq(turned(now, 0, now), now);
	ck_assert_int_eq(arrival_time(&a, 0, now), now);
}
END_TEST

/* What came before the step and after it, and is read after it was seen. */
static void
stepped_by(int64_t by)
{
	begin();
	arrival_set(&a, UTC0 + now + by, now, 0);
	ck_assert_int_eq(turned(now - 7 * MS, 0, now), now - 7 * MS);
	ck_assert_int_eq(turned(now - 1, 0, now + 3 * MS), now - 1);
	ck_assert_int_eq(turned(now + 2 * MS, by, now + 3 * MS), now + 2 * MS);
	ck_assert_int_eq(turned(now + 60 * S, by, now + 60 * S), now + 60 * S);
}

START_TEST(a_step_moves_no_packet)
{
	const int64_t step[] = { HOUR, S, 600 * MS };

	for (unsigned i = 0; i < sizeof step / sizeof *step; i++) {
		stepped_by(step[i]);
		stepped_by(-step[i]);
	}
}
END_TEST

/* An hour forth, and back again while packets of before are in the socket. */
START_TEST(a_second_step_is_one_too)
{
	begin();
	arrival_set(&a, UTC0 + now + HOUR, now, 0);
	arrival_set(&a, UTC0 + now + S, now + S, 0);
	ck_assert_int_eq(turned(now + S - MS, HOUR, now + S), now + S - MS);
	ck_assert_int_eq(turned(now + 2 * S, 0, now + 3 * S), now + 2 * S);
}
END_TEST

/* The second 23:59:59 is there twice: the clock steps back by one. */
START_TEST(a_leap_second_happens_once)
{
	const int64_t leap = now;

	begin();
	for (int64_t t = -400; t < 400; t += 5) {
		int64_t at = leap + t * MS, read = at + 2 * MS;

		arrival_set(&a, UTC0 + read - (read >= leap ? S : 0), read, 0);
		ck_assert_int_eq(turned(at, at >= leap ? -S : 0, read), at);
	}
}
END_TEST

/* A stamp of a step that was not seen yet is no time. */
START_TEST(what_cannot_be_is_now)
{
	begin();
	ck_assert_int_eq(turned(now, HOUR, now), now);
	ck_assert_int_eq(turned(now, -HOUR, now), now);
	arrival_set(&a, UTC0 + now + HOUR, now, 0);
	ck_assert_int_eq(turned(now + MS, -HOUR, now + MS), now + MS);
	ck_assert_int_eq(turned(now, 5 * HOUR, now + MS), now + MS);
}
END_TEST

/* Who waited in the socket while the process stood still came when it came. */
START_TEST(a_late_look_is_no_step)
{
	begin();
	ck_assert_int_eq(turned(now - 5 * S, 0, now), now - 5 * S);
	arrival_set(&a, UTC0 + now + HOUR, now, 0);
	ck_assert_int_eq(turned(now - 5 * S, 0, now + S), now - 5 * S);
}
END_TEST

START_TEST(a_slewed_clock_is_followed)
{
	int64_t by = 0;

	begin();
	for (int64_t at = now; at < now + 100 * S; at += 100 * MS) {
		by += 50000; /* 0.5 ms a second */
		arrival_set(&a, UTC0 + at + by, at, 0);
		ck_assert_int_eq(turned(at - MS, by, at), at - MS);
	}
	ck_assert_int_eq(a.stepped, 0);
}
END_TEST

/* Held up between its readings, a look knows less than what was known. */
START_TEST(a_look_that_was_held_up_is_no_step)
{
	begin();
	arrival_set(&a, UTC0 + now, now, 40 * MS);
	ck_assert_int_eq(a.offset, UTC0);
	ck_assert_int_eq(a.stepped, 0);
	arrival_set(&a, UTC0 + now + HOUR, now, 40 * MS);
	ck_assert_int_ne(a.stepped, 0);
}
END_TEST

START_TEST(it_looks_at_the_clocks)
{
	int64_t before = clock_steady(), at, off;

	a = (struct arrival){ 0 };
	at = arrival_look(&a);
	ck_assert_int_ge(at, before);
	ck_assert_int_le(at, clock_steady());
	ck_assert(a.known);
	off = at - before; /* at most: so long did it look */
	at = clock_now();
	ck_assert_int_le(arrival_time(&a, at, clock_steady()),
			 clock_steady() + off);
}
END_TEST

SUITE("arrival_clock", a_stamp_is_a_time, a_step_moves_no_packet,
      a_second_step_is_one_too, a_leap_second_happens_once,
      what_cannot_be_is_now, a_late_look_is_no_step, a_slewed_clock_is_followed,
      a_look_that_was_held_up_is_no_step, it_looks_at_the_clocks)
