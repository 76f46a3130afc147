/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_PRIV_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_PRIV_H

#include "daemon/schedule/forecast.h"

#define BITS_NS (UINT64_C(8000000000)) /* bit/s * ns that make a byte */

__extension__ typedef unsigned __int128 wide;

/*
 * Users of a resource: their number, and the first of them by their place in
 * the order of precedence.
 */
struct takers {
	unsigned n;
	unsigned place[FORECAST_RIVALS];
};

struct sweep {
	const struct forecast_args *a;
	struct forecast_scan *scan;
	unsigned n;
	unsigned *order; /* indices of scans, by precedence */
	int64_t *edge;	 /* sorted, without duplicates */
	unsigned edges;
	uint64_t *memory, *rate;	    /* amount in use between edge i
					     * and i + 1 */
	uint64_t left;			    /* free bytes that are left on
					     * the disks */
	struct takers *memory_by, *rate_by; /* users in the same stretches */
	struct takers space_by;
};

/* Stretches from `first` up to, not including, `end`. */
struct stretches {
	unsigned first, end;
};

static inline int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static inline int64_t
begin_of(const struct sweep *w, const struct forecast_scan *s)
{
	return s->runs ? w->a->now : later(s->start, w->a->now);
}

static inline int64_t
stop_of(const struct sweep *w, const struct forecast_scan *s)
{
	return later(s->stop, begin_of(w, s));
}

static inline bool
is_taken(const struct forecast_scan *s)
{
	return s->verdict != FORECAST_REFUSED;
}

/* forecast.c.  `time` must be an edge. */
unsigned sweep_edge(const struct sweep *w, int64_t time);
struct stretches sweep_range(const struct sweep *w, int64_t from, int64_t to);
void sweep_add(uint64_t *to, struct stretches r, uint64_t more);

/*
 * forecast_sum.c: computes what only all scans together say; `by` has room for
 * one number per edge.
 */
void sweep_sum(struct sweep *w, uint64_t *by, struct forecast_sum *sum);

/* The numbers for the sentence that says what a scan lacks. */
struct forecast_want {
	int64_t from, to;   /* when it lacks that; from == to: at no
			     * particular time */
	uint64_t all, has;  /* total demand, and how much there is */
	uint64_t own, most; /* this scan's part of the demand, and the most
			     * it could have alone */
};

/* Writes `why` of a refused scan, whose `lack` and `rivals` are set. */
void forecast_why(struct forecast_scan *scan, unsigned of,
		  const struct forecast_want *want);

/* Writes `why` of a scan that is armed late. */
void forecast_why_late(struct forecast_scan *scan, unsigned of);

#endif
