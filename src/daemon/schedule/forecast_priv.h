/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_FORECAST_PRIV_H
#define SPATE_DAEMON_SCHEDULE_FORECAST_PRIV_H

#include "daemon/schedule/forecast.h"

#define BITS_NS (UINT64_C(8000000000)) /* a byte is so much of bit/s * ns */

__extension__ typedef unsigned __int128 wide;

/* Who has some of what there is: how many, and the first of them, by their
 * place in the order. */
struct takers {
	unsigned n;
	unsigned place[FORECAST_RIVALS];
};

struct sweep {
	const struct forecast_args *a;
	struct forecast_scan *scan;
	unsigned n;
	unsigned *order; /* in which they are taken in */
	int64_t *edge;	 /* sorted, each once */
	unsigned edges;
	uint64_t *memory, *rate;	    /* from edge i to the next */
	uint64_t left;			    /* of the space */
	struct takers *memory_by, *rate_by; /* as memory and rate */
	struct takers space_by;
};

/* Stretches: from `first` to before `end`. */
struct range {
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

/* forecast.c: of a time that is an edge. */
unsigned sweep_edge(const struct sweep *w, int64_t time);
struct range sweep_range(const struct sweep *w, int64_t from, int64_t to);
void sweep_add(uint64_t *to, struct range r, uint64_t more);

/* forecast_sum.c: what only all of them together say; `by` has room for a
 * number for each edge. */
void sweep_sum(struct sweep *w, uint64_t *by, struct forecast_sum *sum);

#endif
