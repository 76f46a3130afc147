/* SPDX-License-Identifier: MIT */
/*
 * Frames need not be whole periods, and only some of them may be looked at, so
 * each place of the period counts its samples.
 *
 * Noise of rms s in n samples gives a tone's amplitude parts of s * sqrt(2 / n)
 * (complex samples: s * sqrt(1 / n), of all their noise), so an amplitude of
 * SIGNIFICANT times that comes by chance once in 10^7 tones.
 *
 * The delay is searched in steps fine enough that the phases that are left do
 * not wrap, and then fitted to these, weighted by power.
 */
#include <complex.h>
#include <errno.h>
#include <kiss_fft.h>
#include <math.h>
#include <stdlib.h>

/* complex.h defines this, and the next header has a member of the name. */
#undef complex
#include "signal/phase_cal.h"

#define SIGNIFICANT 6
#define STEPS	    8 /* of the delay search, per tone */

struct phase_cal {
	struct phase_cal_comb comb;
	bool complex;
	uint32_t period;
	uint64_t n; /* samples */
	double squares;
	struct fold {
		double real, imaginary;
		uint64_t n;
	} fold[];
};

static uint64_t
divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint32_t
phase_cal_period(const struct phase_cal_comb *c)
{
	uint64_t step;

	if (!c->spacing || !c->rate || c->offset >= c->spacing)
		return 0;
	step = divisor(divisor(c->spacing, c->offset), c->rate);
	if (c->rate / step > PHASE_CAL_PERIOD || c->rate / step < 2)
		return 0;
	return (uint32_t)(c->rate / step);
}

int
phase_cal_open(struct phase_cal **out, const struct phase_cal_comb *comb,
	       bool complex)
{
	uint32_t period = phase_cal_period(comb);
	struct phase_cal *p;

	if (!period)
		return -EINVAL;
	p = calloc(1, sizeof *p + period * sizeof p->fold[0]);
	if (!p)
		return -ENOMEM;
	p->comb = *comb;
	p->complex = complex;
	p->period = period;
	*out = p;
	return 0;
}

void
phase_cal_close(struct phase_cal *p)
{
	free(p);
}

void
phase_cal_add(struct phase_cal *p, uint64_t at, const float *real,
	      const float *imaginary, size_t n)
{
	uint32_t k = (uint32_t)(at % p->period);
	double squares = 0;

	for (size_t i = 0; i < n; i++) {
		struct fold *f = &p->fold[k];
		double re = real[i], im = p->complex ? imaginary[i] : 0;

		f->real += re;
		f->imaginary += im;
		f->n++;
		squares += re * re + im * im;
		k = k + 1 == p->period ? 0 : k + 1;
	}
	p->n += n;
	p->squares += squares;
}

void
phase_cal_merge(struct phase_cal *p, const struct phase_cal *from)
{
	for (uint32_t i = 0; i < p->period; i++) {
		p->fold[i].real += from->fold[i].real;
		p->fold[i].imaginary += from->fold[i].imaginary;
		p->fold[i].n += from->fold[i].n;
	}
	p->n += from->n;
	p->squares += from->squares;
}

void
phase_cal_clear(struct phase_cal *p)
{
	memset(p->fold, 0, p->period * sizeof p->fold[0]);
	p->n = 0;
	p->squares = 0;
}

/* Returns the DFT of the mean period; NULL without memory. */
static kiss_fft_cpx *
bins_make(const struct phase_cal *p)
{
	kiss_fft_cfg plan = kiss_fft_alloc((int)p->period, 0, NULL, NULL);
	kiss_fft_cpx *in = calloc(p->period, sizeof *in);
	kiss_fft_cpx *out = calloc(p->period, sizeof *out);

	if (!plan || !in || !out) {
		free(out);
		out = NULL;
		goto end;
	}
	for (uint32_t i = 0; i < p->period; i++) {
		const struct fold *f = &p->fold[i];

		in[i].r = (float)(f->real / (double)f->n);
		in[i].i = (float)(f->imaginary / (double)f->n);
	}
	kiss_fft(plan, in, out);
end:
	free(in);
	kiss_fft_free(plan);
	return out;
}

static bool
is_covered(const struct phase_cal *p)
{
	for (uint32_t i = 0; i < p->period; i++)
		if (!p->fold[i].n)
			return false;
	return true;
}

/* Sets the tones below half of the rate, of complex samples below the rate. */
static void
tones_read(const struct phase_cal *p, const kiss_fft_cpx *bin,
	   struct phase_cal_result *r)
{
	const struct phase_cal_comb *c = &p->comb;
	uint64_t end = p->complex ? c->rate : (c->rate + 1) / 2;
	double scale = (p->complex ? 1.0 : 2.0) / p->period;
	double mean_r = bin[0].r / (double)p->period;
	double mean_i = bin[0].i / (double)p->period;
	double noise =
	    p->squares / (double)p->n - mean_r * mean_r - mean_i * mean_i;
	double rms = noise > 0 ? sqrt(noise) : 0;

