/* SPDX-License-Identifier: MIT */
/*
 * A sender's thread sleeps in one ppoll() over its eventfd (orders), its
 * source's descriptor and those of its plugin:
 *
 *   source --parcel--> hold --cut--> runs --pacer--> plugin
 *      ^                |                              |
 *      +----- put ------+<---------- release ----------+
 *
 * The source belongs to the thread, which closes it.  Orders, facts, and calls
 * that may hang: sender_thread.c.
 */
#include "flow/send/sender_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "contract/bytes.h"
#include "flow/send/cut.h"
#include "flow/send/pacer.h"

enum {
	/* Most parcels whose memory the plugin may have. */
	SENDER_HOLDS = 64,
	SENDER_FDS = 300, /* most descriptors of one poll */
	/* Most bytes offered to the plugin in one call. */
	SENDER_CALL = 1 << 20,
	SENDER_NAP = 250000000, /* ns, the longest sleep */
};
#define SENDER_PATIENCE	 (60 * NS_SECOND)
#define SENDER_BACK_MOST (5 * NS_SECOND)
#define SENDER_BACK	 (NS_SECOND / 10)

/* A parcel whose memory the plugin may still have. */
struct hold {
	struct parcel parcel;
	uint64_t until; /* value of `taken` when its last packet was taken */
};

struct packet_sender {
	struct sender base; /* must be first: sender_thread.h */
	/* Constant once started.  Everything that args points to is copied,
	 * except source, ops, options, format and shape. */
	struct sender_args args;

	/* All fields below belong to the sender's thread. */
	struct host host;
	struct source *source;
	struct source_about about;
	struct cut *cut;
	struct pacer pacer;
	struct send_state *plugin;
	uint64_t asked;
	int64_t now; /* steady ns when this round began */

	/* Ring of parcels; with `cutting` the newest one is being cut. */
	struct hold hold[SENDER_HOLDS];
	unsigned hold_first, holds;
	uint64_t taken, released;
	struct send_run offer[SEND_RUNS];

	/* Steady ns since when the plugin takes nothing; 0: it does. */
	int64_t away;
	int64_t back; /* ns to wait before the next attempt to connect */
	/* Steady ns since when the source has no parcel; 0: it has. */
	int64_t hunger;

	unsigned subs; /* substreams that are sent */
	unsigned idle; /* sleeps in a row that ended at once */
	bool paused, cutting;
	bool source_done; /* the source has no more */
	bool again;	  /* the peer wants packets again */
	bool went_back;	  /* the peer has said once what it already has */
	int cut_err; /* cut_make's error, which cut_why explains; 0: none */
	char cut_why[SEND_SENTENCE];
};

/* A step returns SENDER_STEP when it is done, 0 when it has to be called again,
 * or -errno. */
enum { SENDER_STEP = 1 };

/* ---- facts ------------------------------------------------------------- */

static void
sender_why(struct packet_sender *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->base.facts.why, sizeof s->base.facts.why, format, args);
	va_end(args);
}

/* Counts bytes sent, for the rate. */
static void
sender_went(struct packet_sender *s, uint64_t bytes)
{
	s->base.facts.bytes += bytes;
}

/* Packets that the peer had already count as taken, but were not sent. */
static void
plugin_look(struct packet_sender *s, struct sender_facts *f)
{
	uint64_t packets = f->send.there_packets, bytes = f->send.there_bytes;

	s->args.ops->facts(s->plugin, &f->send);
	packets = f->send.there_packets - packets;
	bytes = f->send.there_bytes - bytes;
	f->packets -= packets;
	f->bytes -= bytes;
	f->there += bytes;
}

static void
gather(struct packet_sender *s)
{
	struct sender_facts *f = &s->base.facts;
	struct cut_counts counts;

	if (s->source)
		s->source->ops->facts(s->source, &f->source);
	if (s->plugin)
		plugin_look(s, f);
	/* After the cut is closed, the counts stay as they were. */
	if (s->cut) {
		cut_counts(s->cut, &counts);
		f->missing = counts.missing;
		f->unreadable = counts.unreadable;
		f->dropped = counts.dropped + f->source.dropped;
	}
	f->asked = s->asked;
	f->burst = f->send.burst ? f->send.burst : s->pacer.burst;
	f->total = f->source.total;
}

/* Shows the facts to the event loop, if it is time or the state is a new one.
 */
