/* SPDX-License-Identifier: MIT */
/*
 * Which scans cannot be done is decided when they come, and again when
 * anything changes, so that a person hears of it on Friday.  First comes what
 * a scan cannot be by itself: one of an unknown stream, or one that is there
 * twice; whether there is room for all the others is for `admit` to say.
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
 * One that is the same: before it in the list, where it is decided by now, or
 * after it and begun.  Also one whose file is gone, and that goes on.
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

/* `why` of one that is not refused is left alone: it may be a note. */
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

/* Not of `send`: what is to be recorded is, and the log says that it goes
 * nowhere. */
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

/* Its state is set once, so that the log has a line only where it is news. */
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
