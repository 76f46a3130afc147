/* SPDX-License-Identifier: MIT */
/*
 * The time of arrival is that of the receiver's pass, not of the card: it is up
 * to 2 ms late (flow/receive/receiver.c), and later where the machine is busy.
 * The least of ten seconds is within a millisecond of the truth, so that a
 * second, or the 100 ms of a formatter's frame count, is told from a slow way.
 */
#include "daemon/sessions/clock_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define USUAL	  (NS_SECOND * 3 / 4)
#define DRIFT	  2e-4 /* 3 ms in 20 s are noise */
#define DAY	  86400.0
#define HALF_YEAR 182.62 /* days */
#define NEAR	  3.0	 /* days: half-years are 181 to 184 */

static double
seconds(int64_t ns)
{
	return (double)ns / NS_SECOND;
}

static bool
is_epoch(double days)
{
	double halves = round(days / HALF_YEAR);

	return halves >= 1 && fabs(days - halves * HALF_YEAR) <= NEAR;
}

static enum clock_wrong
judge(struct clock_watch *w, int64_t most)
{
	double days, drift;
	int64_t behind;
	const char *side;

	if (!data_clock_behind(&w->clock, &behind))
		return CLOCK_RIGHT;
	/* What was wrong has to become right by a tenth. */
	if (w->wrong == CLOCK_FAR)
		most -= most / 10;
	side = behind < 0 ? "ahead of" : "behind";
	days = fabs(seconds(behind)) / DAY;
	if (is_epoch(days)) {
		snprintf(w->why, sizeof w->why,
			 "the time of the data is %.1f days %s ours: is the "
			 "half-year wrong in which the formatter counts?",
			 days, side);
		return CLOCK_EPOCH;
	}
	if (llabs(behind) > most) {
		snprintf(w->why, sizeof w->why,
			 "the time of the data is %.3f s %s ours",
			 fabs(seconds(behind)), side);
		return CLOCK_FAR;
	}
	if (data_clock_drift(&w->clock, &drift) && fabs(drift) > DRIFT) {
		snprintf(w->why, sizeof w->why,
			 "the time of the data falls %s by %.0f us in a second",
			 drift < 0 ? "ahead" : "behind", fabs(drift) * 1e6);
		return CLOCK_DRIFTS;
	}
	return CLOCK_RIGHT;
}

bool
clock_watch_look(struct clock_watch *w, const struct data_clock *clock,
		 int64_t most, bool *stepped)
{
	enum clock_wrong was = w->wrong;

	*stepped = clock->steps != w->clock.steps;
	w->clock = *clock;
	w->wrong = judge(w, most ? most : USUAL);
	if (w->wrong == CLOCK_RIGHT)
		w->why[0] = '\0';
	return *stepped || w->wrong != was;
}

/* ---- the computer's clock ---------------------------------------------- */

#define HELD NS_MS	 /* between two readings: the look was held up */
#define STEP (5 * NS_MS) /* as of the data's clock */
#define SOON (30 * NS_SECOND)

void
utc_watch_look(struct utc_watch *w)
{
	int64_t from = clock_steady(), utc = clock_now(), to = clock_steady();
	int64_t offset = utc - (from + (to - from) / 2);

	if (to - from > HELD)
		return;
	if (w->known && llabs(offset - w->offset) > STEP)
		w->step_at = to;
	w->known = true;
	w->offset = offset;
}

bool
utc_watch_stepped(const struct utc_watch *w, int64_t now)
{
	return w->step_at && now - w->step_at <= SOON;
}
