/* SPDX-License-Identifier: MIT */
/*
 * Packets of one source come in the order of their stamps but for what the
 * queues of a network card shift, and in the order of their data but for what
 * the network shifts: far less than NEAR in both cases.  So if the first and
 * the last packet of a batch are on one side, and farther than NEAR from both
 * edges, so are all between them.
 *
 * A batch is a number of packets, not a time: if packets are rare, its first
 * and last may be far apart with an edge between them; then they are on two
 * sides, and each packet is looked at.
 */
#include "flow/place/time_window.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "flow/place/learn.h"

/* ---- when packets came ------------------------------------------------- */

/*
 * Both clocks are read in every pass, which takes some 50 ns, so that a step is
 * known before any packet stamped after it is looked at.  UTC is read between
 * two readings of the steady clock, because the thread may be held up in
 * between: the distance of these two is the possible error of the offset, and a
 * change within it is ignored.  Offset changes below STEP are a clock that is
 * slewed, at most 0.5 ms a second.
 *
 * Choice of the offset for a stamp, with D the step, noticed at S:
 *
 *   forward  with the new offset, a stamp from before the step comes out D
 *            too early, and so before S: the old offset is right
 *   back     with the new offset, a stamp from before the step comes out D
 *            too late, mostly in the future: the old offset is right
 *
 * A clock that is set back has two moments of the same name, which nobody can
 * tell apart once both have passed.  Packets that waited in a socket for as
 * long as the step get a wrong time, and so do those that waited while it was
 * set back by less than FUTURE.  A leap second is a step back by one second.
 *
 * A stamp that fits neither offset comes from a step during this very pass.
 */

enum {
	LOOKS = 3,	/* attempts to read the clocks without being held up */
	HELD = 5000,	/* ns between the readings that count as held up */
	STEP = 1000000, /* ns of change that count as a step */
	/* Time that one pass, which began at `now`, may go on receiving. */
	FUTURE = 500000000, /* ns */
};

void
arrival_set(struct arrival *a, int64_t utc, int64_t steady, int64_t within)
{
	int64_t offset = utc - (steady + within / 2);
	int64_t by = offset - a->offset;

	if (a->known && by >= -within && by <= within && within > HELD)
		return;
	if (a->known && (by < -STEP - within || by > STEP + within)) {
		a->before = a->offset;
		a->stepped = steady;
	}
	a->offset = offset;
	a->known = true;
}

int64_t
arrival_look(struct arrival *a)
{
	int64_t from, utc, to;
	unsigned looks = 0;

	do {
		from = clock_steady();
		utc = clock_now();
		to = clock_steady();
	} while (to - from > HELD && ++looks < LOOKS);
	arrival_set(a, utc, from, to - from);
	return to;
}

static bool
is_possible(int64_t at, int64_t now)
{
	return at <= now + FUTURE && at >= now - ARRIVAL_OLD;
}

/* True if a packet was stamped before the last step.  `at` and `was` are its
 * steady time by the offsets after and before the step. */
static bool
is_before_step(const struct arrival *a, int64_t at, int64_t was, int64_t now)
{
	if (!a->stepped || was > a->stepped || !is_possible(was, now))
		return false;
	if (!is_possible(at, now))
		return true;
	return a->offset > a->before && at < a->stepped;
}

int64_t
arrival_time(const struct arrival *a, int64_t stamp, int64_t now)
{
	int64_t at = stamp - a->offset, was = stamp - a->before;

	if (!stamp)
		return now;
	if (is_before_step(a, at, was, now))
		at = was;
	else if (!is_possible(at, now))
		return now;
	return at;
}

/* ---- the time window --------------------------------------------------- */

#define NEAR_ARRIVAL INT64_C(100000000) /* ns */
#define NEAR_DATA    NS_SECOND		/* ns */

static bool
is_near(int64_t edge, int64_t ns, int64_t near)
{
	int64_t off;

	if (__builtin_sub_overflow(ns, edge, &off))
		return false;
	return off >= -near && off <= near;
}

