/* SPDX-License-Identifier: MIT */
/*
 * Opening can be refused, so all sockets are opened first, share by share.  The
 * receiver threads are chosen when the first recording begins.
 */
#include "daemon/sessions/stream_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/place/learn.h"

/* ---- opening --------------------------------------------------------- */

/* Returns the number of shares.  A stream that is split or has values to learn
 * gets one, because several threads could learn different values. */
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

/* Makes a shape for each part: of its one VDIF thread, or of its station with
 * all threads. */
static int
own_make(struct stream_input *in, int64_t around)
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
shares_make(struct stream_input *in, unsigned receivers)
{
	int64_t around = clock_now() / 1000000000;

	in->shares = shares_of(in->stream, receivers);
	in->share = calloc(in->shares, sizeof *in->share);
	if (!in->share)
		return -ENOMEM;
	for (unsigned k = 0; k < in->shares; k++) {
		in->share[k].shape = in->stream->shape;
		in->share[k].shape.around = around;
	}
	return in->stream->split ? own_make(in, around) : 0;
}

static int
share_open(struct stream_input *in, unsigned k, struct fault *fault)
{
	const struct stream *stream = in->stream;
	struct stream_input_share *share = &in->share[k];
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

unsigned
stream_input_placements(const struct stream_input *in, unsigned k)
{
	const struct stream *stream = in->stream;

	if (stream->split)
		return stream->keys;
	if (stream->plan.threads > 1)
		return stream->plan.subs;
	return (stream->plan.subs - k + in->shares - 1) / in->shares;
}

static int
share_take(struct stream_input *in, unsigned k, struct fault *fault)
{
	static const enum intake_by by[] = {
		[SPLIT_NONE] = INTAKE_SOURCE,
		[SPLIT_THREAD] = INTAKE_THREAD,
		[SPLIT_STATION] = INTAKE_STATION,
	};
	const struct stream *stream = in->stream;
	bool rings = stream->plan.threads > 1;
	struct intake_args args = { .name = in->name,
				    .ops = stream->receive,
				    .state = in->share[k].state,
				    .format = stream->format,
				    .shape = &in->share[k].shape,
				    .slots = stream->geometry.slots,
				    .placements =
					stream_input_placements(in, k),
				    .rings = rings,
				    .shares = rings ? 1 : in->shares,
				    .late = stream->plan.late,
				    .by = by[stream->split],
				    .key = stream->key,
				    .own = in->list };

	if (intake_make(&in->share[k].intake, &args) < 0)
		return fault_no_memory(fault);
	return 0;
}

static void
stream_input_close(struct stream_input *in)
{
	for (unsigned k = 0; in->share && k < in->shares; k++) {
		struct stream_input_share *share = &in->share[k];

		if (share->member)
			receivers_remove(share->member, share->intake->sources);
		intake_free(share->intake);
		if (share->state)
			in->stream->receive->close(share->state);
	}
	free(in->list);
	free(in->own);
	free(in->share);
	stream_drop(in->stream);
	free(in);
}

int
stream_input_open(struct stream_input **input, struct stream *stream,
		  const char *name, unsigned receivers, struct fault *fault)
{
	struct stream_input *in = calloc(1, sizeof *in);
	int err;

	if (!in)
		return fault_no_memory(fault);
	in->stream = stream_hold(stream);
	in->users = 1;
	snprintf(in->name, sizeof in->name, "%s", name);
	in->log = log_host(in->name);
	err = shares_make(in, receivers) < 0 ? fault_no_memory(fault) : 0;
	for (unsigned k = 0; k < in->shares && !err; k++)
		err = share_open(in, k, fault);
	for (unsigned k = 0; k < in->shares && !err; k++)
		err = share_take(in, k, fault);
	if (err) {
		stream_input_close(in);
		return err;
	}
	stream->input = in;
	*input = in;
	return 0;
}

void
stream_input_hold(struct stream_input *in)
{
	in->users++;
}

void
stream_input_put(struct stream_input *in)
{
	if (--in->users)
		return;
	in->stream->input = NULL;
	stream_input_close(in);
}

void
stream_input_begin(struct stream_input *in, struct receivers *receivers)
{
	/* Threads that share the packets of one sequence must be different
	 * threads. */
	const void *group = in->stream->plan.threads > 1 ? in : NULL;

	if (in->begun)
		return;
	in->begun = true;
	for (unsigned k = 0; k < in->shares; k++)
		in->share[k].member = receivers_add(
		    receivers, group, in->share[k].intake->sources);
}

struct format_shape *
stream_input_shape(struct stream_input *in, unsigned part)
{
	return in->own ? &in->own[part] : &in->share[0].shape;
}

bool
stream_input_learning(struct stream_input *in)
{
	return atomic_load(&in->share[0].intake->learning);
}

unsigned
stream_input_sources(const struct stream_input *in)
{
	unsigned n = 0;

	for (unsigned k = 0; k < in->shares; k++)
		n += in->share[k].intake->sources;
	return n;
}
