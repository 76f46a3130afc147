/* SPDX-License-Identifier: MIT */
/*
 * A pass over a source is: aim, receive, place, for as many batches as the
 * receiver allows before the next source's turn.  While the stream is being
 * learned, each packet is also read before it goes to the placements.
 *
 * If several sources bring one stream, none may run ahead of the others by more
 * than the window holds, or the packets of the others would be late: all their
 * turns together are at most half a block.
 *
 * A tenth of what a socket's buffer holds may wait between visits, since a visit
 * may come late.  The buffer holds half of the bytes that the kernel tells, or
 * more: it charges up to twice a packet's bytes and several hundred more.
 */
#include "flow/receive/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"

enum {
	LOOKS = 10,	  /* ticks in which every source is read once */
	TURN = 16,	  /* batches */
	HOLD = 128 << 10, /* bytes, of what has no socket's buffer */
	OVERHEAD = 512, /* bytes of kernel memory per packet beside its data */
	/* Packets that are looked at for the clock in a tick, and at least of
	 * each source that has its turn. */
	CLOCK = 128,
	CLOCK_LEAST = 8,
	CLOCK_SET = 2 * NS_MS, /* more in a second is no slew */
};

/* ---- learning ---------------------------------------------------------- */

/*
 * Learns from the packets of a stream before an intake can place them, once for
 * all of its placements; learn.h says what, and how.
 */

/* Nothing but a missing sequence is learned if threads share the packets of one
 * stream: each would see only a part. */
static int
intake_learn_make(struct intake *in)
{
	const struct format_shape *shape = in->a.shape;
	bool needed = learn_needed(shape);

	if (!needed && (in->a.rings || !learn_wanted(shape)))
		return 0;
	in->learn = malloc(sizeof *in->learn);
	if (!in->learn)
		return -ENOMEM;
	learn_start(in->learn, shape);
	in->learns = true;
	atomic_store_explicit(&in->learning, needed, memory_order_relaxed);
	if (!needed)
		atomic_store_explicit(&in->fps, LEARN_WAIT,
				      memory_order_relaxed);
	return 0;
}

static void
intake_learn_free(struct intake *in)
{
	if (in->learn && in->a.shape->threads == in->learn->thread)
		in->a.shape->threads = NULL;
	free(in->learn);
}

/* Writes what was learned into the shapes.  The list of threads stays in
 * `learn`, which lives as long as the intake. */
static void
shape_learned(struct intake *in)
{
	struct learn *l = in->learn;
	struct format_shape *shape = in->a.shape;

	shape->fps = l->fps;
	if (!shape->threads_n) {
		shape->threads = l->thread;
		shape->threads_n = l->threads;
	}
	for (unsigned i = 0; in->a.own && i < in->a.placements; i++)
		in->a.own[i]->fps = l->fps;
	atomic_store_explicit(&in->learning, false, memory_order_release);
	log_line(LEVEL_INFO, in->a.name,
		 "learned %u frames per second and %u thread%s", shape->fps,
		 shape->threads_n, shape->threads_n == 1 ? "" : "s");
}

/* Ends learning.  If a counter gives the sequence, the shape stays as it is,
 * because other threads read it, and blocks carry the frames per second instead
 * (slots_release). */
static void
learned(struct intake *in)
{
	in->learns = false;
	if (learn_needed(in->a.shape))
		shape_learned(in);
	else
		log_line(LEVEL_INFO, in->a.name, "learned %u frames per second",
			 in->learn->fps);
	atomic_store_explicit(&in->fps, in->learn->fps, memory_order_relaxed);
}

/* Stops learning; not for packets that have no sequence without it. */
static void
give_up(struct intake *in)
{
	if (learn_needed(in->a.shape))
		return;
	in->learns = false;
	atomic_store_explicit(&in->fps, 0, memory_order_relaxed);
}

