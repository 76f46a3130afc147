/* SPDX-License-Identifier: MIT */
/*
 * Computes when the disks are full, and the highest demand at one time.
 *
 * The reason names which scans have what a refused scan lacks, and why they
 * take precedence: an observer who reads it knows which priority to change, or
 * whom to talk to.
 */
#include "daemon/schedule/forecast_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"

enum { NAMED = 3, TIME_TEXT = 64 };

static void add(struct forecast_scan *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
add(struct forecast_scan *s, const char *format, ...)
{
	size_t at = strlen(s->why);
	va_list args;

	va_start(args, format);
	vsnprintf(s->why + at, sizeof s->why - at, format, args);
	va_end(args);
}

static void
time_text(char text[TIME_TEXT], int64_t ns, const char *form)
{
	time_t second = (time_t)(ns / NS_SECOND);
	struct tm tm;

	gmtime_r(&second, &tm);
	strftime(text, TIME_TEXT, form, &tm);
}

/* Adds both times; the date only once if it is the same. */
static void
add_times(struct forecast_scan *s, const struct forecast_want *want)
{
	bool same =
	    want->from / (86400 * NS_SECOND) == want->to / (86400 * NS_SECOND);
	char from[TIME_TEXT], to[TIME_TEXT];

	time_text(from, want->from, "%Y-%m-%dT%H:%M:%SZ");
	time_text(to, want->to, same ? "%H:%M:%SZ" : "%Y-%m-%dT%H:%M:%SZ");
	if (want->to == FORECAST_OPEN)
		add(s, " from %s on", from);
	else
		add(s, " from %s to %s", from, to);
}

static void
add_rival(struct forecast_scan *s, const struct forecast_scan *r)
{
	if (r->runs)
		add(s, "%.64s (runs)", r->name);
	else if (r->priority != s->priority)
		add(s, "%.64s (priority %d)", r->name, r->priority);
	else
		add(s, "%.64s (%s)", r->name,
		    r->start < s->start ? "earlier" : "of the same time");
}

/* Adds "a (runs), b (earlier) and 3 more". */
static void
add_rivals(struct forecast_scan *scan, unsigned of)
{
	struct forecast_scan *s = &scan[of];
	unsigned named = s->rivals < NAMED ? s->rivals : NAMED;

	for (unsigned i = 0; i < named; i++) {
		if (i)
			add(s, "%s",
			    i + 1 == named && named == s->rivals ? " and "
								 : ", ");
		add_rival(s, &scan[s->rival[i]]);
	}
	if (named < s->rivals)
		add(s, " and %u more", s->rivals - named);
}

static void
add_memory(struct forecast_scan *s, const struct forecast_want *want)
{
	char all[UNITS_TEXT], has[UNITS_TEXT];

	units_show_bytes(all, s->rivals ? want->all : want->own);
	units_show_bytes(has, want->has);
	if (!s->rivals) {
		add(s, "memory: it takes %s, and `memory` is %s", all, has);
		return;
	}
	add(s, "memory: %s are asked for", all);
	add_times(s, want);
	add(s, ", and `memory` is %s", has);
}

static void
add_speed(struct forecast_scan *s, const struct forecast_want *want)
{
	char all[UNITS_TEXT], has[UNITS_TEXT];

	units_show_rate(all, (double)(s->rivals ? want->all : want->own));
	units_show_rate(has, (double)want->has);
	if (!s->rivals) {
		add(s, "disks: it brings %s, and they take %s", all, has);
		return;
	}
	add(s, "disks: %s come in", all);
	add_times(s, want);
	add(s, ", and they take %s", has);
}

static void
add_space(struct forecast_scan *s, const struct forecast_want *want)
{
	char all[UNITS_TEXT], has[UNITS_TEXT];

	add(s, "disks: it makes %s, and there is room for %s",
	    units_show_bytes(all, want->all),
	    units_show_bytes(has, s->rivals ? want->has : want->most));
}

void
forecast_why(struct forecast_scan *scan, unsigned of,
	     const struct forecast_want *want)
{
	struct forecast_scan *s = &scan[of];

	s->why[0] = 0;
	switch (s->lack) {
	case FORECAST_NONE: return;
	case FORECAST_MEMORY: add_memory(s, want); break;
	case FORECAST_SPEED: add_speed(s, want); break;
	case FORECAST_SPACE: add_space(s, want); break;
	}
	if (!s->rivals)
		return;
	add(s, "; before it come%s ", s->rivals == 1 ? "s" : "");
	add_rivals(scan, of);
}

void
forecast_why_late(struct forecast_scan *scan, unsigned of)
{
	struct forecast_scan *s = &scan[of];
	char time[TIME_TEXT];

	s->why[0] = 0;
	time_text(time, s->armed, "%H:%M:%SZ");
	add(s, "armed only at %s, when there is memory", time);
	if (s->rivals) {
		add(s, " again: until then it is with ");
		add_rivals(scan, of);
	}
}

/* ---- sums ------------------------------------------------------------ */

/* Computes the bytes written until each edge. */
static void
written(const struct sweep *w, uint64_t *by)
{
	wide sum = 0;

	for (unsigned i = 0; i < w->edges; i++) {
		wide bytes = sum / BITS_NS;

		by[i] = bytes > INT64_MAX ? INT64_MAX : (uint64_t)bytes;
		if (i + 1 < w->edges)
			sum += (wide)w->rate[i] *
			       (uint64_t)(w->edge[i + 1] - w->edge[i]);
	}
}

static void
free_after(struct sweep *w, const uint64_t *by)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct forecast_scan *s = &w->scan[i];
		uint64_t used = by[sweep_edge(w, stop_of(w, s))];

		if (w->a->space == FORECAST_ANY_SPACE)
			s->free_after = FORECAST_ANY_SPACE;
		else
			s->free_after =
			    used < w->a->space ? w->a->space - used : 0;
	}
}