static void
show(struct packet_sender *s, enum sender_state state)
{
	s->now = clock_steady();
	if (state == s->base.facts.state && s->now < s->base.show_at)
		return;
	if (state != SENDER_CONNECTING && state < SENDER_DONE &&
	    s->base.facts.state == SENDER_CONNECTING)
		s->base.facts.why[0] = '\0';
	s->base.facts.state = state;
	gather(s);
	sender_show(&s->base, s->now);
}

/* ---- sleeping ---------------------------------------------------------- */

/*
 * The sleep of a sender.  The cause of a wake-up is not looked at: orders,
 * source and plugin are asked in every round anyway, which is cheap.
 *
 * Descriptors that stay readable although there is no news, as those of a peer
 * that refuses at once may, would make the thread spin.  So after some rounds
 * in which nothing was done it sleeps a little in each, and longer after more.
 */

/* After so many rounds without a packet sent, each sleeps so many ns. */
static const struct {
	unsigned rounds;
	int64_t ns;
} naps[] = { { 1024, 10000000 }, { 64, 1000000 } };

enum { SLEPT = 500000 }; /* ns; a shorter sleep counts as none */

static int64_t
nap(unsigned idle)
{
	for (unsigned i = 0; i < sizeof naps / sizeof *naps; i++)
		if (idle > naps[i].rounds)
			return naps[i].ns;
	return 0;
}

static void
sleep_until(struct pollfd *fd, unsigned n, int64_t until)
{
	int64_t left = until - clock_steady();
	struct timespec t;

	if (left < 0)
		left = 0;
	t.tv_sec = left / 1000000000;
	t.tv_nsec = left % 1000000000;
	ppoll(fd, n, &t, NULL);
}

/* Sleeps until `until` (steady ns; 0: as long as possible), an order, or news
 * from the source, or with `plugin` from the plugin. */
static void
sender_wait(struct packet_sender *s, int64_t until, bool plugin)
{
	struct pollfd fd[SENDER_FDS] = { { .fd = s->base.wake,
					   .events = POLLIN } };
	int64_t now = clock_steady(), least = nap(s->idle);
	int source = s->source->ops->fd ? s->source->ops->fd(s->source) : -1;
	unsigned n = 1;
	bool ready;

	if (!until || until > now + SENDER_NAP)
		until = now + SENDER_NAP;
	if (least) {
		sleep_until(fd, 1, now + least);
		if (fd->revents)
			sender_wake_read(&s->base);
	}
	fd[n++] = (struct pollfd){ .fd = source, .events = POLLIN };
	if (plugin && s->plugin)
		n += s->args.ops->poll(s->plugin, fd + n, SENDER_FDS - n,
				       &until);
	now = clock_steady();
	/* On a busy machine a call that does not sleep may take long, too. */
	ready = s->idle && poll(fd, n, 0) > 0;
	sleep_until(fd, n, until);
	if (fd->revents)
		sender_wake_read(&s->base);
	s->idle = ready || clock_steady() - now < SLEPT ? s->idle + 1 : 0;
}

/* Notes that the peer is there. */
static void
sender_there(struct packet_sender *s)
{
	s->away = 0;
	s->back = SENDER_BACK;
}

/* Waits for a peer that is away.  0, or -ETIMEDOUT when that took too long. */
static int
sender_away(struct packet_sender *s)
{
	int64_t now = clock_steady(), until;

	if (!s->away)
		s->away = now;
	if (now - s->away > s->args.patience)
		return -ETIMEDOUT;
	until = now + s->back;
	show(s, SENDER_CONNECTING);
	sender_wait(s, until, true);
	/* The time ran out without a connection: wait longer before the next
	 * attempt. */
	if (clock_steady() >= until)
		s->back = 2 * s->back < SENDER_BACK_MOST ? 2 * s->back
							 : SENDER_BACK_MOST;
	return 0;
}

/* ---- parcels that are held --------------------------------------------- */

/*
 * The parcels whose memory a plugin may still have, in the order in which they
 * were given: a ring, of which the newest one is being cut.  Each is put back
 * to the source as soon as the plugin has released the last of its packets, and
 * all of them at once if the source wants its memory.
 */

static struct hold *
hold_at(struct packet_sender *s, unsigned i)
{
	return &s->hold[(s->hold_first + i) % SENDER_HOLDS];
}

