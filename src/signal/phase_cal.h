/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_PHASE_CAL_H
#define SPATE_SIGNAL_PHASE_CAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Phase cal: tones that the receiver adds to the sky, `spacing` Hz apart, whose
 * phases show what the electronics do to the signal.
 *
 * All tones together repeat after a period of N samples.  Samples are folded by
 * it, A[i mod N] += V[i], which keeps the tones and averages the noise; the DFT
 * of A then has each tone in a bin of its own.  Sample 0 is the first one of a
 * second.
 */
struct phase_cal;

struct phase_cal_comb {
	uint64_t rate;	  /* samples per second */
	uint64_t spacing; /* Hz, of tones */
	uint64_t offset;  /* Hz, of the first tone; below `spacing` */
};

enum { PHASE_CAL_PERIOD = 1 << 16 }; /* most samples of a period */

/* Returns the samples of a period; 0: there is none, or it is too long. */
uint32_t phase_cal_period(const struct phase_cal_comb *comb);

/* Returns 0; -EINVAL if the comb has no period; -ENOMEM. */
int phase_cal_open(struct phase_cal **p, const struct phase_cal_comb *comb,
		   bool complex);
void phase_cal_close(struct phase_cal *p); /* NULL is allowed */

/*
 * Adds consecutive samples; the first one has number `at` in its second.
 * `imaginary` is not read if they are real.
 */
void phase_cal_add(struct phase_cal *p, uint64_t at, const float *real,
		   const float *imaginary, size_t n);

/* Adds what another one of the same comb has. */
void phase_cal_merge(struct phase_cal *p, const struct phase_cal *from);
void phase_cal_clear(struct phase_cal *p);

struct phase_cal_tone {
	double hz;
	double amplitude; /* in rms of the samples */
	double phase; /* radians, of a cosine at the beginning of a second */
	bool there;   /* stands out of the noise */
};

/* The result of phase_cal_tones(). */
struct phase_cal_result {
	struct phase_cal_tone *tone; /* by frequency; free() */
	unsigned tones, there;
	double least; /* amplitude from which on a tone is there, in rms */
	/*
	 * s, 0 to 1 / spacing, by which the tones that are there come later
	 * than if all had one phase; NAN: fewer than two are there
	 */
	double delay;
	double error; /* s, standard deviation of it by the noise; or NAN */
};

/*
 * Computes tones and delay; no tones if not every sample of the period was seen.
 * Returns 0 or -ENOMEM.
 */
int phase_cal_result(const struct phase_cal *p, struct phase_cal_result *r);

#endif
