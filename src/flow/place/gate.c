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
#include "base/clock.h"
#include "flow/place/gate.h"

#include <stdatomic.h>

#include "flow/place/learn.h"

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
data_time(const struct gate_eye *eye, const struct receive_packet *k,
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
packet_time(const struct gate *g, const struct gate_eye *eye,
	    const struct receive_packet *k, int64_t *ns)
{
	if (g->data)
		return data_time(eye, k, ns);
	*ns = arrival_time(eye->arrival, k->arrived, eye->now);
	return true;
}

/* Returns the side of a packet, or GATE_MIXED if it tells no time.  *near is
 * true if its neighbours may be on another side. */
static enum gate_side
packet_side(const struct gate *g, const struct gate_eye *eye,
	    const struct receive_packet *k, bool *near)
{
	int64_t least = g->data ? NEAR_DATA : NEAR_ARRIVAL, ns;

	*near = false;
	if (!packet_time(g, eye, k, &ns))
		return GATE_MIXED;
	*near = is_near(g->open, ns, least) || is_near(g->close, ns, least);
	return gate_side(g, ns);
}

/* Returns the side of the first and the last packet that tell a time, if they
 * agree; else GATE_MIXED.  If no packet tells a time, all join the packet
 * before the batch. */
static enum gate_side
ends_look(const struct gate *g, struct gate_eye *eye,
	  const struct receive_packet *packet, unsigned n)
{
	enum gate_side first = GATE_MIXED, last = GATE_MIXED;
	bool near = false;
	unsigned i = 0;

	while (i < n && first == GATE_MIXED)
		first = packet_side(g, eye, &packet[i++], &near);
	if (first == GATE_MIXED)
		return eye->last;
	/* Packets without a time at the head of the batch join the batch
	 * before, which may be on another side. */
	if (near || (i > 1 && first != eye->last))
		return GATE_MIXED;
	while (n-- > i && last == GATE_MIXED)
		last = packet_side(g, eye, &packet[n], &near);
	if (last == GATE_MIXED)
		last = first;
	return near || last != first ? GATE_MIXED : first;
}

static enum gate_side
each_look(const struct gate *g, struct gate_eye *eye,
	  const struct receive_packet *packet, unsigned n, uint8_t *side)
{
	bool mixed = false;
	int64_t ns;

	for (unsigned i = 0; i < n; i++) {
		if (packet_time(g, eye, &packet[i], &ns))
			eye->last = gate_side(g, ns);
		side[i] = (uint8_t)eye->last;
		mixed |= side[i] != side[0];
	}
	return mixed ? GATE_MIXED : eye->last;
}

enum gate_side
gate_split(const struct gate *g, struct gate_eye *eye,
	   const struct receive_packet *packet, unsigned n, uint8_t *side)
{
	enum gate_side all;

	if (g->open == INT64_MIN && g->close == INT64_MAX)
		return GATE_IN;
	all = ends_look(g, eye, packet, n);
	if (all == GATE_MIXED)
		return each_look(g, eye, packet, n, side);
	eye->last = all;
	return all;
}

void
gate_pick(struct gate_picked *to, const struct receive_packet *packet,
	  const uint8_t *side, unsigned n, enum gate_side which)
{
	to->n = 0;
	for (unsigned i = 0; i < n; i++) {
		if (side[i] != which)
			continue;
		to->packet[to->n] = packet[i];
		to->from[to->n++] = (int16_t)i;
	}
}