static void
put_first(struct packet_sender *s)
{
	struct hold *h = hold_at(s, 0);

	/* A source that reads ahead may do so in this call, and wait for its
	 * disk. */
	sender_into(&s->base);
	source_put(&h->parcel);
	sender_out(&s->base);
	s->hold_first++;
	if (!--s->holds)
		s->cutting = false;
}

static void
sender_put_all(struct packet_sender *s)
{
	while (s->holds)
		put_first(s);
}

static void
put_released(struct packet_sender *s)
{
	while (s->holds > s->cutting && hold_at(s, 0)->until <= s->released)
		put_first(s);
}

/* Puts all parcels because a recording needs the memory. */
static int
give_back(struct packet_sender *s)
{
	if (s->plugin) {
		s->args.ops->detach(s->plugin);
		s->released = s->args.ops->release(s->plugin);
	}
	sender_put_all(s);
	if (s->released >= s->taken)
		return 0;
	sender_why(s, "the plugin %s did not give memory back",
		   s->args.ops->head.name);
	return -EFAULT;
}

/* Puts parcels that are not needed any more, and all of them if the source
 * wants its memory.  0, or -errno with `why`. */
static int
sender_release(struct packet_sender *s)
{
	if (s->plugin)
		s->released = s->args.ops->release(s->plugin);
	put_released(s);
	if (s->source->ops->wanted && s->source->ops->wanted(s->source))
		return give_back(s);
	return 0;
}

static void
say_why(struct packet_sender *s, int err)
{
	const struct fault *fault = NULL;
	char line[SEND_SENTENCE];

	if (s->source->ops->fault)
		fault = s->source->ops->fault(s->source);
	if (fault && fault->code) {
		fault_line(fault, line, sizeof line);
		sender_why(s, "%s", line);
	} else if (err == -ENOENT) {
		sender_why(s, "%s was removed", s->args.name);
	} else {
		sender_why(s, "%s cannot be read: %s", s->args.name,
			   strerror(-err));
	}
}

/* Takes the next parcel, to be cut.  0; -ETIMEDOUT: there is none now; -EBUSY:
 * too many are held; -ENODATA: the end; or another -errno with `why`. */
static int
sender_take(struct packet_sender *s)
{
	struct parcel p;
	int err;

	if (s->source_done || (s->cut && cut_ended(s->cut)))
		return -ENODATA;
	if (s->holds == SENDER_HOLDS)
		return -EBUSY;
	sender_into(&s->base);
	err = s->source->ops->next(s->source, &p, 0);
	sender_out(&s->base);
	if (err == -ENODATA)
		s->source_done = true;
	else if (err && err != -ETIMEDOUT)
		say_why(s, err);
	if (err)
		return err;
	*hold_at(s, s->holds++) = (struct hold){ .parcel = p };
	s->cutting = true;
	s->hunger = 0;
	return 0;
}

/* Goes back to the packets that the peer wants again, as the plugin says. */
static int
sender_back(struct packet_sender *s)
{
	uint32_t run = 0, seek_run;
	uint64_t first = 0, seek_first;
	int err = 0;

	if (!s->args.ops->back)
		return -EPROTO;
	s->args.ops->back(s->plugin, &run, &first);
	s->args.ops->detach(s->plugin);
	s->released = s->args.ops->release(s->plugin);
	sender_put_all(s);
	cut_back(s->cut, run, first, &seek_run, &seek_first);
	s->again = s->went_back = true;
	sender_into(&s->base);
	err = s->source->ops->seek
		  ? s->source->ops->seek(s->source, seek_run, seek_first)
		  : -ESPIPE;
	sender_out(&s->base);
	s->source_done = s->source_done && err == -ESPIPE;
	if (!err && !s->taken) {
		s->source->ops->facts(s->source, &s->base.facts.source);
		s->base.facts.there = s->base.facts.source.passed;
	}
	/* A source that cannot go back continues with what it has. */
	if (err == -ESPIPE && !s->source_done)
		return 0;
	if (err)
		say_why(s, err);
	return err;
}

/* ---- the peer ---------------------------------------------------------- */

/* The state of the peer, as the plugin's calls report it. */

/* Sets `why` to the reason that the data cannot be cut; returns -errno. */
static int
sender_uncut(struct packet_sender *s)
{
	sender_why(s, "%s", s->cut_why[0] ? s->cut_why : strerror(-s->cut_err));
	return s->cut_err;
}

