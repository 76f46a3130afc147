/* SPDX-License-Identifier: MIT */
/*
 * One fault is told at a time, the first that is there of: off by half-years, too
 * far, a thread apart, drift.  Both clocks drift, a computer's without NTP by
 * some 1e-5; so a smaller drift may not be the formatter's.
 */
#include "daemon/health/clock_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define USUAL	   (NS_SECOND * 3 / 4)
#define DRIFT	   5e-5		    /* with stamps of packets; 3 ms a minute */
#define DRIFT_READ 2e-4		    /* with times when they were read */
#define SURE	   6		    /* standard deviations */
#define WHOLE	   (NS_SECOND / 10) /* from whole seconds */
#define DAY	   86400.0
#define LEAP_LATE  (60 * NS_SECOND) /* from a leap second to what it does */
#define HALF_YEAR  182.62	    /* days */
#define NEAR	   3.0		    /* days: half-years are 181 to 184 */

/* Seconds that these times are ahead of UTC since the leap second of 2016. */
enum { TAI = 37, GPS = 18 };

const char *
clock_wrong_name(enum clock_wrong wrong)
{
	static const char *const name[] = {
		[CLOCK_DRIFTS] = "drift",
		[CLOCK_APART] = "apart",
		[CLOCK_FAR] = "far",
		[CLOCK_EPOCH] = "epoch",
	};

	return name[wrong];
}

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

/* ---- leap seconds -------------------------------------------------------- */

void
clock_watch_tai(struct clock_watch *w, int64_t tai, int64_t utc_ns)
{
	if (w->looked && llabs(tai - w->tai) == 1)
		w->leap_ns = utc_ns;
	w->looked = true;
	w->tai = tai;
}

/* True around a moment that may have a leap second: 1 January or 1 July, 0:00. */
static bool
may_leap(int64_t utc_ns)
{
	const int64_t day = 86400 * NS_SECOND;
	int64_t midnight = (utc_ns + day / 2) / day * day;
	time_t at = (time_t)(midnight / NS_SECOND);
	struct tm tm;

	gmtime_r(&at, &tm);
	return llabs(utc_ns - midnight) <= LEAP_LATE && tm.tm_mday == 1 &&
	       (tm.tm_mon == 0 || tm.tm_mon == 6);
}

const char *
clock_watch_step(const struct clock_watch *w, int64_t utc_ns)
{
	int64_t by = llabs(w->clock.step_ns);

	if (llabs(by - NS_SECOND) > NS_SECOND / 100)
		return "";
	if (w->leap_ns && utc_ns - w->leap_ns <= LEAP_LATE)
		return ": it took the leap second, as ours did";
	return may_leap(utc_ns) ? ": it took a leap second, and ours did not"
				: "";
}

/* ---- what is wrong ------------------------------------------------------- */

/* Returns what is likely to be wrong with a clock that is so far behind. */
static const char *
guess(const struct clock_watch *w, int64_t behind)
{
	int64_t whole = (behind + NS_SECOND / 2) / NS_SECOND;

	if (behind < 0)
		whole = (behind - NS_SECOND / 2) / NS_SECOND;
	if (!whole || llabs(behind - whole * NS_SECOND) > WHOLE)
		return "";
	switch (whole) {
	case -TAI: return ": is it set to TAI instead of UTC?";
	case -GPS: return ": is it set to the time of GPS instead of UTC?";
	case 1:
	case -1:
		if (w->leap_ns)
			return ": it did not take the leap second that ours "
			       "took";
		return ": was it set to the wrong second, or did it miss a "
		       "leap second?";
	default: return "";
	}
}

/* Writes the station of a thread, if it has one: two letters, or a number. */
static const char *
station_show(char text[32], uint32_t station)
{
	unsigned a = station >> 8 & 0xff, b = station & 0xff;

	*text = 0;
	if (station >> 16 == 0 && a > ' ' && a < 0x7f && b > ' ' && b < 0x7f)
		snprintf(text, 32, " of station %c%c", (char)a, (char)b);
	else if (station)
		snprintf(text, 32, " of station %u", station);
	return text;
}

static enum clock_wrong
judge(struct clock_watch *w, int64_t most)
{
	const struct data_clock_apart *apart = data_clock_apart(&w->clock);
	double days, drift, error;
	int64_t behind;
	const char *side;
	char text[32];

	if (!data_clock_behind(&w->clock, &behind))
		return CLOCK_RIGHT;
	/* Hysteresis: a clock that was too far is right again only when it is
	 * nearer than the limit by a tenth. */
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
			 "the time of the data is %.3f s %s ours%s",
			 fabs(seconds(behind)), side, guess(w, behind));
		return CLOCK_FAR;
	}
	if (apart) {
		snprintf(w->why, sizeof w->why,
			 "the time of thread %u%s is %.4f s %s that of the "
			 "others",
			 apart->thread, station_show(text, apart->station),
			 fabs(seconds(apart->ns)),
			 apart->ns < 0 ? "ahead of" : "behind");
		return CLOCK_APART;
	}
	if (data_clock_drift(&w->clock, &drift, &error) &&
	    fabs(drift) > (w->clock.stamped ? DRIFT : DRIFT_READ) &&
	    fabs(drift) > SURE * error) {
		snprintf(w->why, sizeof w->why,
			 "the time of the data falls %s by %.0f us in a second",
			 drift < 0 ? "ahead" : "behind", fabs(drift) * 1e6);
		return CLOCK_DRIFTS;
	}
	return CLOCK_RIGHT;
}

static struct clock_sender *
sender_find(struct clock_watch *w, uint32_t sub, uint32_t thread)
{
	for (unsigned i = 0; i < w->senders; i++) {
		if (w->sender[i].sub == sub && w->sender[i].thread == thread)
			return &w->sender[i];
	}
	return NULL;
}

const char *
clock_watch_sender(const struct clock_watch *w, uint32_t sub, uint32_t thread)
{
	const struct clock_sender *s =
	    sender_find((struct clock_watch *)(uintptr_t)w, sub, thread);

	return s ? s->address : "";
}

static void
senders_note(struct clock_watch *w, const struct data_clock_window *window)
{
	for (unsigned i = 0; i < window->threads; i++) {
		const struct data_clock_thread *t = &window->thread[i];
		struct clock_sender *s = sender_find(w, t->sub, t->thread);

		if (!t->sender[0])
			continue;
		if (!s && w->senders == DATA_CLOCK_THREADS)
			return;
		if (!s)
			s = &w->sender[w->senders++];
		s->sub = t->sub;
		s->thread = t->thread;
		memcpy(s->address, t->sender, sizeof s->address);
	}
}

bool
clock_watch_look(struct clock_watch *w, const struct data_clock_window *window,
		 int64_t most, bool *stepped)
{
	enum clock_wrong was = w->wrong;
	uint64_t steps = w->clock.steps;

	if (window->threads && window->number != w->seen)
		data_clock_add(&w->clock, window);
	if (window->number != w->seen)
		senders_note(w, window);
	w->seen = window->number;
	*stepped = w->clock.steps != steps;
	w->wrong = judge(w, most ? most : USUAL);
	if (w->wrong == CLOCK_RIGHT)
		w->why[0] = '\0';
	return *stepped || w->wrong != was;
}
