/* SPDX-License-Identifier: MIT */
/*
 * Memory can be refused, so it is borrowed first.  Subscribers are made when
 * their sessions exist, and joined to their receivers last, when nothing can
 * fail.
 *
 * A placement (stream_input_placements) that several threads feed is shared
 * (flow/slots/shared.h); each thread has a handle of it.
 *
 * Counters are summed over the receiver threads.  While packets arrive the
 * numbers may be one batch apart.
 */
#include "daemon/sessions/recording_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "flow/memory/arena.h"
#include "flow/slots/shared.h"

enum { BLOCKS_MOST = 4096 }; /* that a recording may grow to */

static void
list_add(struct recording_input *s)
{
	struct recording_input **at = &s->in->recordings;

	while (*at)
		at = &(*at)->next;
	*at = s;
}

static void
list_remove(struct recording_input *s)
{
	struct recording_input **at = &s->in->recordings;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

static void
recording_input_close(struct recording_input *s)
{
	list_remove(s);
	for (unsigned k = 0; s->share && k < s->in->shares; k++)
		subscriber_free(s->share[k].subscriber);
	if (s->watch)
		signal_watch_end(s->watch);
	for (unsigned i = 0; s->part && i < s->in->stream->keys; i++)
		backlog_free(s->part[i].backlog);
	if (s->pool)
		block_pool_return(s->pool);
	if (s->parity)
		block_pool_return(s->parity);
	if (s->changed) /* another recording may wait for that memory */
		s->changed(s->arg);
	free(s->part);
	free(s->share);
	stream_input_put(s->in);
	free(s);
}

static int
open_with(struct recording_input **input, struct stream_input *in,
	  struct arena *arena, struct block_pool_args blocks, bool later,
	  struct fault *fault)
{
	struct recording_input *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return fault_no_memory(fault);
	stream_input_hold(in);
	s->in = in;
	list_add(s);
	snprintf(s->name, sizeof s->name, "%s", blocks.who);
	blocks.who = s->name;
	s->share = calloc(in->shares, sizeof *s->share);
	s->part = calloc(in->stream->keys, sizeof *s->part);
	if (!s->share || !s->part)
		err = fault_no_memory(fault);
	else
		err = block_pool_borrow(arena, &s->pool, &blocks, fault);
	if (err && later && s->share && s->part)
		err = block_pool_borrow_later(arena, &s->pool, &blocks, fault);
	if (err) {
		recording_input_close(s);
		return err;
	}
	for (unsigned k = 0; k < in->shares; k++)
		s->share[k].input = s;
	*input = s;
	return 0;
}

/* Blocks that a recording may have while nobody else needs the memory: all that
 * there is, in reason, because each takes a little memory beside the arena. */
static unsigned
blocks_most(struct arena *arena, const struct block_pool_args *blocks)
{
	uint64_t piece = block_pool_need(blocks) / blocks->blocks;
	uint64_t most = arena_facts(arena).bytes / piece;

	return most < BLOCKS_MOST ? (unsigned)most : BLOCKS_MOST;
}

/* Borrows memory for parity, with `later` also such that another recording still
 * has.  A recording without it is better than none. */
static void
parity_borrow(struct recording_input *s, struct arena *arena, bool later)
{
	struct block_pool_args blocks = stream_parity_args(s->in->stream);
	struct fault fault;
	int err;

	if (!blocks.blocks)
		return;
	blocks.who = s->name;
	blocks.most = 4 * blocks.blocks;
	err = block_pool_borrow(arena, &s->parity, &blocks, &fault);
	if (err && later)
		err =
		    block_pool_borrow_later(arena, &s->parity, &blocks, &fault);
	if (err)
		log_line(LEVEL_WARN, s->name,
			 "recorded without parity: there is no memory for it");
}

int
recording_input_open(struct recording_input **input, struct stream_input *in,
		     struct arena *arena, const char *name, bool later,
		     struct fault *fault)
{
	struct block_pool_args blocks = stream_pool_args(in->stream);
	int err;

	blocks.who = name;
	blocks.most = blocks_most(arena, &blocks);
	err = open_with(input, in, arena, blocks, later, fault);
	if (!err)
		parity_borrow(*input, arena, later);
	if (!err && !block_pool_filled((*input)->pool))
		log_line(
		    LEVEL_WARN, name,
		    "%u of its %u blocks of memory are ready: until others "
		    "have returned the rest, packets may be dropped "
		    "(no_buffer)",
		    block_pool_blocks((*input)->pool), blocks.blocks);
	return err;
}

void
recording_input_fill(struct recording_input *s)
{
	bool filled = block_pool_filled(s->pool);

	if (block_pool_fill(s->pool) == 0 && !filled)
		log_line(LEVEL_INFO, s->name, "got its memory");
	if (s->parity && block_pool_filled(s->pool))
		block_pool_fill(s->parity);
}

int
recording_input_open_passing(struct recording_input **input,
			     struct stream_input *in, struct arena *arena,
			     const char *name, struct fault *fault)
{
	struct block_pool_args blocks = stream_pool_args(in->stream);
	int err;

	blocks.who = name;
	blocks.quantum = 0;
	err = open_with(input, in, arena, blocks, false, fault);
	if (!err)
		(*input)->passing = true;
	return err;
}

void
recording_input_put(struct recording_input *s)
{
	if (s->users && --s->users)
		return;
	recording_input_close(s);
}

static bool
is_open(const struct recording_input *s)
{
	return s->time_window.data ? atomic_load(&s->opened)
				   : s->time_window.open <= clock_steady();
}

static const char *
name_of(const struct stream *stream, bool open)
{
	const struct stream_input *in = stream->input;

	for (const struct recording_input *s = in ? in->recordings : NULL; s;
	     s = s->next) {
		if (!s->passing && is_open(s) == open)
			return s->name;
	}
	return NULL;
}

const char *
recording_input_recording(const struct stream *stream)
{
	return name_of(stream, true);
}

const char *
recording_input_armed(const struct stream *stream)
{
	return name_of(stream, false);
}

/* ---- running --------------------------------------------------------- */

void
recording_input_begin(struct recording_input *s, struct receivers *receivers)
{
	struct stream_input *in = s->in;

	if (s->begun)
		return;
	s->begun = true;
	atomic_store(&s->left, in->shares);
	stream_input_begin(in, receivers);
	for (unsigned k = 0; k < in->shares; k++) {
		if (receiver_subscribe(in->share[k].member->receiver,
				       s->share[k].subscriber) < 0)
			/* no memory for a few bytes, and other subscribers have
			 * begun */
			abort();
	}
}

void
recording_input_gate(struct recording_input *s,
		     const struct time_window *time_window)
{
	s->time_window = *time_window;
	for (unsigned k = 0; k < s->in->shares; k++)
		subscriber_order(s->share[k].subscriber, time_window);
	for (unsigned k = 0; k < s->in->shares && s->begun; k++)
		receiver_look(s->in->share[k].member->receiver);
}

/* Closes the time window now.  A time window by data time becomes one by
 * arrival, since nobody knows which time the data have reached. */
void
recording_input_stop(struct recording_input *s, const char *why)
{
	struct time_window time_window = s->time_window;
	int64_t now = clock_steady();

	if (s->stopped)
		return;
	s->stopped = why;
	if (time_window.data)
		time_window =
		    (struct time_window){ .open = INT64_MIN, .close = now };
	if (time_window.close < now)
		return;
	time_window.close = now;
	recording_input_gate(s, &time_window);
}

void
recording_input_cancel(struct recording_input *s, const char *why)
{
	struct time_window time_window = { .open = INT64_MAX,
					   .close = INT64_MIN };

	s->stopped = why;
	for (unsigned i = 0; i < s->in->stream->keys; i++) {
		if (s->part[i].backlog)
			backlog_drop(s->part[i].backlog);
	}
	recording_input_gate(s, &time_window);
}

/* Warns if less was kept from before the start than asked for; that is no
 * error. */
static void
backlog_tell(const struct recording_input *s, struct backlog *b)
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
recording_input_release(struct recording_input *s, unsigned part)
{
	struct backlog *b = s->part[part].backlog;

	if (!b)
		return;
	backlog_open(b);
	backlog_tell(s, b);
}

void
recording_input_age(struct recording_input *s, unsigned part, int64_t now)
{
	if (s->part[part].backlog)
		backlog_age(s->part[part].backlog, now);
}

bool
recording_input_flushed(struct recording_input *s)
{
	return atomic_load_explicit(&s->left, memory_order_acquire) == 0;
}

/* ---- subscribers ----------------------------------------------------- */

/* Called by a receiver thread when its share has given out its last block. */
static void
share_done(void *arg)
{
	const struct recording_input_share *share = arg;
	struct recording_input *s = share->input;
	void (*changed)(void *arg) = s->changed;
	void *to = s->arg;

	/* The event loop may free the recording input as soon as the last share
	 * is done, so copy first what is used after. */
	if (atomic_fetch_sub_explicit(&s->left, 1, memory_order_acq_rel) == 1)
		changed(to);
}

/* Called by a receiver thread when the time window has opened: the backlog
 * keeps what it has from now on. */
static void
share_opened(void *arg)
{
	const struct recording_input_share *share = arg;
	struct recording_input *s = share->input;

	for (unsigned i = 0; i < s->in->stream->keys; i++) {
		if (s->part[i].backlog)
			backlog_hold(s->part[i].backlog);
	}
	if (!atomic_exchange(&s->opened, true))
		s->changed(s->arg);
}

static int
part_wait(struct recording_input *s, struct recording_input_part *part,
	  int64_t keep)
{
	struct backlog_args args = { .keep = keep,
				     .pool = s->pool,
				     .subs = block_pool_subs(s->pool),
				     .out = part->out.out,
				     .arg = part->out.arg };
	int err = backlog_make(&part->backlog, &args);

	/* Without a backlog nothing arrives before the time window opens, so
	 * keep everything. */
	if (!err && !keep)
		backlog_hold(part->backlog);
	return err;
}

/* Returns the arguments of placement `i` of share `k`.  The parts of a split
 * stream count as substreams in the pool, so that each gets its fair number of
 * blocks. */
static struct placement_args
placement_of(struct recording_input *s, unsigned k, unsigned i)
{
	const struct stream *stream = s->in->stream;
	struct recording_input_part *part = &s->part[stream->split ? i : 0];
	struct placement_args placement = { .format = stream->format,
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

	/* each thread has a ring of its own, or takes turns at its substream's
	 */
	if (s->watch)
		placement.frames = signal_watch_ring(
		    s->watch, stream->plan.threads > 1 ? i : k);
	if (part->backlog) {
		placement.out = backlog_take;
		placement.arg = part->backlog;
	}
	if (stream->split)
		placement.shape = &s->in->own[i];
	else if (stream->plan.threads == 1)
		placement.sub = (uint16_t)(i * s->in->shares + k);
	return placement;
}

/* Makes the handles of all substreams for all shares: handle[k * subs + i] is
 * share k's handle of substream i. */
static int
handles_make(struct recording_input *s, struct placement **handle)
{
	unsigned subs = s->in->stream->plan.subs, threads = s->in->shares;
	struct placement **one = calloc(threads, sizeof(struct placement *));
	int err = one ? 0 : -ENOMEM;

	for (unsigned i = 0; i < subs && !err; i++) {
		struct placement_args args = placement_of(s, 0, i);

		err = shared_make(one, threads, &args);
		for (unsigned k = 0; k < threads && !err; k++)
			handle[k * subs + i] = one[k];
	}
	free(one);
	return err;
}

static int
share_feed(struct recording_input *s, unsigned k,
	   const struct recording_input_args *from, struct placement **ready)
{
	unsigned n = stream_input_placements(s->in, k);
	struct placement_args *placement = calloc(n, sizeof *placement);
	struct subscriber_args args = { .name = s->name,
					.placement = placement,
					.ready = ready,
					.time_window = from->time_window,
					.early = from->backlog > 0,
					.lesser = from->lesser,
					.opened = share_opened,
					.done = share_done,
					.arg = &s->share[k] };
	int err = -ENOMEM;

	for (unsigned i = 0; placement && i < n; i++)
		placement[i] = placement_of(s, k, i);
	if (placement)
		err = subscriber_make(&s->share[k].subscriber,
				      s->in->share[k].intake, &args);
	free(placement);
	return err;
}

/* Makes the subscribers of packet rings: every thread brings packets of every
 * substream, so they share the placements. */
static int
shared_feed(struct recording_input *s, const struct recording_input_args *args)
{
	unsigned subs = s->in->stream->plan.subs, shares = s->in->shares, k = 0;
	struct placement **handle =
	    calloc((size_t)shares * subs, sizeof(struct placement *));
	int err;

	if (!handle)
		return -ENOMEM;
	err = handles_make(s, handle);
	while (k < shares && !err) {
		err = share_feed(s, k, args, handle + (size_t)k * subs);
		k += !err;
	}
	/* Subscribers before k own their handles; free the rest. */
	for (size_t i = (size_t)k * subs; i < (size_t)shares * subs; i++)
		placement_free(handle[i]);
	free(handle);
	return err;
}

/* Has its samples looked at; a recording goes on without. */
static void
watch_begin(struct recording_input *s, struct signal_thread *thread)
{
	struct stream *stream = s->in->stream;
	struct signal_watch_args args = {
		.stream = stream,
		.shape = &s->in->share[0].shape,
		.name = s->name,
		.rings = stream->plan.threads > 1 ? stream->plan.subs
						  : s->in->shares,
	};

	if (!thread || s->passing || !signal_watch_can(stream))
		return;
	if (signal_watch_begin(&s->watch, thread, &args))
		log_line(LEVEL_WARN, s->name,
			 "its signal is not looked at: out of memory");
}

int
recording_input_feed(struct recording_input *s,
		     const struct recording_input_args *args,
		     const struct recording_input_out *out)
{
	int err = 0;

	s->time_window = args->time_window;
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
	watch_begin(s, args->signal);
	if (s->in->stream->plan.threads > 1)
		return shared_feed(s, args);
	for (unsigned k = 0; k < s->in->shares && !err; k++)
		err = share_feed(s, k, args, NULL);
	return err;
}

/* ---- counts ---------------------------------------------------------- */

static void
counts_add(struct counts *to, struct counts_shown *from)
{
	uint64_t *n = (uint64_t *)to;

	for (unsigned i = 0; i < COUNTS; i++)
		n[i] += atomic_load_explicit(&from->n[i], memory_order_relaxed);
}

void
recording_input_counts(struct recording_input *s, unsigned part,
		       struct counts *c)
{
	*c = (struct counts){ 0 };
	if (s->in->own)
		counts_add(c, &s->share[0].subscriber->shown[part]);
	for (unsigned k = 0; k < s->in->shares && !s->in->own; k++)
		for (unsigned i = 0; i < stream_input_placements(s->in, k); i++)
			counts_add(c, &s->share[k].subscriber->shown[i]);
	if (s->part[part].backlog)
		backlog_counts(s->part[part].backlog, c);
}

void
recording_input_sub_counts(struct recording_input *s, unsigned sub,
			   struct counts *c)
{
	unsigned shares = s->in->shares;

	*c = (struct counts){ 0 };
	if (s->in->stream->plan.threads == 1) {
		counts_add(
		    c, &s->share[sub % shares].subscriber->shown[sub / shares]);
		return;
	}
	for (unsigned k = 0; k < shares; k++)
		counts_add(c, &s->share[k].subscriber->shown[sub]);
}

uint64_t
recording_input_overruns(struct recording_input *s)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < s->in->shares; k++)
		n += atomic_load(&s->share[k].subscriber->overruns);
	return n;
}

void
recording_input_clock(struct recording_input *s, struct data_clock_window *w)
{
	for (unsigned k = 0; k < s->in->shares; k++)
		intake_clock(s->in->share[k].intake, w);
}

void
recording_input_look(struct recording_input *s, unsigned source,
		     struct receive_counts *counts, unsigned *sub)
{
	struct stream_input *in = s->in;
	struct subscriber_view view;
	unsigned k = 0;

	while (source >= in->share[k].intake->sources)
		source -= in->share[k++].intake->sources;
	subscriber_look(s->share[k].subscriber, source, &view);
	*counts = view.counts;
	*sub = in->stream->plan.threads > 1 ? view.placement
					    : view.placement * in->shares + k;
	if (in->own)
		*sub = 0;
}