	r->least = SIGNIFICANT * sqrt((p->complex ? 1.0 : 2.0) / (double)p->n);
	for (uint64_t hz = c->offset ? c->offset : c->spacing;
	     hz < end && rms > 0; hz += c->spacing) {
		const kiss_fft_cpx *b = &bin[hz * p->period / c->rate];
		double _Complex z = b->r + I * (double)b->i;
		struct phase_cal_tone *t = &r->tone[r->tones++];

		t->hz = (double)hz;
		t->amplitude = scale * cabs(z) / rms;
		t->phase = carg(z);
		t->there = t->amplitude > r->least;
		r->there += t->there;
	}
}

/* Returns the sum of all tones that are there, turned as by a delay of -s. */
static double _Complex tones_sum(const struct phase_cal_result *r, double s)
{
	double _Complex sum = 0;

	for (unsigned i = 0; i < r->tones; i++) {
		const struct phase_cal_tone *t = &r->tone[i];

		if (t->there)
			sum += t->amplitude *
			       cexp(I * (t->phase + 2 * M_PI * t->hz * s));
	}
	return sum;
}

/*
 * Returns by how much more than `s` the tones are delayed: the slope of the
 * phases that are left, by least squares.
 */
static double
slope_fit(const struct phase_cal_result *r, double s)
{
	double _Complex sum = tones_sum(r, s);
	double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;

	for (unsigned i = 0; i < r->tones; i++) {
		const struct phase_cal_tone *t = &r->tone[i];
		double weight = t->there ? t->amplitude * t->amplitude : 0;
		double x = 2 * M_PI * t->hz;
		double y = carg(cexp(I * (t->phase + x * s)) * conj(sum));

		w += weight;
		wx += weight * x;
		wy += weight * y;
		wxx += weight * x * x;
		wxy += weight * x * y;
	}
	return -(w * wxy - wx * wy) / (w * wxx - wx * wx);
}

/* Returns the standard deviation of the delay: that of a fitted slope. */
static double
slope_error(const struct phase_cal_result *r)
{
	double w = 0, wx = 0, wxx = 0;

	for (unsigned i = 0; i < r->tones; i++) {
		const struct phase_cal_tone *t = &r->tone[i];
		double weight = t->there ? t->amplitude * t->amplitude : 0;
		double x = 2 * M_PI * t->hz;

		w += weight;
		wx += weight * x;
		wxx += weight * x * x;
	}
	return r->least / SIGNIFICANT / sqrt(wxx - wx * wx / w);
}

/*
 * Returns the step of 1 / STEPS / tones of the longest delay at which the tones
 * agree best: the largest bin of their inverse transform.  -ENOMEM.
 */
static int64_t
delay_search(const struct phase_cal *p, const struct phase_cal_result *r,
	     uint32_t steps)
{
	kiss_fft_cfg plan = kiss_fft_alloc((int)steps, 1, NULL, NULL);
	kiss_fft_cpx *in = calloc(steps, sizeof *in);
	kiss_fft_cpx *out = calloc(steps, sizeof *out);
	int64_t best = -ENOMEM;
	float most = -1;

	if (!plan || !in || !out)
		goto end;
	for (unsigned i = 0; i < r->tones; i++) {
		const struct phase_cal_tone *t = &r->tone[i];
		uint64_t k = (uint64_t)t->hz / p->comb.spacing;

		if (!t->there)
			continue;
		in[k].r = (float)(t->amplitude * cos(t->phase));
		in[k].i = (float)(t->amplitude * sin(t->phase));
	}
	kiss_fft(plan, in, out);
	for (uint32_t i = 0; i < steps; i++) {
		float power = out[i].r * out[i].r + out[i].i * out[i].i;

		if (power > most) {
			most = power;
			best = i;
		}
	}
end:
	free(in);
	free(out);
	kiss_fft_free(plan);
	return best;
}

static int
delay_find(const struct phase_cal *p, struct phase_cal_result *r)
{
	double end = 1 / (double)p->comb.spacing;
	uint32_t steps = STEPS * (r->tones + 1);
	int64_t at;

	if (r->there < 2)
		return 0;
	at = delay_search(p, r, steps);
	if (at < 0)
		return (int)at;
	r->delay = end * (double)at / steps;
	r->delay += slope_fit(r, r->delay);
	r->delay -= end * floor(r->delay / end);
	r->error = slope_error(r);
	return 0;
}

int
phase_cal_result(const struct phase_cal *p, struct phase_cal_result *r)
{
	kiss_fft_cpx *bin;
	int err = -ENOMEM;

	*r = (struct phase_cal_result){ .delay = NAN, .error = NAN };
	if (!is_covered(p))
		return 0;
	r->tone = calloc(p->comb.rate / p->comb.spacing + 1, sizeof *r->tone);
	bin = bins_make(p);
	if (r->tone && bin) {
		tones_read(p, bin, r);
		err = delay_find(p, r);
	}
	free(bin);
	if (err) {
		free(r->tone);
		*r = (struct phase_cal_result){ .delay = NAN, .error = NAN };
	}
	return err;
}
