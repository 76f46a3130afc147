/* SPDX-License-Identifier: MIT */
/*
 * Memory can be refused, so it is borrowed first.  Feeds are made when their
 * sessions exist, and joined to their receivers last, when nothing can fail.
 */
#include "daemon/sessions/supply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"

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
	if (s->stock)
		stock_return(s->stock);
	if (s->changed) /* another recording may wait for that memory */
		s->changed(s->arg);
	free(s->part);
	free(s->share);
	reception_put(s->in);
	free(s);
}

static int
open_with(struct supply **supply, struct reception *in, struct pool *pool,
	  struct stock_args blocks, bool later, struct fault *fault)
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
		err = pool_borrow(pool, &s->stock, &blocks, fault);
	if (err && later && s->share && s->part)
		err = pool_borrow_later(pool, &s->stock, &blocks, fault);
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
supply_open(struct supply **supply, struct reception *in, struct pool *pool,
	    const char *name, bool later, struct fault *fault)
{
	struct stock_args blocks = stream_stock(in->stream);
	int err;

	blocks.who = name;
	err = open_with(supply, in, pool, blocks, later, fault);
	if (!err && !stock_filled((*supply)->stock))
		log_line(LEVEL_WARN, name,
			 "another recording still has the memory for it: what "
			 "arrives after its start, and before that one has "
			 "ended, is dropped (no_buffer)");
	return err;
}

void
supply_fill(struct supply *s)
{
	if (stock_filled(s->stock) || pool_fill(s->stock) < 0)
		return;
	log_line(LEVEL_INFO, s->name, "has its memory now");
}

int
supply_open_passing(struct supply **supply, struct reception *in,
		    struct pool *pool, const char *name, struct fault *fault)
{
	struct stock_args blocks = stream_stock(in->stream);
	int err;

	blocks.who = name;
	blocks.quantum = 0;
	err = open_with(supply, in, pool, blocks, false, fault);
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
supply_begin(struct supply *s, struct crew *crew)
{
	struct reception *in = s->in;

	if (s->begun)
		return;
	s->begun = true;
	atomic_store(&s->left, in->shares);
	reception_begin(in, crew);
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
