/* SPDX-License-Identifier: MIT */
/*
 * A sender in simulated time: it sleeps as the pacer says, wakes late as dice
 * say, and every packet's time is noted, so that any second can be looked at.
 */
#include "flow/send/pacer.h"
#include "flow/send/sender.h"
#include "lib/dice.h"
#include "lib/suite.h"

enum { SECOND = 1000000000, MOST = 1 << 22 };

static int64_t times[MOST];
static unsigned sent;
static int64_t now;
static struct dice dice;

static void
begin(void)
{
	sent = 0;
	now = INT64_C(77) * SECOND;
	dice = (struct dice){ 1 };
}

/* Once: what may go goes, then a sleep that ends up to `lag` ns too late. */
static void
step(struct pacer *p, uint32_t bytes, int64_t ahead, int64_t lag)
{
	uint32_t n = pacer_may(p, bytes, 1000000, ahead, now);
	int64_t due = pacer_due(p), every = pacer_every(p, bytes);

	ck_assert_uint_le(sent + n, MOST);
	for (uint32_t i = 0; i < n; i++)
		times[sent++] =
		    ahead && due + i * every > now ? due + i * every : now;
	pacer_went(p, n, bytes, now);
	now = pacer_wake(p, ahead, now);
	if (lag)
		now += dice_roll(&dice, (uint32_t)lag);
}

static void
run(struct pacer *p, uint32_t bytes, int64_t ahead, int64_t lag, int64_t until)
{
	while (now < until)
		step(p, bytes, ahead, lag);
}

/* Any second of them, from `from` on, has so many packets but for 1 %. */
static void
seconds_are(unsigned from, double packets)
{
	unsigned seen = 0;

	for (unsigned a = from, e = from; e < sent; a++) {
		while (e < sent && times[e] < times[a] + SECOND)
			e++;
		if (e == sent)
			break;
		seen++;
		ck_assert_double_ge(e - a, packets * 0.99 - 1);
		ck_assert_double_le(e - a, packets * 1.01 + 1);
	}
	ck_assert_uint_gt(seen, 0);
}

/* The most bytes that ever left together: measured by a bucket that is not
 * the pacer's, and leaks at 5/4 of the rate as that does. */
static double
burst_of(uint32_t bytes, double per_ns)
{
	double level = 0, most = 0;

	for (unsigned i = 0; i < sent; i++) {
		if (i)
			level -=
			    (double)(times[i] - times[i - 1]) * per_ns * 5 / 4;
		level = (level < 0 ? 0 : level) + bytes;
		most = level > most ? level : most;
	}
	return most;
}

START_TEST(any_second_has_its_rate)
{
	static const uint64_t rates[] = { 1000000000, 4000000000, 8000000000,
					  123456789, 9600000 };
	static const uint32_t sizes[] = { 8032, 1500, 9000, 100 };

	for (unsigned i = 0; i < 20; i++) {
		uint64_t rate = rates[i % 5];
		uint32_t bytes = sizes[i / 5];
		double packets = (double)rate / 8 / bytes;
		struct pacer p;

		if (packets * 3 > MOST)
			continue;
		begin();
		pacer_init(&p, rate);
		run(&p, bytes, 0, 60000, now + INT64_C(5) * SECOND / 2);
		seconds_are(0, packets);
		ck_assert_double_le(burst_of(bytes, (double)rate / 8e9),
				    (double)rate / 8e9 * 200000 + 2 * bytes);
	}
}
END_TEST

/* 80.8 ns each: whole ones would be 1 % too fast. */
START_TEST(parts_of_a_ns_count)
{
	struct pacer p;

	begin();
	pacer_init(&p, 9900990099);
	ck_assert_uint_eq(pacer_may(&p, 100, 9, 0, now), 1);
	for (unsigned i = 0; i < 1000000; i++)
		pacer_went(&p, 1, 100, now);
	ck_assert_int_ge(pacer_due(&p) - now, 80799990);
	ck_assert_int_le(pacer_due(&p) - now, 80800010);
}
END_TEST

START_TEST(a_late_thread_catches_up_in_pieces)
{
	struct pacer p;
	double most;

	begin();
	pacer_init(&p, 8000000000);
	run(&p, 8000, 0, 0, now + SECOND / 10);
	now += 4000000;
	run(&p, 8000, 0, 0, now + SECOND * INT64_C(2));
	ck_assert_int_eq(p.late, 0);
	/* 1 ns is a byte: nothing is lost of it ... */
	ck_assert_int_le((now - INT64_C(77) * SECOND) / 8000 - sent, 20);
	seconds_are(0, 125000);
	/* ... and a burst is a millisecond at 5/4, and a little. */
	most = burst_of(8000, 1);
	ck_assert_double_ge(most, PACER_BURST / 2);
	ck_assert_double_le(most, PACER_BURST * 1.25 + 50000);
	ck_assert_double_le(p.burst, most + 1);
	ck_assert_double_ge(p.burst, most - 1);
}
END_TEST

START_TEST(what_is_too_late_is_not_owed)
{
	struct pacer p;
	unsigned before;

	begin();
	pacer_init(&p, 8000000000);
	run(&p, 8000, 0, 0, now + SECOND);
	before = sent;
	now += 3 * INT64_C(1000000000);
	run(&p, 8000, 0, 0, now + SECOND);
	ck_assert_int_ge(p.late, 2990000000);
	ck_assert_uint_ge(sent - before, 125000);
	ck_assert_uint_le(sent - before, 125000 * 1.01);
}
END_TEST

