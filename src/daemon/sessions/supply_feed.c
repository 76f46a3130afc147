/* SPDX-License-Identifier: MIT */
/*
 * Makes the feeds of a supply, with the places of each (reception_places).  A
 * place that several threads feed is shared (flow/slots/shared.h); each thread
 * has a handle of it.
 */
#include "daemon/sessions/supply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "flow/slots/shared.h"

/* Called by a receiver thread when its share has given out its last block. */
static void
share_done(void *arg)
{
	const struct supply_share *share = arg;
	struct supply *s = share->supply;
	void (*changed)(void *arg) = s->changed;
	void *to = s->arg;

	/* The event loop may free the supply as soon as the last share is done,
	 * so copy first what is used after. */
	if (atomic_fetch_sub_explicit(&s->left, 1, memory_order_acq_rel) == 1)
		changed(to);
}

/* Called by a receiver thread when the gate has opened: the backlog keeps what
 * it has from now on. */
static void
share_opened(void *arg)
{
	const struct supply_share *share = arg;
	struct supply *s = share->supply;

	for (unsigned i = 0; i < s->in->stream->keys; i++) {
		if (s->part[i].backlog)
			backlog_hold(s->part[i].backlog);
	}
	if (!atomic_exchange(&s->opened, true))
		s->changed(s->arg);
}

/* Takes a block of a part that waits; receiver threads. */
static void
block_wait(void *arg, struct block *b)
{
	const struct supply_part *part = arg;

	backlog_put(part->backlog, b, clock_steady());
}

static int
part_wait(struct supply *s, struct supply_part *part, int64_t keep)
{
	struct backlog_args args = { .keep = keep,
				     .stock = s->stock,
				     .subs = stock_subs(s->stock),
				     .out = part->out.out,
				     .arg = part->out.arg };
	int err = backlog_make(&part->backlog, &args);

	/* Without a backlog nothing arrives before the gate opens, so keep
	 * everything. */
	if (!err && !keep)
		backlog_hold(part->backlog);
	return err;
}

/* Returns the arguments of place `i` of share `k`.  The parts of a split stream
 * count as substreams in the stock, so that each gets its fair number of
 * blocks. */
static struct place_args
place_of(struct supply *s, unsigned k, unsigned i)
{
	const struct stream *stream = s->in->stream;
	struct supply_part *part = &s->part[stream->split ? i : 0];
	struct place_args place = { .format = stream->format,
				    .shape = &s->in->share[k].shape,
				    .geometry = &stream->geometry,
				    .stock = s->stock,
				    .fps = &s->in->share[k].intake->fps,
				    .sub = (uint16_t)i,
				    .max_gap = stream->o.max_gap,
				    .max_age = stream->o.max_age,
				    .name = s->name,
				    .out = part->out.out,
				    .arg = part->out.arg };

	if (part->backlog) {
		place.out = block_wait;
		place.arg = part;
	}
	if (stream->split)
		place.shape = &s->in->own[i];
	else if (stream->plan.threads == 1)
		place.sub = (uint16_t)(i * s->in->shares + k);
	return place;
}

/* Makes the handles of all substreams for all shares: handle[k * subs + i] is
 * share k's handle of substream i. */
static int
handles_make(struct supply *s, struct place **handle)
{
	unsigned subs = s->in->stream->plan.subs, threads = s->in->shares;
	struct place **one = calloc(threads, sizeof(struct place *));
	int err = one ? 0 : -ENOMEM;

	for (unsigned i = 0; i < subs && !err; i++) {
		struct place_args args = place_of(s, 0, i);

		err = shared_make(one, threads, &args);
		for (unsigned k = 0; k < threads && !err; k++)
			handle[k * subs + i] = one[k];
	}
	free(one);
	return err;
}

static int
share_feed(struct supply *s, unsigned k, const struct supply_args *from,
	   struct place **ready)
{
	unsigned n = reception_places(s->in, k);
	struct place_args *place = calloc(n, sizeof *place);
	struct feed_args args = { .name = s->name,
				  .place = place,
				  .ready = ready,
				  .gate = from->gate,
				  .early = from->backlog > 0,
				  .lesser = from->lesser,
				  .opened = share_opened,
				  .done = share_done,
				  .arg = &s->share[k] };
	int err = -ENOMEM;

	for (unsigned i = 0; place && i < n; i++)
		place[i] = place_of(s, k, i);
	if (place)
		err =
		    feed_make(&s->share[k].feed, s->in->share[k].intake, &args);
	free(place);
	return err;
}

/* Makes the feeds of packet rings: every thread brings packets of every
 * substream, so they share the places. */
static int
shared_feed(struct supply *s, const struct supply_args *args)
{
	unsigned subs = s->in->stream->plan.subs, shares = s->in->shares, k = 0;
	struct place **handle =
	    calloc((size_t)shares * subs, sizeof(struct place *));
	int err;

	if (!handle)
		return -ENOMEM;
	err = handles_make(s, handle);
	while (k < shares && !err) {
		err = share_feed(s, k, args, handle + (size_t)k * subs);
		k += !err;
	}
	/* Feeds before k own their handles; free the rest. */
	for (size_t i = (size_t)k * subs; i < (size_t)shares * subs; i++)
		place_free(handle[i]);
	free(handle);
	return err;
}

int
supply_feed(struct supply *s, const struct supply_args *args,
	    const struct supply_out *out)
{
	int err = 0;

	s->gate = args->gate;
	s->keep = args->backlog;
	s->changed = args->changed;
	s->arg = args->arg;
	for (unsigned i = 0; i < s->in->stream->keys && !err; i++) {
		s->part[i].out = out[i];
		if (args->waits)
			err = part_wait(s, &s->part[i], args->backlog);
	}
	if (err)
		return err;
	if (s->in->stream->plan.threads > 1)
		return shared_feed(s, args);
	for (unsigned k = 0; k < s->in->shares && !err; k++)
		err = share_feed(s, k, args, NULL);
	return err;
}