static void
peer_why(struct packet_sender *s, int err)
{
	struct send_facts facts = { 0 };

	s->args.ops->facts(s->plugin, &facts);
	if (facts.why[0])
		sender_why(s, "%s", facts.why);
	else
		sender_why(s, "%s cannot be sent to: %s", s->args.to,
			   strerror(-err));
}

/* Waits for the connection to come back.  0, or -errno when it took too
 * long. */
static int
sender_lost(struct packet_sender *s)
{
	struct send_facts facts = { 0 };
	int err;

	s->args.ops->facts(s->plugin, &facts);
	sender_why(s, "%s", facts.why);
	err = sender_away(s);
	if (err && !facts.why[0])
		sender_why(s, "%s does not answer", s->args.to);
	return err;
}

/* Acts on the error of a plugin's call.  0, or -errno with `why`. */
static int
sender_said(struct packet_sender *s, int err)
{
	switch (err) {
	case -EAGAIN: return sender_lost(s);
	case -ERESTART: return sender_back(s);
	case -EXDEV: s->base.facts.wants_copy = true; break;
	default: break;
	}
	if (!s->cut && err != -EXDEV)
		return sender_uncut(s);
	peer_why(s, err);
	return err;
}

/* Step: lets the plugin continue what it has begun. */
static int
sender_keep(struct packet_sender *s)
{
	uint64_t taken = 0;
	int err = s->args.ops->send(s->plugin, s->offer, 0, &taken);

	if (err)
		return sender_said(s, err);
	sender_there(s);
	return SENDER_STEP;
}

/* The same, and waits: the plugin has to release memory before it can take
 * more. */
static int
sender_press(struct packet_sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	sender_wait(s, 0, true);
	return 0;
}

/* ---- packets for the plugin -------------------------------------------- */

/*
 * Packets are offered to the plugin as runs that are copies of the cut's,
 * shortened to what the pacer allows now.  The pacer is tried on a copy of
 * itself too: packets that the plugin does not take did not go.
 *
 * One call gets a MiB, so that orders, and memory that is wanted back, never
 * wait for long: at 10 Gb/s a copying kernel takes some 0.8 ms for it.  A
 * plugin that wants blocks (SEND_BLOCKS) gets a whole call's bytes even when
 * fewer are due; the pacer then lets it wait longer.
 */

/* The packets offered in one call. */
struct offer {
	struct pacer pacer; /* its state after the offer */
	unsigned runs;
	uint64_t packets, bytes;
	bool paced; /* there are more packets, but they are not due yet */
};

static uint32_t
bytes_of(const struct send_run *r)
{
	return r->head_bytes + r->data_bytes;
}

static bool
is_timed(const struct packet_sender *s)
{
	const struct send_ops *ops = s->args.ops;

	return ops->head.flags & SEND_TIMED && ops->timed &&
	       ops->timed(s->plugin);
}

/* Returns how many packets of a run may go now. */
static uint32_t
may(const struct packet_sender *s, struct offer *o, const struct send_run *r,
    int64_t ahead)
{
	uint32_t bytes = bytes_of(r), n;
	uint64_t room = (SENDER_CALL - o->bytes) / (bytes ? bytes : 1);
	uint32_t most = room < r->packets ? (uint32_t)room : r->packets;

	if (!most && !o->packets)
		most = 1;
	pacer_data(&o->pacer, r->time_ns, r->every / s->subs, s->subs > 1,
		   s->now);
	n = pacer_may(&o->pacer, bytes, most, ahead, s->now);
	o->paced = n < most;
	if (n && s->args.ops->head.flags & SEND_BLOCKS)
		n = most;
	return n;
}

static void
offer_make(struct packet_sender *s, struct offer *o, const struct send_run *run,
	   unsigned n, bool timed)
{
	int64_t ahead = timed ? SEND_AHEAD : 0;

	*o = (struct offer){ .pacer = s->pacer };
	for (unsigned i = 0; i < n && !o->paced; i++) {
		struct send_run *r = &s->offer[o->runs];
		uint32_t packets = may(s, o, &run[i], ahead);

		if (!packets)
			break;
		*r = run[i];
		r->packets = packets;
		r->due = timed ? pacer_due(&o->pacer) : 0;
		r->every = timed ? pacer_every(&o->pacer, bytes_of(r)) : 0;
		pacer_went(&o->pacer, packets, bytes_of(r), s->now);
		o->bytes += (uint64_t)packets * bytes_of(r);
		o->packets += packets;
		o->runs++;
		if (packets < run[i].packets)
			break;
	}
}

