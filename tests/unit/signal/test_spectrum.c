/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/suite.h"
#include "signal/spectrum.h"

enum { N = 1024 };

static struct spectrum_plan *plan;
static struct spectrum s;
static float re[N], im[N];

/* Makes a tone of `turns` periods in 256 samples. */
static void
tone(unsigned turns)
{
	for (unsigned i = 0; i < N; i++) {
		re[i] = (float)cos(2 * M_PI * turns * i / 256);
		im[i] = (float)sin(2 * M_PI * turns * i / 256);
	}
}

/* Adds the tone, and returns the point that has nearly all power. */
static unsigned
peak(bool complex, size_t n, uint64_t segments)
{
	double sum = 0, most = 0;
	unsigned at = 0;

	s = (struct spectrum){ .segments = 0 };
	ck_assert_int_eq(spectrum_plan_open(&plan, complex), 0);
	spectrum_add(&s, plan, re, complex ? im : NULL, n);
	spectrum_plan_close(plan);
	ck_assert_uint_eq(s.segments, segments);
	for (unsigned i = 0; i < SPECTRUM_POINTS; i++) {
		sum += s.power[i];
		if (s.power[i] <= most)
			continue;
		most = s.power[i];
		at = i;
	}
	ck_assert(most > 0.999 * sum);
	return at;
}

START_TEST(real_samples)
{
	tone(37);
	ck_assert_uint_eq(peak(false, N, 4), 37);
	ck_assert_uint_eq(peak(false, N - 1, 3), 37);
}
END_TEST

START_TEST(complex_samples)
{
	tone(2 * 100);
	ck_assert_uint_eq(peak(true, N, 8), 100);
}
END_TEST

START_TEST(too_few_samples_are_none)
{
	ck_assert_int_eq(spectrum_plan_open(&plan, false), 0);
	s = (struct spectrum){ .segments = 0 };
	spectrum_add(&s, plan, re, NULL, 255);
	ck_assert_uint_eq(s.segments, 0);
	spectrum_plan_close(plan);
	spectrum_plan_close(NULL);
}
END_TEST

SUITE("spectrum", real_samples, complex_samples, too_few_samples_are_none)
