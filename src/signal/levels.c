/* SPDX-License-Identifier: MIT */
/*
 * Bounds of what is taken for good:
 *
 *   2 bits   noise of the best level is beyond the thresholds, at 0.98 rms, in
 *            32.6 % of samples; 3 dB less in 16.5 %, 3 dB more in 48.8 %
 *   more     clipped samples are at most 5 %, the rms is one level or more
 *   offset   a tenth of the rms, and of more than 2 bits three quarters of a
 *            level: some samplers take 2^(bits-1) for zero
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "signal/finding.h"
#include "signal/levels.h"

#define BEST_RATIO  0.4843 /* 0.3263 / 0.6737 */
#define OUTER_LEAST 0.165
#define OUTER_MOST  0.488
#define OUTER_DEAD  0.01
#define RMS_DEAD    0.6 /* levels: noise between two states has 0.5 */
#define RMS_LEAST   1.0
#define CLIPPED	    0.05
#define DC_MOST	    0.1
#define DC_LEVELS   0.75
#define NEVER	    0.001 /* share of samples that is as good as none */

enum {
	FEW = 16, /* states, of up to 4 bits */
	TABLES = 4,
};

int
levels_open(struct levels *l, const struct samples *s)
{
	l->n = 0;
	l->count = calloc(samples_states(s), sizeof *l->count);
	return l->count ? 0 : -ENOMEM;
}

void
levels_close(struct levels *l)
{
	free(l->count);
	l->count = NULL;
}

/* Counts in four tables in turn: neighbours of few bits mostly have the same
 * state, and an increment that waits for the last one of its place takes five
 * times as long. */
static void
few_add(struct levels *l, const uint16_t *state, size_t n)
{
	uint32_t count[TABLES][FEW] = { { 0 } };
	size_t i;

	for (i = 0; i + TABLES <= n; i += TABLES)
		for (unsigned k = 0; k < TABLES; k++)
			count[k][state[i + k]]++;
	for (; i < n; i++)
		count[0][state[i]]++;
	for (unsigned k = 0; k < TABLES; k++)
		for (unsigned at = 0; at < FEW; at++)
			if (count[k][at])
				l->count[at] += count[k][at];
}

void
levels_add(struct levels *l, const uint16_t *state, size_t n,
	   const struct samples *s)
{
	if (samples_states(s) <= FEW) {
		few_add(l, state, n);
	} else {
		for (size_t i = 0; i < n; i++)
			l->count[state[i]]++;
	}
	l->n += n;
}

void
levels_merge(struct levels *l, const struct levels *from,
	     const struct samples *s)
{
	for (unsigned i = 0; i < samples_states(s); i++)
		l->count[i] += from->count[i];
	l->n += from->n;
}

void
levels_clear(struct levels *l, const struct samples *s)
{
	memset(l->count, 0, samples_states(s) * sizeof *l->count);
	l->n = 0;
}

static double
share(const struct levels *l, uint64_t n)
{
	return (double)n / (double)l->n;
}

/* Returns the mean, and sets the rms around it. */
static double
mean_of(const struct levels *l, const struct samples *s, double *rms)
{
	double sum = 0, squares = 0, mean;

	for (unsigned i = 0; i < samples_states(s); i++) {
		double n = (double)l->count[i], level = s->level[i];

		sum += n * level;
		squares += n * level * level;
	}
	mean = sum / (double)l->n;
	squares = squares / (double)l->n - mean * mean;
	*rms = squares > 0 ? sqrt(squares) : 0;
	return mean;
}

struct levels_figures
levels_figures(const struct levels *l, const struct samples *s)
{
	struct levels_figures f = { NAN, NAN, NAN };
	double mean;
	uint64_t inner;

	if (!l->n)
		return f;
	mean = mean_of(l, s, &f.rms);
	if (f.rms > 0)
		f.dc = mean / f.rms;
	if (s->layout.bits != 2)
		return f;
	inner = l->count[1] + l->count[2];
	if (inner)
		f.ratio = (double)(l->n - inner) / (double)inner / BEST_RATIO;
	return f;
}

static bool
is_constant(const struct levels *l, const struct samples *s)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < samples_states(s); i++)
		most = l->count[i] > most ? l->count[i] : most;
	return most == l->n;
}

/* Tells whether a bit of the samples, or of two bits the magnitude, is missing. */
static bool
is_bit_missing(const struct levels *l, const struct samples *s)
{
	for (unsigned bit = 0; bit < s->layout.bits; bit++) {
		uint64_t ones = 0;

		for (unsigned i = 0; i < samples_states(s); i++)
			ones += i >> bit & 1 ? l->count[i] : 0;
		if (share(l, ones) < NEVER || share(l, ones) > 1 - NEVER)
			return true;
	}
	return s->layout.bits == 2 &&
	       share(l, l->count[1] + l->count[2]) < NEVER;
}

/* Judges the level of samples of two bits or more. */
static unsigned
level_findings(const struct levels *l, const struct samples *s, double rms)
{
	uint64_t ends = l->count[0] + l->count[samples_states(s) - 1];
	bool two = s->layout.bits == 2;

	if (two ? share(l, ends) < OUTER_DEAD : rms < RMS_DEAD)
		return FINDING_BIT(DEAD);
	if (is_bit_missing(l, s))
		return FINDING_BIT(BIT_MISSING);
	if (two ? share(l, ends) < OUTER_LEAST || share(l, ends) > OUTER_MOST
		: rms < RMS_LEAST || share(l, ends) > CLIPPED)
		return FINDING_BIT(LEVELS);
	return 0;
}

unsigned
levels_findings(const struct levels *l, const struct samples *s)
{
	unsigned found = 0;
	double rms, mean;

	if (l->n < LEVELS_ENOUGH)
		return 0;
	if (is_constant(l, s))
		return FINDING_BIT(CONSTANT);
	mean = fabs(mean_of(l, s, &rms));
	/* the mean of so few samples is uncertain, too */
	if (mean > (DC_MOST + 5 / sqrt((double)l->n)) * rms &&
	    (s->layout.bits <= 2 || mean > DC_LEVELS))
		found |= FINDING_BIT(DC);
	if (s->layout.bits > 1)
		found |= level_findings(l, s, rms);
	return found;
}
