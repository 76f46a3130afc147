/* SPDX-License-Identifier: MIT */
/* What came, summed over the threads that took it in; while packets arrive
 * the numbers may be a batch apart. */
#include "daemon/reception.h"

struct format_shape *
reception_shape(struct reception *in, unsigned part)
{
	return in->own ? &in->own[part] : &in->share[0].shape;
}

static void
counts_add(struct counts *to, struct counts_shown *from)
{
	uint64_t *n = (uint64_t *)to;

	for (unsigned i = 0; i < COUNTS; i++)
		n[i] += atomic_load_explicit(&from->n[i], memory_order_relaxed);
}

void
reception_counts(struct reception *in, unsigned part, struct counts *c)
{
	*c = (struct counts){ 0 };
	if (in->own) {
		counts_add(c, &in->share[0].intake->shown[part]);
		return;
	}
	for (unsigned k = 0; k < in->shares; k++)
		for (unsigned i = 0; i < in->share[k].intake->a.places; i++)
			counts_add(c, &in->share[k].intake->shown[i]);
}

void
reception_sub_counts(struct reception *in, unsigned sub, struct counts *c)
{
	*c = (struct counts){ 0 };
	if (in->stream->plan.threads == 1) {
		counts_add(c, &in->share[sub % in->shares]
				   .intake->shown[sub / in->shares]);
		return;
	}
	for (unsigned k = 0; k < in->shares; k++)
		counts_add(c, &in->share[k].intake->shown[sub]);
}

uint64_t
reception_overruns(struct reception *in)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < in->shares; k++)
		n += atomic_load(&in->share[k].intake->overruns);
	return n;
}

bool
reception_learning(struct reception *in)
{
	return atomic_load(&in->share[0].intake->learning);
}

unsigned
reception_sources(const struct reception *in)
{
	unsigned n = 0;

	for (unsigned k = 0; k < in->shares; k++)
		n += in->share[k].intake->sources;
	return n;
}

void
reception_look(struct reception *in, unsigned source,
	       struct receive_counts *counts, unsigned *sub)
{
	struct intake_view view;
	unsigned k = 0;

	while (source >= in->share[k].intake->sources)
		source -= in->share[k++].intake->sources;
	intake_look(in->share[k].intake, source, &view);
	*counts = view.counts;
	*sub = in->stream->plan.threads > 1 ? view.place
					    : view.place * in->shares + k;
	if (in->own)
		*sub = 0;
}