/* Finds the time of a packet's data, UTC ns.  False if it tells none. */
static bool
data_time(const struct time_window_state *eye, const struct receive_packet *k,
	  int64_t *ns)
{
	const struct format_shape *s = eye->shape;
	struct format_shape known = { .fps = s->fps };
	struct format_packet p;

	if (!eye->format->parse || k->flags & (RECEIVE_FOREIGN | RECEIVE_CUT) ||
	    k->bytes != s->prefix + s->payload)
		return false;
	eye->format->parse(s, k->prefix, k->payload, &p);
	if (!(p.has & FORMAT_TIME))
		return false;
	if (!known.fps && eye->fps)
		known.fps =
		    atomic_load_explicit(eye->fps, memory_order_relaxed);
	if (known.fps == LEARN_WAIT)
		known.fps = 0;
	*ns = format_time_ns(&known, &p);
	return true;
}

static bool
packet_time(const struct time_window *g, const struct time_window_state *eye,
	    const struct receive_packet *k, int64_t *ns)
{
	if (g->data)
		return data_time(eye, k, ns);
	*ns = arrival_time(eye->arrival, k->arrived, eye->now);
	return true;
}

/* Returns the side of a packet, or TIME_MIXED if it tells no time.  *near is
 * true if its neighbours may be on another side. */
static enum time_side
packet_side(const struct time_window *g, const struct time_window_state *eye,
	    const struct receive_packet *k, bool *near)
{
	int64_t least = g->data ? NEAR_DATA : NEAR_ARRIVAL, ns;

	*near = false;
	if (!packet_time(g, eye, k, &ns))
		return TIME_MIXED;
	*near = is_near(g->open, ns, least) || is_near(g->close, ns, least);
	return time_window_side(g, ns);
}

/* Returns the side of the first and the last packet that tell a time, if they
 * agree; else TIME_MIXED.  If no packet tells a time, all join the packet
 * before the batch. */
static enum time_side
ends_look(const struct time_window *g, struct time_window_state *eye,
	  const struct receive_packet *packet, unsigned n)
{
	enum time_side first = TIME_MIXED, last = TIME_MIXED;
	bool near = false;
	unsigned i = 0;

	while (i < n && first == TIME_MIXED)
		first = packet_side(g, eye, &packet[i++], &near);
	if (first == TIME_MIXED)
		return eye->last;
	/* Packets without a time at the head of the batch join the batch
	 * before, which may be on another side. */
	if (near || (i > 1 && first != eye->last))
		return TIME_MIXED;
	while (n-- > i && last == TIME_MIXED)
		last = packet_side(g, eye, &packet[n], &near);
	if (last == TIME_MIXED)
		last = first;
	return near || last != first ? TIME_MIXED : first;
}

static enum time_side
each_look(const struct time_window *g, struct time_window_state *eye,
	  const struct receive_packet *packet, unsigned n, uint8_t *side)
{
	bool mixed = false;
	int64_t ns;

	for (unsigned i = 0; i < n; i++) {
		if (packet_time(g, eye, &packet[i], &ns))
			eye->last = time_window_side(g, ns);
		side[i] = (uint8_t)eye->last;
		mixed |= side[i] != side[0];
	}
	return mixed ? TIME_MIXED : eye->last;
}

enum time_side
time_window_split(const struct time_window *g, struct time_window_state *eye,
		  const struct receive_packet *packet, unsigned n,
		  uint8_t *side)
{
	enum time_side all;

	if (g->open == INT64_MIN && g->close == INT64_MAX)
		return TIME_IN;
	all = ends_look(g, eye, packet, n);
	if (all == TIME_MIXED)
		return each_look(g, eye, packet, n, side);
	eye->last = all;
	return all;
}

void
time_window_pick(struct time_window_picked *to,
		 const struct receive_packet *packet, const uint8_t *side,
		 unsigned n, enum time_side which)
{
	to->n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (side[i] != which)
			continue;
		to->packet[to->n] = packet[i];
		to->from[to->n++] = (int16_t)i;
	}
}
