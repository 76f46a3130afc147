/* SPDX-License-Identifier: MIT */
/*
 * Which places an intake feeds: those of its own substreams; of packet rings,
 * handles of all substreams' places, which the other threads feed too; of a
 * stream that is split, one for each part.
 */
#include "daemon/reception.h"

#include <errno.h>
#include <stdlib.h>

#include "flow/shared.h"

/* A share's last word. */
static void
share_done(void *arg)
{
	const struct reception_share *share = arg;
	struct reception *in = share->in;
	void (*flushed)(void *arg) = in->flushed;
	void *to = in->arg;

	/* From then on the event loop, when it wakes for whatever reason, may
	 * free the reception. */
	if (atomic_fetch_sub_explicit(&in->left, 1, memory_order_acq_rel) == 1)
		flushed(to);
}

/* Of a share: its substreams, all substreams, or the parts. */
static unsigned
share_places(const struct reception *in, unsigned k)
{
	const struct stream *stream = in->stream;

	if (stream->split)
		return stream->keys;
	if (stream->plan.threads > 1)
		return stream->plan.subs;
	return (stream->plan.subs - k + in->shares - 1) / in->shares;
}

/* Parts of one stream count as substreams in the stock, for it to be fair. */
static struct place_args
place_of(struct reception *in, unsigned k, unsigned i,
	 const struct reception_out *out)
{
	const struct stream *stream = in->stream;
	unsigned part = stream->split ? i : 0;
	struct place_args place = { .format = stream->format,
				    .shape = &in->share[k].shape,
				    .geometry = &stream->geometry,
				    .stock = in->stock,
				    .sub = (uint16_t)i,
				    .max_gap = stream->o.max_gap,
				    .max_age = stream->o.max_age,
				    .name = in->name,
				    .out = out[part].out,
				    .arg = out[part].arg };

	if (stream->split)
		place.shape = &in->own[i];
	else if (stream->plan.threads == 1)
		place.sub = (uint16_t)(i * in->shares + k);
	return place;
}

/* The handles of every share, of all substreams; see flow/shared.h. */
static int
handles_make(struct reception *in, struct place **handle,
	     const struct reception_out *out)
{
	unsigned subs = in->stream->plan.subs, threads = in->shares;
	struct place **one = calloc(threads, sizeof(struct place *));
	int err = one ? 0 : -ENOMEM;

	for (unsigned i = 0; i < subs && !err; i++) {
		struct place_args args = place_of(in, 0, i, out);

		err = shared_make(one, threads, &args);
		for (unsigned k = 0; k < threads && !err; k++)
			handle[k * subs + i] = one[k];
	}
	free(one);
	return err;
}

static int
share_feed(struct reception *in, unsigned k, const struct reception_out *out,
	   struct place **ready)
{
	static const enum intake_by by[] = {
		[SPLIT_NONE] = INTAKE_SOURCE,
		[SPLIT_THREAD] = INTAKE_THREAD,
		[SPLIT_STATION] = INTAKE_STATION,
	};
	const struct stream *stream = in->stream;
	unsigned n = share_places(in, k);
	struct place_args *place = calloc(n, sizeof *place);
	struct intake_args args = {
		.name = in->name,
		.ops = stream->receive,
		.state = in->share[k].state,
		.shape = &in->share[k].shape,
		.place = place,
		.places = n,
		.ready = ready,
		.shares = stream->plan.threads > 1 ? 1 : in->shares,
		.late = stream->plan.late,
		.by = by[stream->split],
		.key = stream->key,
		.own = in->list,
		.done = share_done,
		.arg = &in->share[k],
	};
	int err = -ENOMEM;

	for (unsigned i = 0; place && i < n; i++)
		place[i] = place_of(in, k, i, out);
	if (place)
		err = intake_make(&in->share[k].intake, &args);
	free(place);
	return err;
}

/* Every thread brings packets of every substream: they share its place. */
static int
shared_feed(struct reception *in, const struct reception_out *out)
{
	unsigned subs = in->stream->plan.subs, k = 0;
	struct place **handle =
	    calloc((size_t)in->shares * subs, sizeof(struct place *));
	int err;

	if (!handle)
		return -ENOMEM;
	err = handles_make(in, handle, out);
	while (k < in->shares && !err) {
		err = share_feed(in, k, out, handle + (size_t)k * subs);
		k += !err;
	}
	/* Those before k are their intakes'. */
	for (size_t i = (size_t)k * subs; i < (size_t)in->shares * subs; i++)
		place_free(handle[i]);
	free(handle);
	return err;
}

int
reception_feed(struct reception *in, const struct reception_out *out)
{
	int err = 0;

	if (in->stream->plan.threads > 1)
		return shared_feed(in, out);
	for (unsigned k = 0; k < in->shares && !err; k++)
		err = share_feed(in, k, out, NULL);
	return err;
}
