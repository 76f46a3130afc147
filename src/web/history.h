/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_HISTORY_H
#define SPATE_WEB_HISTORY_H

#include <stdint.h>

#include "web/figures.h"

/*
 * The history is what the plots of a page need of the last ten minutes, so that
 * a page that is opened now shows what was before.  It has a moment for every
 * HISTORY_STEP_NS, and so asks spated also while nobody else does.  One thread.
 */
#define HISTORY_STEP_NS (5 * 1000 * 1000 * 1000LL)
enum { HISTORY_MOST = 120 };

struct history {
	char *moment[HISTORY_MOST]; /* JSON; NULL: not yet */
	unsigned next;
	int64_t at; /* steady ns of the last one; 0: none */
};

/* Milliseconds until the next moment is due. */
int history_wait(const struct history *h);

/* Adds a moment if it is due, and asks spated for it. */
void history_step(struct history *h, struct figures *figures);

/* All moments as a JSON array, oldest first: malloc'ed, or NULL without
 * memory. */
char *history_text(const struct history *h);

void history_clear(struct history *h);

#endif
