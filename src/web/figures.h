/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_FIGURES_H
#define SPATE_WEB_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "control/spated.h"

/*
 * Figures are what spated last said of itself.  However many ask for them, spated
 * is asked at most once in FIGURES_REST_NS: `status`, `streams` and
 * `schedule-ls`, which it answers from memory.  One thread.
 */
#define FIGURES_REST_NS (1000 * 1000 * 1000LL)

/* recordings that ended last, of which `status` tells */
enum { FIGURES_ENDED = 32 };

struct figures {
	struct spated *spated; /* set by the owner */
	bool up;	       /* spated answered the last time */
	json_t *status;	       /* the answers; NULL: unknown */
	json_t *streams;       /* array: STREAM_KEYS each */
	json_t *scans;	       /* array: SCAN_KEYS each */
	uint64_t asked;	       /* how often spated was asked */
	int64_t at;	       /* steady ns of the last time; 0: never */
};

/* Asks spated unless it was asked just now.  Returns whether it did. */
bool figures_refresh(struct figures *f);

/* Forgets what was said. */
void figures_clear(struct figures *f);

#endif