/* True if this packet was the last one needed. */
static bool
packet_learn(struct intake *in, const struct receive_packet *k)
{
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct format_packet p;

	if (k->flags & (RECEIVE_FOREIGN | RECEIVE_CUT) || k->bytes != whole)
		return false;
	in->a.format->parse(in->a.shape, k->prefix, k->payload, &p);
	return learn_packet(in->learn, &p);
}

/* Learns from the packets of a batch. */
static void
intake_learn(struct intake *in, const struct receive_batch *b)
{
	unsigned i = 0;

	while (i < b->packets && !packet_learn(in, &b->packet[i]))
		i++;
	if (i < b->packets)
		learned(in);
	else if (learn_hopeless(in->learn))
		give_up(in);
}

/* ---- the data's clock ---------------------------------------------------- */

/*
 * Sources take turns to have some packets looked at (data_clock.c says what that
 * costs), so that each is seen in a second, and a single one ten times.
 */

/* Frames per second of a thread; 0: not known, or not yet. */
static uint32_t
fps_of(const struct intake *in)
{
	uint32_t fps = in->a.shape->fps;

	if (!fps)
		fps = atomic_load_explicit(&in->fps, memory_order_relaxed);
	return fps == LEARN_WAIT ? 0 : fps;
}

/* Looks at the packets of a batch that was asked for stamps.  Those that have
 * none came at `read`, UTC ns, at the latest. */
static void
clock_look(struct intake_source *s, const struct receive_batch *b)
{
	struct intake *in = s->intake;
	struct format_shape shape = { .fps = fps_of(in) };
	uint32_t whole = in->a.shape->prefix + in->a.shape->payload;
	struct receive_counts counts = { .sender = "" };
	int64_t read = clock_now();
	struct format_packet p;
	uint32_t last = 0; /* the sender whose address is known */

	if (b->packets && shape.fps) {
		in->a.ops->counts(in->a.state, s->number, &counts);
		last = b->packet[b->packets - 1].sender;
	}
	s->clock -= b->packets < s->clock ? b->packets : s->clock;
	in->window.fps = shape.fps;
	for (unsigned i = 0; i < b->packets && shape.fps; i++) {
		const struct receive_packet *k = &b->packet[i];

		if (k->flags & (RECEIVE_FOREIGN | RECEIVE_CUT) ||
		    k->bytes != whole)
			continue;
		in->a.format->parse(in->a.shape, k->prefix, k->payload, &p);
		if (!(p.has & FORMAT_TIME) || p.part)
			continue;
		in->window.stamped &= k->arrived != 0;
		in->window.carded |= (k->flags & RECEIVE_CARD) != 0;
		data_clock_packet(
		    &in->window, s->sub, &p, format_time_ns(&shape, &p),
		    k->arrived ? k->arrived : read,
		    last && k->sender == last ? counts.sender : "");
	}
}

/* Shows the window of the second that ended, and begins the next one.  If our own
 * clock was set meanwhile, some packets have stamps of before and others of behind
 * that: such a window is left out. */
static void
clock_show(struct intake *in)
{
	struct data_clock_window *w = &in->window;
	int64_t offset = in->arrival->offset, was = in->window_offset;

	in->window_offset = offset;
	if (was && llabs(offset - was) > CLOCK_SET)
		data_clock_clear(w);
	if (!w->threads)
		return;
	w->number++;
	w->offset = offset;
	pthread_mutex_lock(&in->lock);
	in->shown = *w;
	pthread_mutex_unlock(&in->lock);
	data_clock_clear(w);
}

static void
clock_tick(struct intake *in)
{
	unsigned n = (in->sources + LOOKS - 1) / LOOKS;

	if (!in->a.format->parse)
		return;
	if (!in->tick)
		clock_show(in);
	for (unsigned i = 0; i < n; i++) {
		struct intake_source *s = &in->source[in->granted];

		s->clock = CLOCK / n > CLOCK_LEAST ? CLOCK / n : CLOCK_LEAST;
		in->granted = (in->granted + 1) % in->sources;
	}
}

