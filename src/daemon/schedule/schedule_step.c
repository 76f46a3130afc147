/* SPDX-License-Identifier: MIT */
/*
 * Does what is due.  A waiting scan is compared with UTC anew each time, so
 * after a step of the clock it waits longer or shorter.  An armed scan gets new
 * steady times then.  A running scan keeps the steady end it had when it began:
 * its session ends by itself.
 *
 * A scan whose start has passed is begun at once while its end is ahead, as
 * Mark6 does, and never after its end.
 *
 * Checks which scans cannot be done when they are added, and again when
 * anything changes, so that an observer learns of it on Friday.  This file
 * checks what is wrong with a scan by itself: an unknown stream, or a
 * duplicate.  The hook `admit` decides whether there is room for all others.
 */
#include "daemon/schedule/schedule_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

void
schedule_accept(struct schedule *s, struct scan *scan)
{
	if (scan->state == SCAN_REFUSED && scan_is_candidate(scan))
		schedule_set(s, scan, SCAN_WAITING, "%s", "");
}

void
schedule_refuse(struct schedule *s, struct scan *scan, const char *why)
{
	if (scan_is_candidate(scan))
		schedule_set(s, scan, SCAN_REFUSED, "%s", why);
}

static bool
is_twin(const struct scan *other, const struct scan *scan)
{
	return !other->wrong && scan_is_entry(other, scan) &&
	       (scan_is_ahead(other) || other->state == SCAN_DONE);
}

/*
 * Finds the duplicate of a scan: earlier in the list, where it is decided
 * already, or later and begun.  A scan that continues though its file is gone
 * counts, too.
 */
static const struct scan *
twin_of(const struct schedule *s, unsigned at)
{
	struct scan *const *list = s->scans.scan;
	const struct scan *scan = list[at];

	for (unsigned i = at; i-- && list[i]->start == scan->start;) {
		if (is_twin(list[i], scan))
			return list[i];
	}
	for (unsigned i = at + 1; i < s->scans.n; i++) {
		if (list[i]->start != scan->start)
			break;
		if (list[i]->state != SCAN_WAITING && is_twin(list[i], scan))
			return list[i];
	}
	return NULL;
}

/* Refuses a scan.  The `why` of other scans is left alone: it may be a note. */
static bool bar(struct scan *scan, const char *why, ...)
    __attribute__((format(printf, 2, 3)));

static bool
bar(struct scan *scan, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(scan->why, sizeof scan->why, why, args);
	va_end(args);
	scan->state = SCAN_REFUSED;
	scan->barred = true;
	return true;
}

bool
schedule_send_check(const struct schedule *s, struct scan *scan)
{
	const char *why =
	    scan->send && s->hooks.url_fault
		? s->hooks.url_fault(s->hooks.arg, scan->send, false)
		: NULL;

	if (why && scan->unsent && !strcmp(scan->unsent, why))
		return false;
	free(scan->unsent);
	scan->unsent = why ? strdup(why) : NULL;
	return scan->unsent;
}

/* Checks the URL `to`. */
static const char *
url_fault(const struct schedule *s, const struct scan *scan)
{
	return scan->to && s->hooks.url_fault
		   ? s->hooks.url_fault(s->hooks.arg, scan->to,
					scan->action == SCAN_RELAY)
		   : NULL;
}

bool
schedule_bar(const struct schedule *s, struct scan *scan)
{
	const char *why;

	if (scan->wrong)
		return true;
	scan->barred = false;
	why = url_fault(s, scan);
	if (why)
		return bar(scan, "%s", why);
	for (unsigned i = 0; i < scan->streams; i++) {
		why = s->hooks.stream_fault(s->hooks.arg, scan->stream[i]);
		if (why)
			return bar(scan, "%s", why);
	}
	return false;
}

static bool
bar_twin(const struct schedule *s, unsigned at)
{
	struct scan *scan = s->scans.scan[at];
	const struct scan *twin = twin_of(s, at);

	if (twin && twin->file)
		return bar(scan, "%s:%u is the same scan", twin->file,
			   twin->line);
	return twin && bar(scan, "scan %u is the same", twin->id);
}

/*
 * Checks one scan.  Its state is set only once, so that the log has a line only
 * if it is new.
 */
