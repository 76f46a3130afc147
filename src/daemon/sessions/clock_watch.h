/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_CLOCK_WATCH_H
#define SPATE_DAEMON_SESSIONS_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/output/data_clock.h"

/*
 * Watches the clock of a recording's data (flow/output/data_clock.h): is the
 * formatter's time right?  The event loop's thread.
 */
enum clock_wrong {
	CLOCK_RIGHT,
	CLOCK_DRIFTS,
	CLOCK_FAR,   /* farther from ours than is allowed */
	CLOCK_EPOCH, /* by about half-years: the epoch of VDIF is wrong */
};

struct clock_watch {
	struct data_clock clock; /* as of the last look */
	enum clock_wrong wrong;
	char why[160]; /* a sentence, unless RIGHT */
};

/* Looks at a clock that may be `most` ns from ours (0: 0.75 s).  Returns
 * true if what is wrong with it is something else than at the last look, or it
 * stepped; then *stepped says which. */
bool clock_watch_look(struct clock_watch *w, const struct data_clock *clock,
		      int64_t most, bool *stepped);

/*
 * Watches the computer's own clock, UTC, against the steady one.  Times of
 * arrival follow a step of it, so the time of the data seems to step, too.
 */
struct utc_watch {
	bool known;
	int64_t offset;	 /* ns, UTC less steady, as of the last look */
	int64_t step_at; /* when a step was noticed, ns, steady; 0: never */
};

/* Notices a step of UTC by more than 5 ms since the last look.  A look that the
 * machine holds up for too long changes nothing. */
void utc_watch_look(struct utc_watch *w);

/* True if UTC was stepped within the half minute before `now`, steady. */
bool utc_watch_stepped(const struct utc_watch *w, int64_t now);

#endif
