/* SPDX-License-Identifier: MIT */
/*
 * Memory can be refused, so it is borrowed first.  Feeds are made when their
 * sessions exist, and joined to their receivers last, when nothing can fail.
 *
 * Makes the feeds of a supply, with the places of each (reception_places).  A
 * place that several threads feed is shared (flow/slots/shared.h); each thread
 * has a handle of it.
 *
 * Counters of a supply, summed over its receiver threads.  While packets arrive
 * the numbers may be one batch apart.
 */
#include "daemon/sessions/supply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "flow/slots/shared.h"

static void
list_add(struct supply *s)
{
	struct supply **at = &s->in->supplies;

	while (*at)
		at = &(*at)->next;
	*at = s;
}

static void
list_remove(struct supply *s)
{
	struct supply **at = &s->in->supplies;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

static void
supply_close(struct supply *s)
{
	list_remove(s);
	for (unsigned k = 0; s->share && k < s->in->shares; k++)
		feed_free(s->share[k].feed);
	for (unsigned i = 0; s->part && i < s->in->stream->keys; i++)
		backlog_free(s->part[i].backlog);
	if (s->pool)
		block_pool_return(s->pool);
	if (s->changed) /* another recording may wait for that memory */
		s->changed(s->arg);
	free(s->part);
	free(s->share);
	reception_put(s->in);
	free(s);
}

static int
open_with(struct supply **supply, struct reception *in, struct arena *arena,
	  struct block_pool_args blocks, bool later, struct fault *fault)
{
	struct supply *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	reception_hold(in);
	s->in = in;
	list_add(s);
	snprintf(s->name, sizeof s->name, "%s", blocks.who);
	blocks.who = s->name;
	s->share = calloc(in->shares, sizeof *s->share);
	s->part = calloc(in->stream->keys, sizeof *s->part);
	if (!s->share || !s->part)
		err = fault_set(fault, -ENOMEM, "no-memory", "out of memory");
	else
		err = block_pool_borrow(arena, &s->pool, &blocks, fault);
	if (err && later && s->share && s->part)
		err = block_pool_borrow_later(arena, &s->pool, &blocks, fault);
	if (err) {
		supply_close(s);
		return err;
	}
	for (unsigned k = 0; k < in->shares; k++)
		s->share[k].supply = s;
	*supply = s;
	return 0;
}

int
supply_open(struct supply **supply, struct reception *in, struct arena *arena,
	    const char *name, bool later, struct fault *fault)
{
	struct block_pool_args blocks = stream_pool_args(in->stream);
	int err;

	blocks.who = name;
	err = open_with(supply, in, arena, blocks, later, fault);
	if (!err && !block_pool_filled((*supply)->pool))
		log_line(LEVEL_WARN, name,
			 "another recording still has the memory for it: what "
			 "arrives after its start, and before that one has "
			 "ended, is dropped (no_buffer)");
	return err;
}

void
supply_fill(struct supply *s)
{
	if (block_pool_filled(s->pool) || block_pool_fill(s->pool) < 0)
		return;
	log_line(LEVEL_INFO, s->name, "has its memory now");
}

int
supply_open_passing(struct supply **supply, struct reception *in,
		    struct arena *arena, const char *name, struct fault *fault)
{
	struct block_pool_args blocks = stream_pool_args(in->stream);
	int err;

	blocks.who = name;
	blocks.quantum = 0;
	err = open_with(supply, in, arena, blocks, false, fault);
	if (!err)
		(*supply)->passing = true;
	return err;
}

void
supply_put(struct supply *s)
{
	if (s->users && --s->users)
		return;
	supply_close(s);
}

static bool
is_open(const struct supply *s)
{
	return s->gate.data ? atomic_load(&s->opened)
			    : s->gate.open <= clock_steady();
}

static const char *
name_of(const struct stream *stream, bool open)
{
	const struct reception *in = stream->reception;

	for (const struct supply *s = in ? in->supplies : NULL; s;
	     s = s->next) {
		if (!s->passing && is_open(s) == open)
			return s->name;
	}
	return NULL;
}

const char *
supply_recording(const struct stream *stream)
{
	return name_of(stream, true);
}

const char *
supply_armed(const struct stream *stream)
{
	return name_of(stream, false);
}

/* ---- running ---------------------------------------------------------- */

void
supply_begin(struct supply *s, struct receivers *receivers)
{
	struct reception *in = s->in;

	if (s->begun)
		return;
	s->begun = true;
	atomic_store(&s->left, in->shares);
	reception_begin(in, receivers);
	for (unsigned k = 0; k < in->shares; k++) {
		if (receiver_feed(in->share[k].member->receiver,
				  s->share[k].feed) < 0)
			/* no memory for a few bytes, and other feeds have
			 * begun */
			abort();
	}
}

void
supply_gate(struct supply *s, const struct gate *gate)
{
	s->gate = *gate;
	for (unsigned k = 0; k < s->in->shares; k++)
		feed_order(s->share[k].feed, gate);
	for (unsigned k = 0; k < s->in->shares && s->begun; k++)
		receiver_look(s->in->share[k].member->receiver);
}

/* Closes the gate now.  A gate by data time becomes one by arrival, since
 * nobody knows which time the data have reached. */
void
supply_stop(struct supply *s, const char *why)
{
	struct gate gate = s->gate;
	int64_t now = clock_steady();

	if (s->stopped)
		return;
	s->stopped = why;
	if (gate.data)
		gate = (struct gate){ .open = INT64_MIN, .close = now };
	if (gate.close < now)
		return;
	gate.close = now;
	supply_gate(s, &gate);
}

void
supply_cancel(struct supply *s, const char *why)
{
	struct gate gate = { .open = INT64_MAX, .close = INT64_MIN };

	s->stopped = why;
	for (unsigned i = 0; i < s->in->stream->keys; i++) {
		if (s->part[i].backlog)
			backlog_drop(s->part[i].backlog);
	}
	supply_gate(s, &gate);
}

/* Warns if less was kept from before the start than asked for; that is no
 * error. */
static void
backlog_tell(const struct supply *s, struct backlog *b)
{
	char kept[UNITS_TEXT], keep[UNITS_TEXT];
	int64_t ns = backlog_kept(b);

	if (ns >= s->keep)
		return;
	log_line(LEVEL_WARN, s->name,
		 "of the %s before its start there are only %s: `blocks` of "
		 "stream %s hold no more, a larger number would",
		 units_show_span(keep, s->keep), units_show_span(kept, ns),
		 s->in->stream->name);
}

void
supply_release(struct supply *s, unsigned part)
{
	struct backlog *b = s->part[part].backlog;

	if (!b)
		return;
	backlog_open(b);
	backlog_tell(s, b);
}

void
supply_age(struct supply *s, unsigned part, int64_t now)
{
	if (s->part[part].backlog)
		backlog_age(s->part[part].backlog, now);
}

bool
supply_flushed(struct supply *s)
{
	return atomic_load_explicit(&s->left, memory_order_acquire) == 0;
}

/* ---- feeds --------------------------------------------------------------- */

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
				     .pool = s->pool,
				     .subs = block_pool_subs(s->pool),
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
 * count as substreams in the pool, so that each gets its fair number of
 * blocks. */
static struct place_args
place_of(struct supply *s, unsigned k, unsigned i)
{
	const struct stream *stream = s->in->stream;
	struct supply_part *part = &s->part[stream->split ? i : 0];
	struct place_args place = { .format = stream->format,
				    .shape = &s->in->share[k].shape,
				    .geometry = &stream->geometry,
				    .pool = s->pool,
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

/* ---- counts -------------------------------------------------------------- */

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
