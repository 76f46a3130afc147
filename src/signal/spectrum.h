/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_SPECTRUM_H
#define SPATE_SIGNAL_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A spectrum is the mean power of a channel in SPECTRUM_POINTS equal parts of its
 * band.  Point k of real samples is around k / 256 of the sample rate, of
 * complex ones around k / 128 of it.
 */
enum { SPECTRUM_POINTS = 128 };

struct spectrum {
	double power[SPECTRUM_POINTS]; /* sums over all segments */
	uint64_t segments;
};

/* The transform, which any number of spectra of one thread share. */
struct spectrum_plan;

/* Returns 0 or -ENOMEM. */
int spectrum_plan_open(struct spectrum_plan **plan, bool complex);
void spectrum_plan_close(struct spectrum_plan *plan); /* NULL is allowed */

/*
 * Adds consecutive samples, of which a rest that is no whole segment (256 real or
 * 128 complex ones) is left out.  `imaginary` is not read if they are real.
 */
void spectrum_add(struct spectrum *s, struct spectrum_plan *plan,
		  const float *real, const float *imaginary, size_t n);

/* Adds another spectrum. */
void spectrum_merge(struct spectrum *s, const struct spectrum *from);

#endif
