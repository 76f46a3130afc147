/* SPDX-License-Identifier: MIT */
#ifndef SPATE_SIGNAL_LEVELS_H
#define SPATE_SIGNAL_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "signal/samples.h"

/*
 * Levels counts how often a sampler gave each state.  All that can be said of
 * its level, its offset and its bits follows from these counts.
 */
struct levels {
	uint64_t n;	 /* samples */
	uint64_t *count; /* of each state */
};

/* Returns 0 or -ENOMEM. */
int levels_open(struct levels *l, const struct samples *s);
void levels_close(struct levels *l);

/* Counts n states, fewer than 2^32. */
void levels_add(struct levels *l, const uint16_t *state, size_t n,
		const struct samples *s);

/* Adds what another one of the same samples counted. */
void levels_merge(struct levels *l, const struct levels *from,
		  const struct samples *s);
void levels_clear(struct levels *l, const struct samples *s);

struct levels_figures {
	double dc;  /* mean, in rms */
	double rms; /* around the mean, in levels of struct samples */
	/*
	 * of 2 bits: outer states by inner ones, 1 where the thresholds are
	 * best for noise; NAN: no samples, or not of 2 bits
	 */
	double ratio;
};

/* Computes the figures; NAN where nothing was counted, or nothing changes. */
struct levels_figures levels_figures(const struct levels *l,
				     const struct samples *s);

/* Returns a set of findings; none of fewer than LEVELS_ENOUGH samples. */
enum { LEVELS_ENOUGH = 1000 };
unsigned levels_findings(const struct levels *l, const struct samples *s);

#endif
