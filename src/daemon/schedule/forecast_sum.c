/* SPDX-License-Identifier: MIT */
/* Computes when the disks are full, and the highest demand at one time. */
#include "daemon/schedule/forecast_priv.h"

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
