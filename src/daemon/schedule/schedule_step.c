/* SPDX-License-Identifier: MIT */
/*
 * What is due.  A scan that waits is compared with UTC, anew each time, so a
 * clock that is stepped makes it wait longer or shorter.  What is armed gets
 * new steady times then.  What runs has the steady end that it had when it
 * began, and is not looked at: its session ends by itself.
 *
 * A scan whose start has passed is begun at once while its end is ahead, as
 * Mark6 does, and never after it.
 */
#include "daemon/schedule/schedule_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"

enum {
	STEP_NS = 1000000,   /* a smaller one is how the clocks were read */
	SLEW_NS = 500000000, /* a clock is slewed by less while a scan runs */
	DAY_S = 86400,
};
/* How much later than UTC the data's own clock may be. */
#define DATA_LATE (60 * SCHEDULE_SECOND)

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
end_utc(const struct scan *scan)
{
	if (scan->any_time || scan->stop == INT64_MAX)
		return INT64_MAX;
	return scan->data ? scan->stop + DATA_LATE : scan->stop;
}

/* In steady time, as the clocks are now; of data as it is. */
static struct schedule_when
when_of(const struct schedule *s, const struct scan *scan)
{
	struct schedule_when when = { .start = scan->start,
				      .stop = scan->stop,
				      .data = scan->data,
				      .backlog = scan->backlog };

	if (scan->data)
		return when;
	when.start -= s->offset;
	if (when.stop != INT64_MAX)
		when.stop -= s->offset;
	return when;
}

/*
 * Scans that follow each other have one edge, or packets would be in both, or
 * in none.  What another one has is taken, where it is the same time: what is
 * armed was turned into steady time a little before or after, and the clock is
 * slewed meanwhile; what runs keeps its end, though it began hours ago.
 */
static int64_t
edge_of(const struct schedule *s, const struct scan *scan, int64_t utc,
	int64_t at)
{
	for (unsigned i = 0; i < s->scans.n; i++) {
		const struct scan *o = s->scans.scan[i];
		int64_t near = o->state == SCAN_RUNNING ? SLEW_NS : STEP_NS;

		if (o == scan || o->data ||
		    (o->state != SCAN_RUNNING && o->state != SCAN_ARMED))
			continue;
		if (o->stop == utc && llabs(o->end - at) <= near)
			return o->end;
		if (o->start == utc && llabs(o->begin - at) <= near)
			return o->begin;
	}
	return at;
}

static struct schedule_when
when_with(const struct schedule *s, const struct scan *scan)
{
	struct schedule_when when = when_of(s, scan);

	if (scan->data)
		return when;
	when.start = edge_of(s, scan, scan->start, when.start);
	if (when.stop != INT64_MAX)
		when.stop = edge_of(s, scan, scan->stop, when.stop);
	return when;
}

/* ---- one scan -------------------------------------------------------- */

/* No disk yet, no memory just now, a stream that is busy: these pass. */
static bool
may_pass(int err)
{
	return err != -EINVAL && err != -ENOENT && err != -ENOTSUP &&
	       err != -EEXIST;
}

static void
arm_failed(struct schedule *s, struct scan *scan, int err,
	   const struct fault *fault, struct schedule_now now)
{
	char why[sizeof *fault];

	fault_line(fault, why, sizeof why);
	scan->tries++;
	scan->again = now.steady + SCHEDULE_SECOND;
	if (may_pass(err))
		schedule_set(s, scan, SCAN_WAITING, "%.*s; is tried again",
			     SCAN_WHY - 32, why);
	else
		schedule_set(s, scan, SCAN_FAILED, "%.*s", SCAN_WHY - 1, why);
}

static void
arm(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	struct schedule_when when = when_with(s, scan);
	int64_t late = now.utc - scan->start;
	char text[UNITS_TEXT];
	struct fault fault = { 0 };
	int err;

	scan->begin = when.start;
	scan->end = scan->data ? INT64_MAX : when.stop;
	/* One that is late by a moment keeps its start: what arrived before it
	 * belongs to the scan before. */
	if (!scan->data && late >= SCHEDULE_SECOND)
		when.start = 0;
	err = s->hooks.arm(s->hooks.arg, scan, &when, &fault);
	if (err < 0) {
		arm_failed(s, scan, err, &fault, now);
		return;
	}
	scan->tries = 0;
	if (scan->resume)
		schedule_set(s, scan, SCAN_ARMED, "goes on with %s",
			     scan->recording);
	else if (!scan->data && late > SCHEDULE_SECOND / 10)
		schedule_set(s, scan, SCAN_ARMED, "begins late, by %s",
			     units_show_span(text, late));
	else
		schedule_set(s, scan, SCAN_ARMED, "%s", "");
	if (err)
		schedule_began(s, scan->id, now);
}

static void
waiting(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	if (now.utc >= end_utc(scan)) {
		if (scan->tries)
			schedule_set(s, scan, SCAN_FAILED,
				     "until its end: %.*s", SCAN_WHY - 32,
				     scan->why);
		else if (scan->resume)
			schedule_set(s, scan, SCAN_FAILED,
				     "the daemon ended in the middle of it");
		else
			schedule_set(s, scan, SCAN_MISSED,
				     "its end had passed before it could "
				     "begin");
	} else if (now.utc >= scan->arm_at && now.steady >= scan->again) {
		arm(s, scan, now);
	}
}

