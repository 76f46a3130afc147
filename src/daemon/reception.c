/* SPDX-License-Identifier: MIT */
/*
 * What can be refused comes first: memory, because it is the larger thing,
 * then sockets, share by share.  Intakes are made when the sessions are there
 * that they feed, and joined to their threads last, when nothing can fail.
 */
#include "daemon/reception.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/learn.h"

static int
no_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "no-memory", "out of memory");
}

/* ---- opening --------------------------------------------------------- */

/* Threads that learn, each by itself, could disagree. */
static unsigned
shares_of(const struct stream *stream, unsigned receivers)
{
	unsigned subs = stream->plan.subs;

	if (stream->plan.threads > 1)
		return stream->plan.threads;
	if (stream->split || learn_needed(&stream->shape))
		return 1;
	return receivers < subs ? receivers : subs;
}

/* Of each part: its own thread, or its station's threads. */
static int
own_make(struct reception *in, int64_t around)
{
	const struct stream *stream = in->stream;

	in->own = calloc(stream->keys, sizeof *in->own);
	in->list = calloc(stream->keys, sizeof(struct format_shape *));
	if (!in->own || !in->list)
		return -ENOMEM;
	for (unsigned i = 0; i < stream->keys; i++) {
		struct format_shape *own = &in->own[i];

		in->list[i] = own;
		*own = stream->shape;
		own->around = around;
		own->rate /= stream->keys;
		if (stream->split == SPLIT_THREAD) {
			own->threads = &stream->key[i];
			own->threads_n = 1;
		}
	}
	return 0;
}

static int
shares_make(struct reception *in, unsigned receivers)
{
	int64_t around = clock_now() / 1000000000;

	in->shares = shares_of(in->stream, receivers);
	in->share = calloc(in->shares, sizeof *in->share);
	if (!in->share)
		return -ENOMEM;
	for (unsigned k = 0; k < in->shares; k++) {
		in->share[k].shape = in->stream->shape;
		in->share[k].shape.around = around;
		in->share[k].in = in;
	}
	return in->stream->split ? own_make(in, around) : 0;
}

static int
share_open(struct reception *in, unsigned k, struct fault *fault)
{
	const struct stream *stream = in->stream;
	struct reception_share *share = &in->share[k];
	char why[320] = "";
	struct receive_args args = { .host = &in->log,
				     .options = stream->receive_options,
				     .prefix = share->shape.prefix,
				     .payload = stream->format->piece
						    ? 0
						    : share->shape.payload,
				     .longest = stream_longest(stream),
				     .senders = stream->format->piece != NULL,
				     .share = k,
				     .shares = in->shares,
				     .format = stream->format,
				     .shape = &share->shape,
				     .reach = stream->geometry.slots,
				     .why = why,
				     .why_bytes = sizeof why };
	int err = stream->receive->open(&share->state, &args);

	if (!err)
		return 0;
	share->state = NULL;
	fault_set(fault, err, err == -EADDRINUSE ? "busy" : "io",
		  "cannot record stream %s", stream->name);
	fault_why(fault, "%s", why[0] ? why : strerror(-err));
	return err;
}

static void
reception_close(struct reception *in)
{
	for (unsigned k = 0; in->share && k < in->shares; k++) {
		struct reception_share *share = &in->share[k];

		intake_free(share->intake);
		if (share->state)
			in->stream->receive->close(share->state);
	}
	if (in->stock)
		stock_return(in->stock);
	free(in->list);
	free(in->own);
	free(in->share);
	stream_drop(in->stream);
	free(in);
}

int
reception_open(struct reception **reception, struct stream *stream,
	       const char *name, struct pool *pool, unsigned receivers,
	       struct fault *fault)
{
	struct stock_args blocks = stream_stock(stream);
	struct reception *in = calloc(1, sizeof *in);
	int err;

	if (!in)
		return no_memory(fault);
	in->stream = stream_hold(stream);
	snprintf(in->name, sizeof in->name, "%s", name);
	in->log = log_host(in->name);
	blocks.who = in->name;
	if (shares_make(in, receivers) < 0)
		err = no_memory(fault);
	else
		err = pool_borrow(pool, &in->stock, &blocks, fault);
	for (unsigned k = 0; k < in->shares && !err; k++)
		err = share_open(in, k, fault);
	if (err) {
		reception_close(in);
		return err;
	}
	stream->reception = in;
	*reception = in;
	return 0;
}

void
reception_put(struct reception *in)
{
	if (in->users && --in->users)
		return;
	in->stream->reception = NULL;
	reception_close(in);
}

/* ---- running ---------------------------------------------------------- */

void
reception_begin(struct reception *in, struct crew *crew)
{
	/* Threads that share the packets of one sequence have to be several. */
	const void *group = in->stream->plan.threads > 1 ? in : NULL;

	if (in->begun)
		return;
	in->begun = true;
	atomic_store(&in->left, in->shares);
	for (unsigned k = 0; k < in->shares; k++) {
		struct reception_share *share = &in->share[k];

		if (crew_add(crew, group, share->intake, &share->receiver) < 0)
			abort();
	}
}

void
reception_stop(struct reception *in, const char *why)
{
	if (in->stopped)
		return;
	in->stopped = why;
	for (unsigned k = 0; k < in->shares; k++) {
		struct reception_share *share = &in->share[k];

		if (crew_remove(share->receiver, share->intake) < 0)
			abort(); /* a few bytes, and nothing else would end it */
	}
}

bool
reception_flushed(struct reception *in)
{
	return atomic_load_explicit(&in->left, memory_order_acquire) == 0;
}