/* Takes the first `packets` packets of the offer. */
static void
took(struct packet_sender *s, const struct offer *o, const struct send_run *run,
     uint64_t packets)
{
	uint64_t left = packets, bytes = 0;

	for (unsigned i = 0; i < o->runs && left; i++) {
		const struct send_run *r = &s->offer[i];
		uint32_t n = left < r->packets ? (uint32_t)left : r->packets;

		bytes += (uint64_t)n * bytes_of(r);
		s->base.facts.time_ns = r->time_ns;
		left -= n;
		if (packets == o->packets)
			continue;
		pacer_data(&s->pacer, run[i].time_ns, run[i].every / s->subs,
			   s->subs > 1, s->now);
		pacer_went(&s->pacer, n, bytes_of(r), s->now);
	}
	if (packets == o->packets)
		s->pacer = o->pacer;
	s->taken += packets;
	s->base.facts.packets += packets;
	s->idle = 0;
	sender_went(s, bytes);
	cut_took(s->cut, packets);
}

static int
send(struct packet_sender *s, const struct send_run *run, unsigned n)
{
	bool timed = is_timed(s);
	struct offer o;
	uint64_t taken = 0;
	int err;

	s->now = clock_steady();
	offer_make(s, &o, run, n, timed);
	if (!o.packets) {
		sender_wait(
		    s, pacer_wake(&s->pacer, timed ? SEND_AHEAD : 0, s->now),
		    false);
		return 0;
	}
	err = s->args.ops->send(s->plugin, s->offer, o.runs, &taken);
	if (taken > o.packets)
		return -EPROTO;
	if (taken)
		took(s, &o, run, taken);
	if (err)
		return err;
	sender_there(s);
	if (taken < o.packets)
		sender_wait(s, 0, true);
	return 0;
}

/* Offers packets to the plugin, and waits where necessary.  0; -ENODATA: the
 * parcel has no more; or an error of send_ops::send. */
static int
sender_give(struct packet_sender *s)
{
	const struct send_run *run;
	unsigned n;
	int err = cut_look(s->cut, s->released, &run, &n);

	if (err == -EAGAIN) /* the memory for fill is in use */
		return sender_press(s);
	if (err)
		return err;
	if (n)
		return send(s, run, n);
	s->cutting = false;
	s->hold[(s->hold_first + s->holds - 1) % SENDER_HOLDS].until = s->taken;
	return -ENODATA;
}

/* ---- opening ----------------------------------------------------------- */

/* Everything that is needed before packets can be sent: a description of the
 * data, the cut, and the plugin's connection to the peer. */

/* Asks the source what its data are.  Some sources know that only with their
 * first parcel, which is then taken. */
static int
sender_learn(struct packet_sender *s)
{
	struct sender_args *a = &s->args;
	int err = -EAGAIN;

	if (s->source->ops->about) {
		sender_into(&s->base);
		err = s->source->ops->about(s->source, &s->about);
		sender_out(&s->base);
	}
	if (err && !a->format && !s->holds && !s->source_done) {
		err = sender_take(s);
		if (err == -ETIMEDOUT)
			sender_wait(s, 0, false);
		return err == -ETIMEDOUT || err == -ENODATA ? 0 : err;
	}
	if (a->format) {
		s->about.format = a->format;
		s->about.shape = a->shape;
		s->about.subs = a->subs ? a->subs : 1;
	} else if (err) {
		sender_why(s, "the format of %s is not known", a->name);
		return -ENODATA;
	}
	return SENDER_STEP;
}

/* Makes the cut.  0, also if the data cannot be cut but a plugin without
 * prefixes can ask its peer to take a copy instead; or -errno with `why`. */