void
intake_clock(struct intake *in, struct data_clock_window *w)
{
	pthread_mutex_lock(&in->lock);
	data_clock_merge(w, &in->shown);
	pthread_mutex_unlock(&in->lock);
}

/* ---- making, and a pass ------------------------------------------------ */

/* Sets the placement that a source feeds.  -EINVAL: there is none, which is a
 * bug. */
static int
source_place(const struct intake *in, struct intake_source *s)
{
	const struct receive_ops *ops = in->a.ops;

	s->sub = ops->sub ? ops->sub(in->a.state, s->number) : 0;
	if (in->a.by == INTAKE_SOURCE)
		s->placement = s->sub / (in->a.shares ? in->a.shares : 1);
	return s->placement < in->a.placements ? 0 : -EINVAL;
}

static uint32_t
source_hold(const struct intake_source *s)
{
	socklen_t length = sizeof(int);
	int buffer;

	if (getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &buffer, &length) < 0 ||
	    buffer <= 0)
		return HOLD;
	return (uint32_t)buffer / 2 / 10 + 1;
}

/* Number of batches a source may have in a row: half a block for all sources of
 * its placement together. */
static unsigned
source_turn(const struct intake *in, const struct intake_source *s)
{
	unsigned beside = 0;
	uint32_t turn;

	for (unsigned i = 0; i < in->sources; i++)
		beside += in->source[i].placement == s->placement;
	if (beside < 2)
		return TURN;
	turn = in->a.slots / 2 / beside / RECEIVE_BATCH;
	if (turn > TURN)
		return TURN;
	return turn ? turn : 1;
}

