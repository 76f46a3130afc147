/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/suite.h"
#include "signal/finding.h"
#include "signal/levels.h"

static struct samples s;
static struct levels l;

static void
start(unsigned bits)
{
	const struct format_samples layout = { .bits = bits, .channels = 1 };

	ck_assert_int_eq(samples_open(&s, &layout), 0);
	ck_assert_int_eq(levels_open(&l, &s), 0);
}

static void
finish(void)
{
	levels_close(&l);
	samples_close(&s);
}

/* Counts a state n times. */
static void
count(uint16_t state, unsigned n)
{
	while (n--)
		levels_add(&l, &state, 1, &s);
}

START_TEST(each_state_is_counted)
{
	static const unsigned bits[] = { 1, 2, 4, 8 };
	uint16_t state[1000];

	for (unsigned b = 0; b < 4; b++) {
		uint64_t want[256] = { 0 };

		start(bits[b]);
		for (size_t n = 0; n < 1000; n = 2 * n + 1) {
			for (size_t i = 0; i < n; i++) {
				state[i] = (uint16_t)((i / 3 * 7 + n) %
						      samples_states(&s));
				want[state[i]]++;
			}
			levels_add(&l, state, n, &s);
		}
		for (unsigned i = 0; i < samples_states(&s); i++)
			ck_assert_uint_eq(l.count[i], want[i]);
		ck_assert_uint_eq(l.n, 0 + 1 + 3 + 7 + 15 + 31 + 63 + 127 +
					   255 + 511);
		finish();
	}
}
END_TEST

/* Counts states of 2 bits, in tenths of percent. */
static unsigned
found(unsigned a, unsigned b, unsigned c, unsigned d)
{
	const unsigned n[] = { a, b, c, d };
	unsigned set;

	start(2);
	for (uint16_t i = 0; i < 4; i++)
		count(i, n[i] * 10);
	set = levels_findings(&l, &s);
	finish();
	return set;
}

START_TEST(two_bits)
{
	ck_assert_uint_eq(found(163, 337, 337, 163), 0);
	ck_assert_uint_eq(found(90, 410, 410, 90), 0);
	ck_assert_uint_eq(found(70, 430, 430, 70), FINDING_BIT(LEVELS));
	ck_assert_uint_eq(found(260, 240, 240, 260), FINDING_BIT(LEVELS));
	ck_assert_uint_eq(found(2, 498, 498, 2), FINDING_BIT(DEAD));
	ck_assert_uint_eq(found(500, 0, 0, 500), FINDING_BIT(BIT_MISSING));
	ck_assert_uint_eq(found(330, 0, 670, 0) & FINDING_BIT(BIT_MISSING),
			  FINDING_BIT(BIT_MISSING));
	ck_assert_uint_eq(found(0, 0, 1000, 0), FINDING_BIT(CONSTANT));
	ck_assert_uint_eq(found(100, 280, 390, 230), FINDING_BIT(DC));
}
END_TEST

START_TEST(few_samples_say_nothing)
{
	start(2);
	count(1, LEVELS_ENOUGH - 1);
	ck_assert_uint_eq(levels_findings(&l, &s), 0);
	count(1, 1);
	ck_assert_uint_eq(levels_findings(&l, &s), FINDING_BIT(CONSTANT));
	finish();
}
END_TEST

START_TEST(one_bit)
{
	start(1);
	count(0, 5000);
	count(1, 5100);
	ck_assert_uint_eq(levels_findings(&l, &s), 0);
	count(1, 3000);
	ck_assert_uint_eq(levels_findings(&l, &s), FINDING_BIT(DC));
	finish();
}
END_TEST

/* Counts about 10000 states of noise of an rms in levels. */
static void
noise(double mean, double rms)
{
	unsigned n = samples_states(&s);

	for (unsigned i = 0; i < n; i++) {
		double x = (s.level[i] - mean) / rms;

		count((uint16_t)i, (unsigned)(10000 * exp(-x * x / 2) / rms));
	}
}

START_TEST(more_bits)
{
	static const struct {
		unsigned bits;
		double mean, rms;
		unsigned found;
	} c[] = {
		{ 4, 0, 2.95, 0 },
		/* 8 is taken for zero */
		{ 4, 0.5, 2.95, 0 },
		{ 4, 1.5, 2.95, FINDING_BIT(DC) },
		{ 4, 0, 0.8, FINDING_BIT(LEVELS) },
		{ 4, 0, 0.3, FINDING_BIT(DEAD) },
		{ 4, 0, 9, FINDING_BIT(LEVELS) },
		{ 8, 0, 30, 0 },
		{ 8, 0, 0.3, FINDING_BIT(DEAD) },
		{ 8, 10, 30, FINDING_BIT(DC) },
		{ 16, 0, 1000, 0 },
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		start(c[i].bits);
		noise(c[i].mean, c[i].rms);
		ck_assert_msg(levels_findings(&l, &s) == c[i].found,
			      "case %zu: %x", i, levels_findings(&l, &s));
		finish();
	}
	/* the lowest bit is always 0 */
	start(8);
	for (uint16_t i = 100; i < 156; i += 2)
		count(i, 100);
	ck_assert_uint_eq(levels_findings(&l, &s), FINDING_BIT(BIT_MISSING));
	finish();
}
END_TEST

START_TEST(figures)
{
	struct levels_figures f;

	start(2);
	f = levels_figures(&l, &s);
	ck_assert(isnan(f.dc) && isnan(f.rms) && isnan(f.ratio));
	count(0, 1631);
	count(1, 3369);
	count(2, 3369);
	count(3, 1631);
	f = levels_figures(&l, &s);
	ck_assert_double_eq_tol(f.dc, 0, 1e-9);
	ck_assert_double_eq_tol(f.ratio, 1, 0.001);
	ck_assert_double_eq_tol(f.rms, sqrt(.3262 * 3.3359 * 3.3359 + .6738),
				1e-4);
	finish();
	start(1);
	count(0, 25);
	count(1, 75);
	f = levels_figures(&l, &s);
	ck_assert_double_eq_tol(f.rms, sqrt(.75), 1e-9);
	ck_assert_double_eq_tol(f.dc, .5 / sqrt(.75), 1e-9);
	ck_assert(isnan(f.ratio));
	finish();
}
END_TEST

START_TEST(findings_have_names)
{
	for (unsigned f = 0; f < FINDING_COUNT; f++) {
		ck_assert_ptr_nonnull(finding_name(f));
		ck_assert_ptr_nonnull(finding_sentence(f));
	}
	ck_assert_str_eq(finding_name(FINDING_BIT_MISSING), "bit-missing");
}
END_TEST

SUITE("levels", each_state_is_counted, two_bits, few_samples_say_nothing,
      one_bit, more_bits, figures, findings_have_names)