/*
 * Its times in steady time may be others by now.  Where they are not it is
 * over by itself: that it began is known only when the receivers have said so,
 * and one of a millisecond is over by then.
 */
static void
armed(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	struct schedule_when when = when_of(s, scan);
	bool over = now.utc >= end_utc(scan) &&
		    (scan->data || when.stop < scan->end - SCHEDULE_SECOND);

	if (over || now.utc < scan->arm_at - SCHEDULE_SECOND) {
		s->hooks.stop(s->hooks.arg, scan, "time");
		if (over)
			schedule_set(s, scan, SCAN_MISSED, "%s",
				     scan->data
					 ? "no data of its time came"
					 : "the clock was set past its end");
		else
			schedule_set(s, scan, SCAN_WAITING,
				     "the clock was set back");
	} else if (!scan->data && (when.start > scan->begin + STEP_NS ||
				   when.start < scan->begin - STEP_NS)) {
		when = when_with(s, scan);
		if (when.start == scan->begin && when.stop == scan->end)
			return;
		scan->begin = when.start;
		scan->end = when.stop;
		s->hooks.move(s->hooks.arg, scan, &when);
	}
}

/* Of data that do not come any more, nobody says that they are over. */
static void
running(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	if (scan->data && now.utc >= end_utc(scan))
		s->hooks.stop(s->hooks.arg, scan, "no data of its end came");
}

/* A clock that was wrong may have made it so.  Of data that were too late for
 * it nothing will come, before its start at the earliest. */
static void
missed(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	int64_t until = scan->data ? scan->start : scan->stop;

	if (!scan->gone && now.utc < until) {
		schedule_set(s, scan, SCAN_WAITING, "the clock was set back");
		s->changed = true;
	}
}

static void
one(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	switch (scan->state) {
	case SCAN_WAITING: waiting(s, scan, now); break;
	case SCAN_ARMED: armed(s, scan, now); break;
	case SCAN_RUNNING: running(s, scan, now); break;
	case SCAN_MISSED: missed(s, scan, now); break;
	default: break;
	}
}

/* ---- all of them ----------------------------------------------------- */

/* Steady: when something of it is due. */
static int64_t
next_of(const struct schedule *s, const struct scan *scan)
{
	int64_t end = end_utc(scan), at = INT64_MAX;

	if (end != INT64_MAX)
		end -= s->offset;
	switch (scan->state) {
	case SCAN_WAITING:
		at = scan->arm_at - s->offset;
		return least(at > scan->again ? at : scan->again, end);
	case SCAN_ARMED:
	case SCAN_RUNNING: return scan->data ? end : INT64_MAX;
	default: return INT64_MAX;
	}
}

/* Of what is over nobody asks after a day, unless its file is still there. */
static bool
is_old(struct scan *scan, int64_t utc)
{
	if (scan_is_ahead(scan) || (scan->file && !scan->gone))
		return false;
	if (!scan->over)
		scan->over = utc;
	return utc - scan->over > DAY_S * SCHEDULE_SECOND;
}

static void
forget(struct schedule *s, int64_t utc)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->scans.n; i++) {
		struct scan *scan = s->scans.scan[i];

		if (!is_old(scan, utc)) {
			s->scans.scan[n++] = scan;
			continue;
		}
		scan_free(scan);
		s->dirty = true;
	}
	s->scans.n = n;
}

void
schedule_due(struct schedule *s, struct schedule_now now)
{
	bool many = schedule_many_begin(s);

	if (s->changed)
		schedule_vet(s, now.utc);
	for (unsigned i = 0; i < s->scans.n; i++)
		one(s, s->scans.scan[i], now);
	if (s->changed)
		schedule_vet(s, now.utc);
	schedule_many_end(s, many);
	forget(s, now.utc);
	s->next = s->look_at;
	for (unsigned i = 0; i < s->scans.n; i++)
		s->next = least(s->next, next_of(s, s->scans.scan[i]));
	if (s->dirty)
		schedule_state_write(s);
}

/* A machine that begins with a wrong clock takes what was interrupted for
 * over. */
static void
set_back(struct schedule *s, int64_t utc)
{
	for (unsigned i = 0; i < s->scans.n; i++) {
		struct scan *scan = s->scans.scan[i];

		if (scan->state == SCAN_FAILED && scan->resume && !scan->gone &&
		    utc < scan->stop)
			schedule_set(s, scan, SCAN_WAITING,
				     "the clock was set back");
	}
}

static void
clock_look(struct schedule *s, struct schedule_now now)
{
	int64_t offset = now.utc - now.steady, step = offset - s->offset;
	char text[UNITS_TEXT];

	s->offset = offset;
	if (step > -STEP_NS && step < STEP_NS)
		return;
	log_line(LOG_WARN, NULL, "the clock was set %s by %s",
		 step < 0 ? "back" : "forward",
		 units_show_span(text, step < 0 ? -step : step));
	if (step < 0)
		set_back(s, now.utc);
	s->next = 0;
	s->changed = true;
}

void
schedule_step(struct schedule *s, struct schedule_now now)
{
	clock_look(s, now);
	if (s->folder && now.steady >= s->look_at)
		schedule_folder_look(s, now, false);
	if (now.steady >= s->next || s->changed)
		schedule_due(s, now);
}
