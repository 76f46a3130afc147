/* SPDX-License-Identifier: MIT */
/*
 * One pass is: aim, receive, place, for as many batches as the receiver
 * allows a source before the next source's turn.  While the shape is still
 * being learned packets are read and counted, and none is kept.
 *
 * Where several sources bring one stream, none of them may run ahead of the
 * others by more than the window holds, or theirs would be late: a turn is at
 * most its part of half a block.
 *
 * How much may wait in a socket is an eighth of its buffer: the kernel counts
 * what a packet takes of its memory, up to twice its bytes and several hundred
 * more, and a visit may come late.  More than HOLD is never worth waiting for.
 */
#include "flow/intake_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"

/* What a socket may still hold when the recording stops; see intake_drain. */
enum {
	FLUSH_BATCHES = 4096,
	FLUSH_NS = 1000000000,
	LOOKS = 10, /* ticks in which every source is looked at once */
	TURN = 16,  /* batches */
	HOLD = 128 << 10,
	OVERHEAD = 512, /* bytes of kernel memory beside a packet's own */
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

static uint32_t
source_hold(const struct intake_source *s)
{
	socklen_t length = sizeof(int);
	int buffer;

	if (getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &buffer, &length) < 0 ||
	    buffer <= 0 || buffer / 8 > HOLD)
		return HOLD;
	return (uint32_t)buffer / 8 + 1;
}

/* Of all sources of its place together: half a block. */
static unsigned
source_turn(const struct intake *in, const struct intake_source *s)
{
	const struct geometry *g = in->a.place[s->place].geometry;
	unsigned beside = 0;
	uint32_t turn;

	for (unsigned i = 0; i < in->sources; i++)
		beside += in->source[i].place == s->place;
	if (beside < 2)
		return TURN;
	turn = g->slots / 2 / beside / RECEIVE_BATCH;
	if (turn > TURN)
		return TURN;
	return turn ? turn : 1;
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
		s->hold = source_hold(s);
		source_look(s);
		err = source_place(in, s);
	}
	in->left = in->sources;
	for (unsigned i = 0; i < in->sources && !err; i++)
		in->source[i].turn = source_turn(in, &in->source[i]);
	return err;
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

static int
split_open(struct intake *in)
{
	struct split_args args = { .format = in->format,
				   .shape = in->a.shape,
				   .station = in->a.by == INTAKE_STATION,
				   .key = in->a.key,
				   .place = in->place,
				   .places = in->a.places,
				   .sources = in->sources,
				   .spare = in->spare };

	return in->a.by == INTAKE_SOURCE ? 0 : split_make(&in->split, &args);
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
		err = intake_learn_make(in);
	if (!err)
		err = places_make(in);
	if (!err)
		err = split_open(in);
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
	intake_learn_free(in);
	split_free(in->split);
	spare_free(in->spare);
	free(in->place);
	free(in->shown);
	free(in->source);
	pthread_mutex_destroy(&in->lock);
	free(in);
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

static unsigned
pairs_aim(struct intake_source *s, struct receive_pair *pair, unsigned n)
{
	struct intake *in = s->intake;

	in->spare->used = 0;
	if (in->split)
		return split_aim(in->split, s->number, pair, n);
	return place_aim(in->place[s->place], &s->aim, pair, n);
}

static void
place_show(struct intake *in, unsigned place)
{
	counts_show(&in->shown[place], place_counts(in->place[place]));
}

/* By what their headers say. */
static void
packets_split(struct intake_source *s, const struct receive_batch *b,
	      int64_t now_ns, int64_t now)
{
	struct intake *in = s->intake;
	const uint16_t *place;
	unsigned n;

	place = split_batch(in->split, s->number, b, now_ns, now, &n);
	while (n--)
		place_show(in, place[n]);
}

static void
packets_take(struct intake_source *s, struct receive_batch *b, int64_t now_ns,
	     int64_t now)
{
	struct intake *in = s->intake;
	struct place *place = in->place[s->place];

	if (in->learn && intake_learns(in))
		intake_learn(in, place, b);
	if (in->split)
		packets_split(s, b, now_ns, now);
	else
		place_batch(place, &s->aim, b->packet, b->packets, now_ns, now);
	if (b->known)
		place_expect(place, &s->aim, b->next);
}

static uint64_t
batch_bytes(const struct receive_batch *b)
{
	uint64_t bytes = (uint64_t)b->packets * OVERHEAD;

	for (unsigned i = 0; i < b->packets; i++)
		bytes += b->packet[i].bytes;
	return bytes;
}

int
intake_pass(struct intake_source *s, unsigned batches, int64_t now_ns,
	    int64_t now)
{
	struct intake *in = s->intake;
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch b; /* a plugin writes what it tells of */
	uint64_t bytes = 0;
	bool more = true;
	int err;

	b.pair = pair;
	if (batches > s->turn)
		batches = s->turn;
	while (more && batches--) {
		b.pairs = s->want;
		b.want = s->want;
		b.packets = 0;
		b.known = b.again = b.empty = b.stamps = false;
		b.room = pairs_aim(s, pair, b.pairs);
		err = in->a.ops->receive(in->a.state, s->number, &b);
		if (err < 0) {
			source_end(s, err);
			return err;
		}
		more = (b.packets > 0 && !b.empty) || b.again;
		bytes += batch_bytes(&b);
		s->want = b.want;
		s->waits |= b.known;
		packets_take(s, &b, now_ns, now);
	}
	place_show(in, s->place);
	return more ? INTAKE_MORE : (int)(bytes * INTAKE_FULL / s->hold);
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
		place_show(in, i);
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

/* True when something may be left in it.  One that can make its sender wait
 * may itself wait for another one that comes after it: it is empty when a
 * whole round brought nothing. */
static bool
source_drain(struct intake_source *s, unsigned batches, int64_t now_ns,
	     int64_t now)
{
	int came;

	if (s->ended || (s->drained && !s->waits) ||
	    s->drainings >= FLUSH_BATCHES)
		return false;
	came = intake_pass(s, batches, now_ns, now);
	s->drainings += came ? batches : 0;
	s->drained = came != INTAKE_MORE && now >= s->intake->settled;
	return s->waits ? came > 0 : !s->drained;
}

/*
 * What arrived before the stop belongs to the recording, and the kernel may
 * still have it.  A sender that goes on could keep us here for ever, so the
 * end is also what a socket can hold, or a second.
 */
bool
intake_drain(struct intake *in, unsigned batches, int64_t now_ns, int64_t now)
{
	bool more = false;

	if (!in->until) {
		in->until = now + FLUSH_NS;
		in->settled = now + in->a.late;
	}
	for (unsigned i = 0; i < in->sources; i++)
		more |= source_drain(&in->source[i], batches, now_ns, now);
	if (more && now >= in->until)
		log_line(LOG_WARN, in->a.name,
			 "the end came faster than its sockets could be "
			 "emptied: what they still hold is not recorded, and "
			 "not counted");
	return !more || now >= in->until;
}

void
intake_flush(struct intake *in, int64_t now)
{
	for (unsigned i = 0; i < in->a.places; i++)
		place_flush(in->place[i]);
	places_age(in, now);
	sources_look(in, in->sources);
}