static int
cut_open(struct packet_sender *s)
{
	const struct sender_args *a = &s->args;
	bool plain = a->plain || a->ops->head.flags & SEND_PLAIN;
	struct cut_args cut = { .format = s->about.format,
				.shape = s->about.shape,
				.subs = s->about.subs,
				.choice = &a->choice,
				.plain = plain,
				.bare = a->ops->head.flags & SEND_BARE,
				.zero_fill = s->about.zero_fill,
				.why = s->cut_why,
				.why_bytes = sizeof s->cut_why };

	s->pacer.brisk = s->about.live;
	s->subs = s->about.subs > 1 && a->choice.sub < 0 ? s->about.subs : 1;
	s->cut_err = cut_make(&s->cut, &cut);
	if (!s->cut_err)
		return 0;
	if (s->cut_err != -EINVAL || !cut.bare || plain)
		return sender_uncut(s);
	s->subs = 1;
	return 0;
}

/* Bytes of the whole transfer, if it is plain bytes; 0: not known yet. */
static uint64_t
total_of(struct packet_sender *s, bool plain)
{
	const struct send_choice *c = &s->args.choice;
	struct source_facts facts = { 0 };

	if (!plain || c->from_ns || c->to_ns || c->from_byte || c->to_byte ||
	    c->threads_n || c->strip || c->headers_off)
		return 0;
	s->source->ops->facts(s->source, &facts);
	return facts.live || s->about.live ? 0 : facts.total;
}

static int
plugin_open(struct packet_sender *s)
{
	const struct sender_args *a = &s->args;
	struct send_args args = {
		.host = &s->host,
		.options = a->options,
		.to = a->to,
		.subs = s->subs,
		.connections = a->connections,
		.plain = a->plain || a->ops->head.flags & SEND_PLAIN,
		.ordered = a->ordered,
		.transfer = a->transfer,
		.zerocopy_ok = !s->about.live,
		.rate = s->asked == SEND_RATE_DATA ? 0 : s->asked,
		.name = a->name,
		.about = a->about,
		.secret = a->secret,
		.secret_bytes = a->secret_bytes,
		.why = s->base.facts.why,
		.why_bytes = sizeof s->base.facts.why,
	};
	int err;

	args.total = total_of(s, args.plain);
	/* A peer that takes copies also takes them of data that cannot be cut.
	 * Any size of packet does to ask it. */
	args.data_bytes = 1;
	if (s->cut)
		cut_sizes(s->cut, &args.head_bytes, &args.data_bytes);
	s->host = log_host(a->name);
	sender_into(&s->base);
	err = a->ops->open(&s->plugin, &args);
	sender_out(&s->base);
	if (err && !s->base.facts.why[0])
		sender_why(s, "%s cannot be sent to: %s", a->to,
			   strerror(-err));
	return err;
}

/* Makes the cut and opens the plugin.  0, also if the data cannot be cut but
 * the peer may take a copy instead; or -errno with `why`. */
static int
sender_open(struct packet_sender *s)
{
	int err = cut_open(s);

	return err ? err : plugin_open(s);
}

/* ---- the transfer ------------------------------------------------------ */

/* The thread of a sender, from the first look at its source to the last close.
 * Each round obeys orders, puts parcels that are not needed any more, and does
 * one step, which may end in a sleep. */

enum { HUNGRY = 200000000 }; /* ns without data until the state is WAITING */

/* ---- every round ----------------------------------------------------- */

static void
rate_obey(struct packet_sender *s)
{
	uint64_t rate =
	    atomic_load_explicit(&s->base.rate, memory_order_relaxed);

	if (rate == s->asked)
		return;
	s->asked = rate;
	pacer_rate(&s->pacer, rate, clock_steady());
	if (s->plugin && s->args.ops->rate)
		s->args.ops->rate(s->plugin, rate == SEND_RATE_DATA ? 0 : rate);
}

/* Obeys orders and puts parcels.  0; -ECANCELED: told to stop; or -errno. */
static int
round_begin(struct packet_sender *s)
{
	s->paused = atomic_load_explicit(&s->base.pause, memory_order_relaxed);
	if (atomic_load_explicit(&s->base.stop, memory_order_relaxed))
		return -ECANCELED;
	rate_obey(s);
	return sender_release(s);
}

static int
connect_step(struct packet_sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	if (!s->cut)
		return sender_uncut(s);
	/* This parcel was taken before the cut was made. */
	if (s->cutting)
		cut_begin(s->cut, &s->hold[s->hold_first].parcel);
	return SENDER_STEP;
}

/* ---- while there is one ---------------------------------------------- */

