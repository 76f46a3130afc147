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
enum {
	FLUSH_BATCHES = 4096,
	FLUSH_NS = 200000000,
	LOOKS = 10, /* ticks in which every source is looked at once */
};

/* The place that a source feeds; -EINVAL where there is none, a bug. */
static int
source_place(const struct intake *in, struct intake_source *s)
{
	const struct receive_ops *ops = in->a.ops;
	unsigned sub = ops->sub ? ops->sub(in->a.state, s->number) : 0;

	if (in->a.by == INTAKE_SOURCE)
		s->place = sub / (in->a.shares ? in->a.shares : 1);
	return s->place < in->a.places ? 0 : -EINVAL;
}

static int
sources_make(struct intake *in)
{
	int err = 0;

	in->sources = in->a.ops->sources(in->a.state);
	in->source = calloc(in->sources + 1, sizeof *in->source);
	if (!in->source)
		return -ENOMEM;
	for (unsigned i = 0; i < in->sources && !err; i++) {
		struct intake_source *s = &in->source[i];

		s->intake = in;
		s->number = i;
		s->fd = in->a.ops->fd(in->a.state, i);
		s->want = RECEIVE_BATCH;
		in->a.ops->counts(in->a.state, i, &s->counts);
		err = source_place(in, s);
	}
	in->left = in->sources;
	return err;
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

static int
places_make(struct intake *in)
{
	int err = place_spare(&in->spare, &in->a.place[0]);

	in->place = calloc(in->a.places, sizeof(struct place *));
	in->shown = calloc(in->a.places, sizeof *in->shown);
	if (err || !in->place || !in->shown)
		return -ENOMEM;
	if (in->a.ready) {
		memcpy(in->place, in->a.ready,
		       in->a.places * sizeof(struct place *));
		return 0;
	}
	for (unsigned i = 0; i < in->a.places && !err; i++) {
		struct place_args args = in->a.place[i];

		args.spare = in->spare;
		err = place_make(&in->place[i], &args);
	}
	return err;
}

int
intake_make(struct intake **intake, const struct intake_args *args)
{
	struct intake *in = calloc(1, sizeof *in);
	int err = -ENOMEM;

	if (!in)
		return err;
	in->a = *args;
	in->format = args->place[0].format;
	pthread_mutex_init(&in->lock, NULL);
	err = sources_make(in);
	if (!err)
		err = learn_make(in);
	if (!err)
		err = places_make(in);
	if (err) {
		intake_free(in);
		return err;
	}
	in->a.place = NULL; /* was the caller's, for a while */
	in->a.ready = NULL;
	*intake = in;
	return 0;
}

void
intake_free(struct intake *in)
{
	if (!in)
		return;
	for (unsigned i = 0; in->place && i < in->a.places; i++)
		place_free(in->place[i]);
	if (in->learn && in->a.shape->threads == in->learn->thread)
		in->a.shape->threads = NULL;
	spare_free(in->spare);
	free(in->place);
	free(in->shown);
	free(in->learn);
	free(in->source);
	pthread_mutex_destroy(&in->lock);
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
	for (unsigned i = 0; in->a.own && i < in->a.places; i++)
		in->a.own[i]->fps = l->fps;
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
batch_learn(struct intake *in, struct place *place,
	    const struct receive_packet *packet, unsigned n)
{
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct format_packet p;
	unsigned i = 0;

	for (; i < n && is_learning(in); i++) {
		const struct receive_packet *k = &packet[i];

		if (k->flags & RECEIVE_FOREIGN) {
			place_drop(place, DROP_FOREIGN, 1);
			continue;
		}
		if (k->flags & RECEIVE_CUT || k->bytes != whole) {
			place_drop(place, DROP_WRONG_SIZE, 1);
			continue;
		}
		place_drop(place, DROP_LEARNING, 1);
		in->format->parse(in->a.shape, k->prefix, k->payload, &p);
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
	struct place *place = in->place[s->place];
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch b = { .pair = pair };
	uint64_t packets = 0;
	bool more = true;
	int err;

	while (more && batches--) {
		b.pairs = s->want;
		b.want = s->want;
		b.packets = 0;
		b.known = b.again = b.empty = false;
		in->spare->used = 0;
		b.room = place_aim(place, &s->aim, pair, b.pairs);
		err = in->a.ops->receive(in->a.state, s->number, &b);
		if (err < 0) {
			source_end(s, err);
			return err;
		}
		more = (b.packets > 0 && !b.empty) || b.again;
		packets += b.packets;
		s->want = b.want;
		if (in->learn && is_learning(in)) {
			unsigned n =
			    batch_learn(in, place, b.packet, b.packets);

			b.packets -= n;
			memmove(b.packet, b.packet + n,
				b.packets * sizeof b.packet[0]);
		}
		place_batch(place, &s->aim, b.packet, b.packets, now_ns, now);
		if (b.known)
			place_expect(place, &s->aim, b.next);
	}
	counts_show(&in->shown[s->place], place_counts(place));
	return more ? INTAKE_MORE : (int)(packets * in->a.shape->payload);
}

static void
source_look(struct intake_source *s)
{
	struct intake *in = s->intake;
	struct receive_counts c = { 0 };

	in->a.ops->counts(in->a.state, s->number, &c);
	atomic_fetch_add_explicit(&in->overruns,
				  c.overruns - s->counts.overruns,
				  memory_order_relaxed);
	pthread_mutex_lock(&in->lock);
	s->counts = c;
	pthread_mutex_unlock(&in->lock);
}

/* A system call each, so hundreds of sources take turns: each is looked at
 * once a second. */
static void
sources_look(struct intake *in, unsigned n)
{
	while (n--) {
		source_look(&in->source[in->look]);
		in->look = (in->look + 1) % in->sources;
	}
}

static void
places_age(struct intake *in, int64_t now)
{
	for (unsigned i = 0; i < in->a.places; i++) {
		place_age(in->place[i], now);
		counts_show(&in->shown[i], place_counts(in->place[i]));
	}
}

void
intake_tick(struct intake *in, int64_t now)
{
	places_age(in, now);
	sources_look(in, (in->sources + LOOKS - 1) / LOOKS);
}

void
intake_look(struct intake *in, unsigned source, struct intake_view *view)
{
	struct intake_source *s = &in->source[source];

	pthread_mutex_lock(&in->lock);
	view->counts = s->counts;
	pthread_mutex_unlock(&in->lock);
	view->place = s->place;
}

/* Until a source has no more, or the budget is used up.  Returns whether
 * anything came. */
static bool
source_flush(struct intake_source *s, unsigned *budget, int64_t now_ns,
	     int64_t now)
{
	bool came = false;

	while (!s->ended && *budget && clock_steady() - now < FLUSH_NS) {
		--*budget;
		if (intake_pass(s, 1, now_ns, now) <= 0)
			break;
		came = true;
	}
	return came;
}

/*
 * What arrived before the stop belongs to the recording, and the kernel may
 * still have it.  A sender that goes on could keep us here for ever, so the
 * end is also what sockets can hold, or a fifth of a second.  A source may
 * wait for another one that comes after it, so they are asked in turns.
 */
void
intake_flush(struct intake *in, int64_t now_ns, int64_t now)
{
	unsigned budget = FLUSH_BATCHES * in->sources;
	bool more = true;

	while (more) {
		more = false;
		for (unsigned i = 0; i < in->sources; i++)
			more |=
			    source_flush(&in->source[i], &budget, now_ns, now);
	}
	for (unsigned i = 0; i < in->a.places; i++)
		place_flush(in->place[i]);
	places_age(in, now);
	sources_look(in, in->sources);
}
