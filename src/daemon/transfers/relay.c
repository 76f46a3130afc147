/* SPDX-License-Identifier: MIT */
/*
 * A relay is what a session is for a recording, without the part for disks: the
 * recording input hands its blocks to the source of a sender, and neither waits
 * for the other.
 */
#include "daemon/transfers/relay.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

struct relay {
	const struct session_host *host;
	struct recording_input *input;
	struct source_relay *source;
	bool given; /* the source was given to a sender */
	bool ended; /* no more blocks will come */
};

static void
changed(void *arg)
{
	const struct session_host *host = arg;

	host->wake(host->arg);
}

/* Called by the sender's thread. */
static uint64_t
dropped(void *arg)
{
	struct counts c;

	recording_input_counts(arg, 0, &c);
	return c.drop[DROP_NO_BUFFER];
}

static int
refused(const struct relay_args *a, struct fault *fault)
{
	const struct stream *stream = a->stream;

	if (a->when.data || a->when.backlog) {
		fault_set(fault, -EINVAL, "usage",
			  "stream %s cannot be relayed by the time of its data",
			  stream->name);
		fault_hint(fault, "leave out the '@' of the time");
		return -EINVAL;
	}
	if (!stream->split)
		return 0;
	fault_set(fault, -EINVAL, "usage", "stream %s cannot be relayed",
		  stream->name);
	fault_why(fault, "it is split into %u parts, and a relay has one peer",
		  stream->keys);
	fault_hint(fault, "configure a stream of the same sources without "
			  "`split`, or record it and send the parts");
	return -EINVAL;
}

static int
recording_input_make(struct relay *r, const struct relay_args *a,
		     struct fault *fault)
{
	const struct session_host *host = r->host;
	struct stream_input *in = a->stream->input;
	int err = 0;

	if (in)
		stream_input_hold(in);
	else
		err = stream_input_open(&in, a->stream, a->name,
					host->receivers->n, fault);
	if (err)
		return err;
	err = recording_input_open_passing(&r->input, in, host->arena, a->name,
					   fault);
	stream_input_put(in); /* the recording input holds it now */
	return err;
}

static int
source_make(struct relay *r, const struct relay_args *a, struct fault *fault)
{
	const struct stream *stream = a->stream;
	struct source_relay_args args = {
		.format = stream->format,
		.shape = stream_input_shape(r->input->in, 0),
		.subs = stream->plan.subs,
		.fill = stream->fill,
		.start_ns = clock_now(),
		.dropped = dropped,
		.arg = r->input,
	};

	if (a->when.start)
		args.start_ns += a->when.start - clock_steady();
	return source_relay_make(&r->source, &args) < 0 ? fault_no_memory(fault)
							: 0;
}

/*
 * Makes the relay's subscriber.  Without a start time, packets received before
 * now are left out.
 */
static int
subscriber_make_of(struct relay *r, const struct relay_args *a,
		   struct fault *fault)
{
	int64_t now = clock_steady();
	struct recording_input_args from = {
		.time_window = { .open = a->when.start ? a->when.start : now,
				 .close =
				     a->when.stop ? a->when.stop : INT64_MAX },
		.lesser = true,
		.changed = changed,
		.arg = (void *)r->host,
	};
	struct recording_input_out out = { source_relay_put, r->source };

	return recording_input_feed(r->input, &from, &out) < 0
		   ? fault_no_memory(fault)
		   : 0;
}

int
relay_open(struct relay **relay, const struct session_host *host,
	   const struct relay_args *args, struct fault *fault)
{
	struct relay *r;
	int err = refused(args, fault);

	if (err)
		return err;
	r = calloc(1, sizeof *r);
	if (!r)
		return fault_no_memory(fault);
	r->host = host;
	err = recording_input_make(r, args, fault);
	if (!err)
		err = source_make(r, args, fault);
	if (!err)
		err = subscriber_make_of(r, args, fault);
	if (err) {
		relay_free(r);
		return err;
	}
	*relay = r;
	return 0;
}

struct source *
relay_source(struct relay *r)
{
	r->given = true;
	return source_relay_source(r->source);
}

void
relay_begin(struct relay *r)
{
	recording_input_begin(r->input, r->host->receivers);
}

void
relay_stop(struct relay *r, const char *why)
{
	recording_input_stop(r->input, why);
}

void
relay_stop_at(struct relay *r, int64_t at)
{
	struct time_window time_window = r->input->time_window;

	if (r->input->stopped)
		return;
	time_window.close = at ? at : INT64_MAX;
	recording_input_gate(r->input, &time_window);
}

/*
 * Ends the source once all blocks are in it: recording_input_flushed() reads
 * with acquire what the receivers released.
 */
bool
relay_step(struct relay *r, int64_t now)
{
	(void)now;
	if (r->ended || !r->input->begun || !recording_input_flushed(r->input))
		return r->ended;
	r->ended = true;
	source_relay_end(r->source);
	return true;
}

/* Drop the source first: its counters are in the recording input. */
void
relay_free(struct relay *r)
{
	struct source *unused = NULL;

	if (r->source) {
		if (!r->given)
			unused = source_relay_source(r->source);
		source_relay_drop(r->source);
	}
	source_close(unused);
	if (r->input)
		recording_input_put(r->input);
	free(r);
}