static int
hungry(struct packet_sender *s)
{
	int64_t now = clock_steady();

	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	if (!s->hunger)
		s->hunger = now;
	show(s, now - s->hunger > HUNGRY ? SENDER_WAITING : SENDER_SENDING);
	sender_wait(s, 0, true);
	return 0;
}

static int
pause_step(struct packet_sender *s)
{
	int err = sender_keep(s);

	if (err != SENDER_STEP)
		return err;
	show(s, SENDER_PAUSED);
	pacer_rest(&s->pacer);
	sender_wait(s, 0, true);
	return 0;
}

static int
send_step(struct packet_sender *s)
{
	int err;

	if (s->paused)
		return pause_step(s);
	if (!s->cutting) {
		err = sender_take(s);
		if (err == -ENODATA)
			return SENDER_STEP;
		if (err == -ETIMEDOUT)
			return hungry(s);
		if (err == -EBUSY)
			return sender_press(s);
		if (err)
			return err;
		cut_begin(
		    s->cut,
		    &s->hold[(s->hold_first + s->holds - 1) % SENDER_HOLDS]
			 .parcel);
	}
	show(s, s->away ? SENDER_CONNECTING : SENDER_SENDING);
	err = sender_give(s);
	return err && err != -ENODATA ? sender_said(s, err) : 0;
}

/* Sends the rest.  SENDER_STEP: the peer has all, or wants some again; 0: call
 * again; or -errno. */
static int
finish_step(struct packet_sender *s)
{
	struct send_facts facts = { 0 };
	int err = s->args.ops->finish(s->plugin);

	if (!err)
		return SENDER_STEP;
	if (err == -ERESTART) {
		err = sender_back(s);
		return err ? err : SENDER_STEP;
	}
	if (err != -EAGAIN)
		return sender_said(s, err);
	s->args.ops->facts(s->plugin, &facts);
	if (!facts.connections)
		return sender_lost(s);
	sender_there(s);
	show(s, SENDER_FINISHING);
	sender_wait(s, 0, true);
	return 0;
}

/* ---- all of it ------------------------------------------------------- */

/* Repeats a step, with round_begin before it, until it is done. */
static int
steps(struct packet_sender *s, int (*step)(struct packet_sender *s))
{
	int err = 0;

	while (!err) {
		err = round_begin(s);
		if (!err)
			err = step(s);
	}
	return err == SENDER_STEP ? 0 : err;
}

static int
transfer(struct packet_sender *s)
{
	int err = steps(s, sender_learn);

	if (err)
		return err;
	err = sender_open(s);
	if (!err)
		err = steps(s, connect_step);
	/* The peer may want packets again when it should have all. */
	do {
		s->again = false;
		if (!err)
			err = steps(s, send_step);
		if (!err)
			err = steps(s, finish_step);
	} while (!err && s->again);
	return err;
}

/* Says in a sentence what the peer did not get. */
static void
lacks_say(struct packet_sender *s)
{
	const struct sender_facts *f = &s->base.facts;
	int n = 0;

	s->base.facts.why[0] = '\0';
	if (f->unreadable)
		n = snprintf(s->base.facts.why, sizeof f->why,
			     "%llu packets cannot be read",
			     (unsigned long long)f->unreadable);
	if (f->dropped)
		n += snprintf(s->base.facts.why + n, sizeof f->why - (size_t)n,
			      "%s%llu packets found no room", n ? ", " : "",
			      (unsigned long long)f->dropped);
	if (f->send.lost)
		snprintf(s->base.facts.why + n, sizeof f->why - (size_t)n,
			 "%s%llu packets were not sent", n ? ", " : "",
			 (unsigned long long)f->send.lost);
}

/* True if a part was chosen that the recording has nothing of.  Not known if
 * the peer had all of it before. */
static bool
is_nothing(const struct packet_sender *s)
{
	const struct send_choice *c = &s->args.choice;
	const struct sender_facts *f = &s->base.facts;

	if (!c->from_ns && !c->to_ns && !c->from_byte && !c->to_byte &&
	    !c->threads_n)
		return false;
	return !s->went_back && !f->packets && !f->there && !f->missing &&
	       !f->unreadable && !f->dropped && !f->send.lost;
}

static void
close_all(struct packet_sender *s)
{
	/* Copy the facts of source and plugin a last time. */
	s->base.show_at = 0;
	show(s, s->base.facts.state);
	if (s->plugin)
		s->args.ops->close(s->plugin);
	s->plugin = NULL;
	sender_put_all(s);
	sender_into(&s->base);
	source_close(s->source);
	sender_out(&s->base);
	s->source = NULL;
	cut_free(s->cut);
	s->cut = NULL;
}

