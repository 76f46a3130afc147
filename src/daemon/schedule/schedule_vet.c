/* SPDX-License-Identifier: MIT */
/*
 * Checks which scans cannot be done when they are added, and again when
 * anything changes, so that an observer learns of it on Friday.  This file
 * checks what is wrong with a scan by itself: an unknown stream, or a
 * duplicate.  The hook `admit` decides whether there is room for all others.
 */
#include "daemon/schedule/schedule_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

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

/*
 * Checks the URL `to`.  A bad `send` does not matter: the recording is made,
 * and the log says that it is not sent.
 */
static const char *
url_fault(const struct schedule *s, const struct scan *scan)
{
	return scan->to && s->hooks.url_fault
		   ? s->hooks.url_fault(s->hooks.arg, scan->to)
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