static void
source_look(struct intake_source *s)
{
	struct intake *in = s->intake;
	struct receive_counts c = { 0 };
	uint64_t more;

	in->a.ops->counts(in->a.state, s->number, &c);
	more = c.overruns - s->counts.overruns;
	atomic_fetch_add_explicit(&in->overruns, more, memory_order_relaxed);
	for (struct subscriber *f = in->subscribers; f; f = f->next)
		atomic_fetch_add_explicit(&f->overruns, more,
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

int
intake_make(struct intake **intake, const struct intake_args *args)
{
	struct intake *in = calloc(1, sizeof *in);
	int err = -ENOMEM;

	if (!in)
		return err;
	in->a = *args;
	data_clock_clear(&in->window);
	pthread_mutex_init(&in->lock, NULL);
	err = sources_make(in);
	if (!err)
		err = intake_learn_make(in);
	if (err) {
		intake_free(in);
		return err;
	}
	/* Hundreds of intakes with one source each take turns, too. */
	if (in->sources)
		in->tick = (unsigned)in->source[0].fd % LOOKS;
	*intake = in;
	return 0;
}

void
intake_free(struct intake *in)
{
	if (!in)
		return;
	intake_learn_free(in);
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
		log_line(LEVEL_ERROR, in->a.name,
			 "source %u fails and is not read any more: %s",
			 s->number, strerror(-err));
}

/* True if the open subscriber f, a recording, replaces a relay as the leading
 * subscriber. */
static bool
gives_way(const struct subscriber *lead, const struct subscriber *f,
	  int64_t ahead)
{
	return lead->a.lesser && !f->a.lesser && ahead <= 0;
}

/*
 * Chooses the subscriber that packets should land with: the first that is open,
 * else the one that opens next.  The other subscribers copy.
 */
static struct subscriber *
subscriber_leads(const struct intake *in, struct subscriber_time *t)
{
	struct subscriber *lead = in->subscribers;
	int64_t least = INT64_MAX;

	t->alone = true;
	t->near = false;
	for (struct subscriber *f = in->subscribers; f; f = f->next) {
		int64_t ahead = subscriber_ahead(f, t->now);

		t->alone &= ahead > 0;
		t->near |= subscriber_near(f, t->now);
		if (ahead < least || gives_way(lead, f, ahead)) {
			lead = f;
			least = ahead;
		}
	}
	return lead;
}

/* Reads the clock again: a time window may close in the middle of a pass. */
static void
time_look(const struct intake *in, struct subscriber_time *t)
{
	t->at = clock_steady();
	t->alone = true;
	for (struct subscriber *f = in->subscribers; f; f = f->next)
		t->alone &= subscriber_ahead(f, t->at) > 0;
}

/* Aims at the leading subscriber, and returns the room.  A source that can make
 * its sender wait gets the room of the subscriber that has the least. */
static unsigned
pairs_aim(struct intake_source *s, struct subscriber *lead,
	  struct receive_pair *pair, unsigned n)
{
	unsigned room = subscriber_aim(lead, s, pair, n), one;

	if (!s->waits || !s->intake->subscribers->next)
		return room;
	for (struct subscriber *f = s->intake->subscribers; f; f = f->next) {
		if (f == lead || (f->a.lesser && !lead->a.lesser))
			continue;
		one = subscriber_room(f, s, n);
		if (one < room)
			room = one;
	}
	return room;
}

static void
packets_take(struct intake_source *s, struct subscriber *lead,
	     struct receive_batch *b, const struct subscriber_time *t)
{
	struct intake *in = s->intake;

	if (in->learns)
		intake_learn(in, b);
	for (struct subscriber *f = in->subscribers; f; f = f->next) {
		if (f != lead)
			subscriber_take(f, s, b, t, false);
	}
	subscriber_take(lead, s, b, t, true);
	for (struct subscriber *f = in->subscribers; f && b->known; f = f->next)
		subscriber_expect(f, s, b->next);
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
	    int64_t now, struct intake_load *load)
{
	struct intake *in = s->intake;
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch b; /* the plugin sets the rest */
	struct subscriber_time t = { .utc = now_ns, .now = now, .at = now };
	struct subscriber *lead = subscriber_leads(in, &t);
	uint64_t bytes = 0, full;
	bool more = true;
	int err;

	b.pair = pair;
	if (batches > s->turn)
		batches = s->turn;
	while (more && batches--) {
		b.pairs = s->want;
		b.want = s->want;
		b.packets = 0;
		b.known = b.again = b.empty = false;
		b.stamps = t.near || s->clock;
		b.card = s->clock && !t.near;
		b.room = pairs_aim(s, lead, pair, b.pairs);
		err = in->a.ops->receive(in->a.state, s->number, &b);
		if (err < 0) {
			source_end(s, err);
			return err;
		}
		more = (b.packets > 0 && !b.empty) || b.again;
		bytes += batch_bytes(&b);
		s->want = b.want;
		s->waits |= b.known;
		if (t.near)
			time_look(in, &t);
		if (s->clock)
			clock_look(s, &b);
		packets_take(s, lead, &b, &t);
	}
	for (struct subscriber *f = in->subscribers; f; f = f->next)
		subscriber_show(f, s->placement);
	full = bytes * INTAKE_FULL / s->hold;
	load->bytes += bytes;
	if (load->full < full)
		load->full = full;
	return more;
}

/* Reads the counts of the next n sources.  Each costs a system call, so
 * hundreds of sources take turns: each is read once a second.  Receiver
 * thread. */
static void
intake_look(struct intake *in, unsigned n)
{
	while (n--) {
		source_look(&in->source[in->look]);
		in->look = (in->look + 1) % in->sources;
	}
}

/* Number of sources that are read before this tick of a second. */
static unsigned
looked(const struct intake *in, unsigned tick)
{
	return in->sources * tick / LOOKS;
}

void
intake_tick(struct intake *in, int64_t now)
{
	for (struct subscriber *f = in->subscribers; f; f = f->next)
		subscriber_age(f, now);
	intake_look(in, looked(in, in->tick + 1) - looked(in, in->tick));
	clock_tick(in);
	in->tick = (in->tick + 1) % LOOKS;
}

/* ---- subscribers ------------------------------------------------------------- */

/*
 * Lets subscribers join an intake and leave it.  Packets that the sources
 * counted before a subscriber joined are not the subscriber's; packets that
 * came before its time window closed are.
 */

/* Batches that a socket may still hold when a recording stops; see
 * intake_drain. */
enum { FLUSH_BATCHES = 4096 };

/* Appends a subscriber.  For the first one, sources count from zero: what they
 * counted before it was for nobody else. */
void
intake_join(struct intake *in, struct subscriber *f)
{
	struct subscriber **at = &in->subscribers;

	if (in->used)
		intake_look(in, in->sources);
	pthread_mutex_lock(&in->lock);
	for (unsigned i = 0; in->used && i < in->sources; i++) {
		f->source[i].datagrams = in->source[i].counts.datagrams;
		f->source[i].overruns = in->source[i].counts.overruns;
	}
	f->state = SUBSCRIBER_JOINED;
	f->time_window = f->wanted;
	pthread_mutex_unlock(&in->lock);
	in->used = true;
	while (*at)
		at = &(*at)->next;
	*at = f;
}

void
intake_leave(struct intake *in, struct subscriber *f)
{
	struct subscriber **at = &in->subscribers;

	pthread_mutex_lock(&in->lock);
	for (unsigned i = 0; i < in->sources; i++) {
		f->source[i].datagrams_end = in->source[i].counts.datagrams;
		f->source[i].overruns_end = in->source[i].counts.overruns;
	}
	f->state = SUBSCRIBER_LEFT;
	pthread_mutex_unlock(&in->lock);
	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

/* Takes packets from a source at the end of a subscriber.  True if more may be
 * left. */
static bool
source_drain(struct intake_source *s, struct subscriber *f, unsigned batches,
	     int64_t now_ns, int64_t now)
{
	struct subscriber_source *of = &f->source[s->number];
	struct intake_load load = { 0 };
	bool more;

	if (s->ended || (of->drained && !s->waits) ||
	    of->drainings >= FLUSH_BATCHES)
		return false;
	more = intake_pass(s, batches, now_ns, now, &load) > 0;
	of->drainings += load.bytes ? batches : 0;
	return subscriber_waits(f, s, now, load.bytes, more);
}

/* Marks the sources of all subscribers that end with this one, or ended before,
 * as drained, so that two subscribers that end at the same time get the same
 * packets.  A subscriber that ends later may have more waiting. */
static void
subscribers_drained(struct intake *in, const struct subscriber *by, int64_t now)
{
	for (struct subscriber *f = in->subscribers; f; f = f->next) {
		if (!f->until || now < f->settled ||
		    f->time_window.data != by->time_window.data ||
		    f->time_window.close > by->time_window.close)
			continue;
		for (unsigned i = 0; i < in->sources; i++)
			f->source[i].drained = true;
	}
}

/*
 * Packets that came before the time window closed belong to the recording, and
 * the kernel may still have them.  A sender that goes on could keep us here
 * forever, so the end is limited to what a socket can hold, and to a second.
 */
bool
intake_drain(struct intake *in, struct subscriber *f, unsigned batches,
	     int64_t now_ns, int64_t now)
{
	bool more = false;

	if (f->time_window.close <= f->time_window.open)
		return true;
	for (unsigned i = 0; i < in->sources; i++)
		more |= source_drain(&in->source[i], f, batches, now_ns, now);
	if (!more)
		subscribers_drained(in, f, now);
	if (more && now >= f->until)
		log_line(LEVEL_WARN, f->a.name,
			 "its sockets could not be emptied in the second after "
			 "its end: packets that they still hold are neither "
			 "recorded nor counted");
	return !more || now >= f->until;
}

void
intake_flush(struct intake *in, struct subscriber *f, int64_t now)
{
	subscriber_flush(f, now);
	intake_look(in, in->sources);
}