START_TEST(the_rate_changes_while_it_runs)
{
	struct pacer p;
	unsigned from;

	begin();
	pacer_init(&p, 1000); /* eight seconds and more for a packet */
	step(&p, 1000, 0, 0);
	ck_assert_int_gt(now, INT64_C(84) * SECOND);
	now = INT64_C(78) * SECOND;
	pacer_rate(&p, 800000000, now);
	from = sent;
	run(&p, 1000, 0, 1000, now + INT64_C(3) * SECOND);
	seconds_are(from, 100000);
	pacer_rate(&p, 80000000, now);
	from = sent;
	run(&p, 1000, 0, 1000, now + INT64_C(3) * SECOND);
	seconds_are(from, 10000);
	pacer_rate(&p, SEND_RATE_FREE, now);
	ck_assert_uint_eq(pacer_may(&p, 1000, 12345, 0, now), 12345);
	ck_assert_int_eq(pacer_due(&p), 0);
}
END_TEST

START_TEST(a_pause_is_not_owed)
{
	struct pacer p;

	begin();
	pacer_init(&p, 8000000);
	run(&p, 1000, 0, 0, now + SECOND);
	now += SECOND;
	pacer_rest(&p);
	ck_assert_uint_eq(pacer_may(&p, 1000, 100, 0, now), 1);
}
END_TEST

/* One that sends at a time is asked early, and its times are even. */
START_TEST(times_are_told_ahead)
{
	struct pacer p;

	begin();
	pacer_init(&p, 4000000000);
	run(&p, 8000, 2000000, 300000, now + INT64_C(3) * SECOND);
	seconds_are(0, 62500);
	ck_assert_double_le(burst_of(8000, 0.5), 3 * 8000);
}
END_TEST

/* 200 blocks; returns how long they took. */
static int64_t
data_run(bool brisk)
{
	struct pacer p;
	int64_t start;
	unsigned i;

	begin();
	start = now;
	pacer_init(&p, SEND_RATE_DATA);
	p.brisk = brisk;
	/* Blocks of 1000 packets, 20 us apart; the clock began in 2020. */
	for (i = 0; i < 200; i++) {
		unsigned left = 1000;

		while (left) {
			int64_t at = INT64_C(1577836800) * SECOND +
				     ((int64_t)i * 1000 + 1000 - left) * 20000;
			uint32_t n;

			pacer_data(&p, at, 20000, false, now);
			n = pacer_may(&p, 5000, left, 0, now);
			pacer_went(&p, n, 5000, now);
			for (left -= n; n--;)
				times[sent++] = now;
			if (left)
				now = pacer_wake(&p, 0, now) +
				      dice_roll(&dice, 50000);
		}
	}
	return now - start;
}

START_TEST(the_datas_clock_is_kept)
{
	int64_t took = data_run(false);

	seconds_are(0, 50000);
	ck_assert_int_ge(took, INT64_C(3980000000));
	ck_assert_int_le(took, INT64_C(4020000000));
}
END_TEST

START_TEST(what_grows_is_caught_up_with)
{
	int64_t took = data_run(true);

	ck_assert_int_ge(took, INT64_C(3720000000));
	ck_assert_int_le(took, INT64_C(3780000000));
}
END_TEST

START_TEST(the_datas_clock_may_jump)
{
	struct pacer p;

	begin();
	pacer_init(&p, SEND_RATE_DATA);
	pacer_data(&p, 1000, 20000, false, now);
	ck_assert_uint_eq(pacer_may(&p, 5000, 9, 0, now), 1);
	/* A gap of a second is waited for, an hour is not, nor the past. */
	pacer_data(&p, 1000 + SECOND, 20000, false, now);
	ck_assert_uint_eq(pacer_may(&p, 5000, 9, 0, now), 0);
	ck_assert_int_eq(pacer_wake(&p, 0, now), now + SECOND);
	now += SECOND;
	ck_assert_uint_eq(pacer_may(&p, 5000, 9, 0, now), 1);
	pacer_data(&p, INT64_C(3600) * SECOND, 20000, false, now);
	ck_assert_uint_eq(pacer_may(&p, 5000, 9, 0, now), 1);
	pacer_data(&p, 1000, 20000, false, now);
	ck_assert_uint_ge(pacer_may(&p, 5000, 9, 0, now), 1);
	/* Nobody knows when it was: at once. */
	pacer_data(&p, 0, 0, false, now);
	ck_assert_uint_eq(pacer_may(&p, 5000, 9, 0, now), 9);
}
END_TEST

/* Of several substreams blocks come in turn, all with the same times. */
START_TEST(substreams_share_the_clock)
{
	struct pacer p;
	int64_t start;

	begin();
	start = now;
	pacer_init(&p, SEND_RATE_DATA);
	for (unsigned i = 0; i < 40; i++) {
		unsigned left = 1000;

		while (left) {
			uint32_t n;

			pacer_data(&p, 1 + i / 4 * 20000000, 5000, true, now);
			n = pacer_may(&p, 5000, left, 0, now);
			pacer_went(&p, n, 5000, now);
			left -= n;
			if (left)
				now = pacer_wake(&p, 0, now);
		}
	}
	ck_assert_int_ge(now - start, 198000000);
	ck_assert_int_le(now - start, 202000000);
}
END_TEST

SUITE("pacer", any_second_has_its_rate, parts_of_a_ns_count,
      a_late_thread_catches_up_in_pieces, what_is_too_late_is_not_owed,
      the_rate_changes_while_it_runs, a_pause_is_not_owed, times_are_told_ahead,
      the_datas_clock_is_kept, what_grows_is_caught_up_with,
      the_datas_clock_may_jump, substreams_share_the_clock)
