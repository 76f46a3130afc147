/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/suite.h"
#include "signal/phase_cal.h"

enum { N = 1 << 16, FRAME = 1000 };

static float re[N], im[N];
static struct phase_cal *p;
static struct phase_cal_result r;

/* Returns noise of rms 1, about. */
static double
noise(void)
{
	static uint32_t x = 1;
	double sum = 0;

	for (unsigned i = 0; i < 12; i++) {
		x = x * 1664525 + 1013904223;
		sum += x / 4294967296.0;
	}
	return sum - 6;
}

static void
comb_make(const struct phase_cal_comb *c, double amplitude, double phase,
	  double delay, bool complex)
{
	double end = (double)c->rate / (complex ? 1 : 2);

	for (unsigned i = 0; i < N; i++) {
		re[i] = (float)noise();
		im[i] = (float)noise();
	}
	for (double hz = c->offset ? (double)c->offset : (double)c->spacing;
	     hz < end && amplitude > 0; hz += (double)c->spacing)
		for (unsigned i = 0; i < N; i++) {
			double t = (double)i / (double)c->rate - delay;
			double x = 2 * M_PI * hz * t + phase;

			re[i] += (float)(amplitude * cos(x));
			im[i] += (float)(amplitude * sin(x));
		}
}

/* Adds every second frame, so that places of the period differ in number. */
static void
fold(const struct phase_cal_comb *c, bool complex)
{
	ck_assert_int_eq(phase_cal_open(&p, c, complex), 0);
	for (unsigned at = 0; at + FRAME <= N; at += 2 * FRAME)
		phase_cal_add(p, at, re + at, im + at, FRAME);
	ck_assert_int_eq(phase_cal_result(p, &r), 0);
}

static void
finish(void)
{
	free(r.tone);
	phase_cal_close(p);
}

static void
finds(const struct phase_cal_comb *c, bool complex, double delay,
      unsigned tones)
{
	const double amplitude = 0.2, phase = 0.7;

	comb_make(c, amplitude, phase, delay, complex);
	fold(c, complex);
	ck_assert_uint_eq(r.tones, tones);
	ck_assert_uint_eq(r.there, tones);
	for (unsigned i = 0; i < r.tones; i++) {
		double x = phase - 2 * M_PI * r.tone[i].hz * delay;
		double off = remainder(r.tone[i].phase - x, 2 * M_PI);

		ck_assert_msg(fabs(off) < 0.2, "tone %u of %u is off by %f", i,
			      tones, off);
	}
	/* noise leaves 0.04 rad on each tone */
	ck_assert_double_eq_tol(r.delay, delay, 0.1 / (double)c->rate);
	finish();
}

START_TEST(tones_and_delay)
{
	const struct phase_cal_comb usual = { 32000000, 1000000, 0 };
	const struct phase_cal_comb odd = { 32000000, 1000000, 10000 };
	const struct phase_cal_comb wide = { 64000000, 5000000, 0 };

	finds(&usual, false, 12.5e-9, 15);
	finds(&usual, false, 987e-9, 15);
	finds(&usual, true, 321e-9, 31);
	finds(&odd, false, 123e-9, 16);
	finds(&wide, false, 7e-9, 6);
}
END_TEST

START_TEST(noise_has_no_tones)
{
	const struct phase_cal_comb c = { 32000000, 1000000, 0 };

	comb_make(&c, 0, 0, 0, false);
	fold(&c, false);
	ck_assert_uint_eq(r.tones, 15);
	ck_assert_uint_eq(r.there, 0);
	ck_assert_double_eq_tol(r.least, 6 * sqrt(2.0 / (N / 2)), 0.001);
	ck_assert(isnan(r.delay));
	finish();
}
END_TEST

START_TEST(less_than_a_period_says_nothing)
{
	const struct phase_cal_comb c = { 32000000, 1000000, 0 };

	ck_assert_int_eq(phase_cal_open(&p, &c, false), 0);
	phase_cal_add(p, 5, re, NULL, 31);
	ck_assert_int_eq(phase_cal_result(p, &r), 0);
	ck_assert_uint_eq(r.tones, 0);
	finish();
}
END_TEST

START_TEST(zeros_say_nothing)
{
	const struct phase_cal_comb c = { 32000000, 1000000, 0 };

	for (unsigned i = 0; i < N; i++)
		re[i] = 0;
	fold(&c, false);
	ck_assert_uint_eq(r.tones, 0);
	finish();
}
END_TEST

START_TEST(combs_without_a_period_are_refused)
{
	static const struct phase_cal_comb bad[] = {
		{ 32000000, 0, 0 },	  { 0, 1000000, 0 },
		{ 32000000, 7, 0 },	  { 32000000, 1000000, 1000000 },
		{ 32000000, 1000000, 1 }, { 1000000, 1000000, 0 },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_int_eq(phase_cal_open(&p, &bad[i], false), -EINVAL);
}
END_TEST

SUITE("phase_cal", tones_and_delay, noise_has_no_tones,
      less_than_a_period_says_nothing, zeros_say_nothing,
      combs_without_a_period_are_refused)
