/* SPDX-License-Identifier: MIT */
/* Counters of a supply, summed over its receiver threads.  While packets arrive
 * the numbers may be one batch apart. */
#include "daemon/sessions/supply.h"

static void
counts_add(struct counts *to, struct counts_shown *from)
{
	uint64_t *n = (uint64_t *)to;

	for (unsigned i = 0; i < COUNTS; i++)
		n[i] += atomic_load_explicit(&from->n[i], memory_order_relaxed);
}

void
supply_counts(struct supply *s, unsigned part, struct counts *c)
{
	*c = (struct counts){ 0 };
	if (s->in->own)
		counts_add(c, &s->share[0].feed->shown[part]);
	for (unsigned k = 0; k < s->in->shares && !s->in->own; k++)
		for (unsigned i = 0; i < reception_places(s->in, k); i++)
			counts_add(c, &s->share[k].feed->shown[i]);
	if (s->part[part].backlog)
		backlog_counts(s->part[part].backlog, c);
}

void
supply_sub_counts(struct supply *s, unsigned sub, struct counts *c)
{
	unsigned shares = s->in->shares;

	*c = (struct counts){ 0 };
	if (s->in->stream->plan.threads == 1) {
		counts_add(c,
			   &s->share[sub % shares].feed->shown[sub / shares]);
		return;
	}
	for (unsigned k = 0; k < shares; k++)
		counts_add(c, &s->share[k].feed->shown[sub]);
}

uint64_t
supply_overruns(struct supply *s)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < s->in->shares; k++)
		n += atomic_load(&s->share[k].feed->overruns);
	return n;
}

void
supply_look(struct supply *s, unsigned source, struct receive_counts *counts,
	    unsigned *sub)
{
	struct reception *in = s->in;
	struct feed_view view;
	unsigned k = 0;

	while (source >= in->share[k].intake->sources)
		source -= in->share[k++].intake->sources;
	feed_look(s->share[k].feed, source, &view);
	*counts = view.counts;
	*sub = in->stream->plan.threads > 1 ? view.place
					    : view.place * in->shares + k;
	if (in->own)
		*sub = 0;
}