static enum sender_state
run(struct sender *sender)
{
	struct packet_sender *s = (struct packet_sender *)sender;
	int err;

	sender_there(s);
	err = transfer(s);
	close_all(s);
	if (!err && is_nothing(s)) {
		sender_why(s, "%s has nothing of what was chosen",
			   s->args.name);
		return SENDER_FAILED;
	}
	if (!err) {
		lacks_say(s);
		return SENDER_DONE;
	}
	if (err == -ECANCELED) {
		s->base.facts.why[0] = '\0';
		return SENDER_STOPPED;
	}
	return SENDER_FAILED;
}

/* ---- the event loop -------------------------------------------------- */

/* Makes the ID of the transfer.  The choice is a part of it: packets of another
 * choice have other numbers, and the peer must not take them for these. */
static uint64_t
transfer_of(const struct sender_args *a)
{
	const struct send_choice *c = &a->choice;
	uint64_t numbers[] = {
		(uint64_t)c->from_ns, (uint64_t)c->to_ns, c->from_byte,
		c->to_byte,	      c->strip,		  c->headers_off
	};
	uint64_t hash = a->transfer, plain = 0;

	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
		plain |= numbers[i];
	while (!hash)
		if (getrandom(&hash, sizeof hash, 0) < 0)
			hash = (uint64_t)clock_now();
	if (plain || c->threads_n || c->sub > 0) {
		hash = bytes_hash(hash, numbers, sizeof numbers);
		hash = bytes_hash(hash, c->threads,
				  c->threads_n * sizeof *c->threads);
		hash = bytes_hash(hash, &c->sub, sizeof c->sub);
	}
	return hash ? hash : 1;
}

static void *
copy_of(const void *data, size_t bytes, bool *failed)
{
	void *copy = data ? malloc(bytes + 1) : NULL;

	if (!data)
		return NULL;
	if (copy)
		memcpy(copy, data, bytes);
	*failed |= !copy;
	return copy;
}

static char *
text_of(const char *text, bool *failed)
{
	return copy_of(text, text ? strlen(text) + 1 : 0, failed);
}

static int
args_copy(struct packet_sender *s, const struct sender_args *args)
{
	struct sender_args *a = &s->args;
	bool failed = false;

	*a = *args;
	a->transfer = transfer_of(args);
	a->patience = args->patience ? args->patience : SENDER_PATIENCE;
	a->name = text_of(args->name, &failed);
	a->to = text_of(args->to, &failed);
	a->about = text_of(args->about, &failed);
	a->secret = copy_of(args->secret, args->secret_bytes, &failed);
	a->choice.threads =
	    copy_of(args->choice.threads,
		    args->choice.threads_n * sizeof(uint32_t), &failed);
	return failed ? -ENOMEM : 0;
}

static void
destroy(struct sender *sender)
{
	struct packet_sender *s = (struct packet_sender *)sender;

	if (s->args.secret)
		explicit_bzero((void *)s->args.secret, s->args.secret_bytes);
	free((void *)s->args.name);
	free((void *)s->args.to);
	free((void *)s->args.about);
	free((void *)s->args.secret);
	free((void *)s->args.choice.threads);
	free(s);
}

static const struct sender_work packets = { .run = run, .free = destroy };

int
sender_start(struct sender **sender, const struct sender_args *args,
	     struct fault *fault)
{
	struct packet_sender *s = calloc(1, sizeof *s);
	int err = s ? args_copy(s, args) : -ENOMEM;

	if (!err) {
		s->base.changed = args->changed;
		s->base.arg = args->arg;
		s->source = args->source;
		s->asked = args->rate;
		pacer_init(&s->pacer, args->rate);
		show(s, SENDER_CONNECTING);
		err = sender_run(&s->base, &packets, args->rate);
	}
	if (!err) {
		*sender = &s->base;
		return 0;
	}
	source_close(args->source);
	if (s)
		destroy(&s->base);
	fault_set(fault, err, err == -ENOMEM ? "no-memory" : "internal",
		  "cannot send %s to %s", args->name, args->to);
	fault_why(fault, "its thread does not start: %s", strerror(-err));
	return err;
}