static void
peaks(const struct sweep *w, struct forecast_sum *sum)
{
	for (unsigned i = 0; i + 1 < w->edges; i++) {
		if (w->memory[i] > sum->memory) {
			sum->memory = w->memory[i];
			sum->memory_at = w->edge[i];
		}
		if (w->rate[i] > sum->rate) {
			sum->rate = w->rate[i];
			sum->rate_at = w->edge[i];
		}
	}
}

/*
 * Returns when the disks are full, counting also the scans that were refused
 * for lack of space.
 */
static int64_t
full_at(struct sweep *w, uint64_t *by)
{
	uint64_t room = w->a->space;
	unsigned i;
	wide ns;

	for (i = 0; i < w->n; i++) {
		const struct forecast_scan *s = &w->scan[i];

		if (s->lack == FORECAST_SPACE)
			sweep_add(w->rate,
				  sweep_range(w, begin_of(w, s), stop_of(w, s)),
				  s->rate);
	}
	written(w, by);
	for (i = 1; i < w->edges && by[i] <= room; i++)
		;
	if (i == w->edges || room == FORECAST_ANY_SPACE)
		return 0;
	ns = (wide)(room - by[i - 1]) * BITS_NS / w->rate[i - 1];
	return ns < (wide)(w->edge[i] - w->edge[i - 1])
		   ? w->edge[i - 1] + (int64_t)ns
		   : w->edge[i];
}

void
sweep_sum(struct sweep *w, uint64_t *by, struct forecast_sum *sum)
{
	written(w, by);
	free_after(w, by);
	*sum = (struct forecast_sum){ 0 };
	peaks(w, sum);
	for (unsigned i = 0; i < w->n; i++) {
		const struct forecast_scan *s = &w->scan[i];

		sum->refused += !is_taken(s);
		sum->unknown += s->verdict == FORECAST_UNKNOWN;
		sum->volume += is_taken(s) ? s->volume : 0;
	}
	sum->full_at = full_at(w, by);
}