static void
vet_one(struct schedule *s, unsigned at)
{
	struct scan *scan = s->scans.scan[at], is = *scan;
	bool was = scan->barred;

	scan->arm_at = scan->start - scan->arm - scan->backlog;
	if (schedule_send_check(s, scan))
		log_line(LEVEL_WARN, scan->name,
			 "will be recorded, but not sent: %s", scan->unsent);
	if (schedule_bar(s, scan) || bar_twin(s, at)) {
		char why[SCAN_WHY];

		memcpy(why, scan->why, sizeof why);
		memcpy(scan->why, is.why, sizeof why);
		scan->state = is.state;
		schedule_set(s, scan, SCAN_REFUSED, "%s", why);
	} else if (was || !s->hooks.admit) {
		schedule_accept(s, scan);
	}
}

void
schedule_vet(struct schedule *s, int64_t utc)
{
	bool many = schedule_many_begin(s);

	schedule_sort(s);
	for (unsigned i = 0; i < s->scans.n; i++) {
		const struct scan *scan = s->scans.scan[i];

		if (!scan->wrong && (scan->state == SCAN_WAITING ||
				     scan->state == SCAN_REFUSED))
			vet_one(s, i);
	}
	if (s->hooks.admit)
		s->hooks.admit(s->hooks.arg, s, utc);
	schedule_many_end(s, many);
	s->changed = false;
}

/* ---- what is due ----------------------------------------------------- */

enum {
	STEP_NS = 1000000,   /* smaller differences come from reading the
			      * clocks */
	SLEW_NS = 500000000, /* the clock is slewed by less than this while a
			      * scan runs */
	DAY_S = 86400,
};
/* How late after its stop, by UTC, a scan by data time still waits for data. */
#define DATA_LATE (60 * NS_SECOND)

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

/*
 * Converts the scan's times to steady time by the present clocks; data times
 * stay as they are.
 */
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
 * Returns the steady time of an edge of a scan.  Scans that follow each other
 * must share one edge, or packets would be in both or in none.  So the steady
 * time that another scan already uses for the same UTC time is taken: an armed
 * scan was converted a little earlier or later, while the clock is slewed; a
 * running one keeps its end, though it may have begun hours ago.
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

/*
 * Tells whether an error may pass: no disk yet, no memory just now, a busy
 * stream.
 */
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
	scan->again = now.steady + NS_SECOND;
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
	/*
	 * A scan that is late by less than a second keeps its start: packets
	 * that arrived before it belong to the scan before.
	 */
	if (!scan->data && late >= NS_SECOND)
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
	else if (!scan->data && late > NS_SECOND / 10)
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
				     "spated did not run until its end");
		else
			schedule_set(s, scan, SCAN_MISSED,
				     "its end had passed before it could "
				     "begin");
	} else if (now.utc >= scan->arm_at && now.steady >= scan->again) {
		arm(s, scan, now);
	}
}

/*
 * Handles an armed scan: its steady times change if the clock was stepped.  If
 * they did not, its session ends by itself at its stop: the receivers report
 * its begin later, and a scan of a millisecond is over by then.
 */
static void
armed(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	struct schedule_when when = when_of(s, scan);
	bool over = now.utc >= end_utc(scan) &&
		    (scan->data || when.stop < scan->end - NS_SECOND);

	if (over || now.utc < scan->arm_at - NS_SECOND) {
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

/*
 * Stops a scan by data time whose data do not come any more, so that no packet
 * ends it.
 */
static void
running(struct schedule *s, struct scan *scan, struct schedule_now now)
{
	if (scan->data && now.utc >= end_utc(scan))
		s->hooks.stop(s->hooks.arg, scan, "no data of its end came");
}

/*
 * Makes a missed scan WAITING again if the clock was set back.  A scan by data
 * time must not have started yet, since earlier data will not come again.
 */
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

/* ---- all scans ------------------------------------------------------- */

/* Returns the steady ns at which something of the scan is due. */
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

/*
 * Tells whether a scan is forgotten: over for a day, and its file does not list
 * it any more.
 */
static bool
is_old(struct scan *scan, int64_t utc)
{
	if (scan_is_ahead(scan) || (scan->file && !scan->gone))
		return false;
	if (!scan->over)
		scan->over = utc;
	return utc - scan->over > DAY_S * NS_SECOND;
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

/*
 * Revives interrupted scans: a machine that starts with a wrong clock takes
 * them for over.
 */
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
	log_line(LEVEL_WARN, NULL, "the clock was set %s by %s",
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
