/* SPDX-License-Identifier: MIT */
/*
 * One pass is: aim, receive, place, for as many batches as the receiver
 * allows a source before the next source's turn.  While the shape is still
 * being learned packets are read and counted, and none is kept.
 */
#include "flow/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* What a socket may still hold when the recording stops; see intake_flush. */
enum { FLUSH_BATCHES = 4096, FLUSH_NS = 200000000 };

static int
sources_make(struct intake *in)
{
	in->sources = in->a.ops->sources(in->a.state);
	in->source = calloc(in->sources, sizeof *in->source);
	if (!in->source)
		return -ENOMEM;
	for (unsigned i = 0; i < in->sources; i++) {
		in->source[i].intake = in;
		in->source[i].number = i;
		in->source[i].fd = in->a.ops->fd(in->a.state, i);
		in->source[i].want = RECEIVE_BATCH;
	}
	in->left = in->sources;
	return 0;
}

static int
learn_make(struct intake *in)
{
	if (!learn_needed(in->a.shape))
		return 0;
	in->learn = malloc(sizeof *in->learn);
	if (!in->learn)
		return -ENOMEM;
	learn_start(in->learn, in->a.shape);
	atomic_store_explicit(&in->learning, true, memory_order_relaxed);
	return 0;
}

int
intake_make(struct intake **intake, const struct intake_args *args)
{
	struct intake *in = calloc(1, sizeof *in);
	int err = -ENOMEM;

	if (!in)
		return err;
	in->a = *args;
	err = sources_make(in);
	if (!err)
		err = learn_make(in);
	if (!err)
		err = place_make(&in->place, &in->a.place);
	if (err) {
		intake_free(in);
		return err;
	}
	*intake = in;
	return 0;
}

void
intake_free(struct intake *in)
{
	if (!in)
		return;
	place_free(in->place);
	if (in->learn && in->a.shape->threads == in->learn->thread)
		in->a.shape->threads = NULL;
	free(in->learn);
	free(in->source);
	free(in);
}

/* The learned threads stay in `learn`, which lives as long as the intake. */
static void
learned(struct intake *in)
{
	struct learn *l = in->learn;
	struct format_shape *shape = in->a.shape;

	shape->fps = l->fps;
	if (!l->threads_known) {
		shape->threads = l->thread;
		shape->threads_n = l->threads;
	}
	atomic_store_explicit(&in->learning, false, memory_order_release);
	log_line(LOG_INFO, in->a.name,
		 "learned %u frames per second and %u thread%s; set `fps` and "
		 "`threads` of the stream to record from the first packet",
		 shape->fps, shape->threads_n,
		 shape->threads_n == 1 ? "" : "s");
}

static bool
is_learning(const struct intake *in)
{
	return learn_needed(in->a.shape);
}

/* Returns how many packets of the batch it used up. */
static unsigned
batch_learn(struct intake *in, const struct receive_packet *packet, unsigned n)
{
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct format_packet p;
	unsigned i = 0;

	for (; i < n && is_learning(in); i++) {
		const struct receive_packet *k = &packet[i];

		if (k->flags & RECEIVE_FOREIGN) {
			place_drop(in->place, DROP_FOREIGN, 1);
			continue;
		}
		if (k->flags & RECEIVE_CUT || k->bytes != whole) {
			place_drop(in->place, DROP_WRONG_SIZE, 1);
			continue;
		}
		place_drop(in->place, DROP_LEARNING, 1);
		in->a.place.format->parse(in->a.shape, k->prefix, k->payload,
					  &p);
		if (learn_packet(in->learn, &p))
			learned(in);
	}
	return i;
}

static void
source_end(struct intake_source *s, int err)
{
	struct intake *in = s->intake;

	s->ended = true;
	in->left--;
	if (err != -ENODATA)
		log_line(LOG_ERROR, in->a.name,
			 "source %u broke and is not read any more: %s",
			 s->number, strerror(-err));
}

int
intake_pass(struct intake_source *s, unsigned batches, int64_t now_ns,
	    int64_t now)
{
	struct intake *in = s->intake;
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch b = { .pair = pair };
	uint64_t packets = 0;
	bool more = true;
	int err;

	while (more && batches--) {
		b.pairs = s->want;
		b.want = s->want;
		b.packets = 0;
		b.room = place_aim(in->place, &s->aim, pair, b.pairs);
		err = in->a.ops->receive(in->a.state, s->number, &b);
		if (err < 0) {
			source_end(s, err);
			return err;
		}
		more = b.packets > 0;
		packets += b.packets;
		s->want = b.want;
		if (in->learn && is_learning(in)) {
			unsigned n = batch_learn(in, b.packet, b.packets);

			b.packets -= n;
			memmove(b.packet, b.packet + n,
				b.packets * sizeof b.packet[0]);
		}
		place_batch(in->place, &s->aim, b.packet, b.packets, now_ns,
			    now);
	}
	counts_show(&in->shown, place_counts(in->place));
	return more ? INTAKE_MORE : (int)(packets * in->a.shape->payload);
}

void
intake_tick(struct intake *in, int64_t now)
{
	uint64_t overruns = 0;

	place_age(in->place, now);
	counts_show(&in->shown, place_counts(in->place));
	for (unsigned i = 0; i < in->sources; i++) {
		struct receive_counts c;

		in->a.ops->counts(in->a.state, i, &c);
		overruns += c.overruns;
	}
	atomic_store_explicit(&in->overruns, overruns, memory_order_relaxed);
}

/*
 * What arrived before the stop belongs to the recording, and the kernel may
 * still have it.  A sender that goes on could keep us here for ever, so the
 * end is also what a socket can hold, or a fifth of a second.
 */
void
intake_flush(struct intake *in, int64_t now_ns, int64_t now)
{
	for (unsigned i = 0; i < in->sources; i++) {
		struct intake_source *s = &in->source[i];
		unsigned most = FLUSH_BATCHES;

		while (!s->ended && most-- && clock_steady() - now < FLUSH_NS &&
		       intake_pass(s, 1, now_ns, now) > 0)
			;
	}
	place_flush(in->place);
	intake_tick(in, now);
}
