/* SPDX-License-Identifier: MIT */
/*
 * Each event of a packet is drawn from a hash of (seed, kind of event,
 * packet).  A generator with state would tie one kind of event to another; this
 * way a stream with loss and one with loss and swaps lose the same packets.
 *
 * One packet at a time is held back.  A draw that would hold another one
 * meanwhile has no effect, so `swapped` counts packets that each came late by
 * exactly the number of packets that overtook them.
 *
 * Packets go out in bursts of a millisecond's worth, which are cut into trains.
 * A burst begins at the time that its first packet has in the ideal stream,
 * counted from the start, so that errors of sleeping do not add up.  Packets
 * left out on purpose take their time, too: the network loses them, not the
 * sender.
 *
 * A sender that was kept from running catches up at most a tenth of a second;
 * anything later than that delays the rest of the stream.  A longer catch-up
 * would be a burst that no switch or receiver has to bear in reality.
 *
 * When the time is over, or on a signal, all streams end as soon as they can: a
 * stream of heaps finishes the heap that it has begun.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "cli/gen/gen_sender.h"
#include "cli/gen/gen_source.h"

/* ---- the plan ------------------------------------------------------ */

enum fate { LOSE = 1, DOUBLE, HOLD, DISTANCE };

static uint64_t
draw(const struct gen_plan *p, enum fate fate, uint64_t packet)
{
	return mix64(mix64(p->chances.seed + fate) ^ packet);
}

static bool
happens(const struct gen_plan *p, enum fate fate, double chance,
	uint64_t packet)
{
	if (chance <= 0)
		return false;
	return (double)(draw(p, fate, packet) >> 11) < chance * 0x1p53;
}

static bool
is_guarded(const struct gen_plan *p, uint64_t packet)
{
	return packet < GEN_GUARD || p->packets - packet <= GEN_GUARD;
}

void
gen_plan_init(struct gen_plan *p, const struct gen_chances *chances,
	      uint64_t packets)
{
	*p = (struct gen_plan){ .chances = *chances, .packets = packets };
	if (!p->chances.displace)
		p->chances.displace = 1;
}

void
gen_plan_end(struct gen_plan *p, uint64_t packets)
{
	if (p->packets > packets)
		p->packets = packets;
}

static bool
send(struct gen_plan *p, uint64_t *packet, uint64_t which)
{
	p->last = which;
	p->sent++;
	*packet = which;
	return true;
}

/*
 * Tells whether the held packet must go now: enough packets have passed it, or
 * the guarded end begins.
 */
static bool
is_due(const struct gen_plan *p)
{
	return p->behind && (p->passed == p->behind || p->next >= p->packets ||
			     is_guarded(p, p->next));
}

static bool
release(struct gen_plan *p, uint64_t *packet)
{
	p->swapped += p->passed > 0;
	p->behind = 0;
	return send(p, packet, p->held);
}

static void
hold(struct gen_plan *p, uint64_t packet)
{
	p->held = packet;
	p->passed = 0;
	p->behind =
	    1 + (uint32_t)(draw(p, DISTANCE, packet) % p->chances.displace);
}

/* Tells whether this packet is sent now, and counts what happens to it. */
static bool
is_sent(struct gen_plan *p, uint64_t packet)
{
	if (is_guarded(p, packet))
		return true;
	if (happens(p, LOSE, p->chances.loss, packet)) {
		p->lost++;
		return false;
	}
	if (happens(p, DOUBLE, p->chances.duplicate, packet)) {
		p->duplicated++;
		p->again = true;
		return true;
	}
	if (p->behind || !happens(p, HOLD, p->chances.reorder, packet))
		return true;
	hold(p, packet);
	return false;
}

bool
gen_plan_next(struct gen_plan *p, uint64_t *packet)
{
	if (p->again) {
		p->again = false;
		return send(p, packet, p->last);
	}
	while (p->next < p->packets) {
		if (is_due(p))
			return release(p, packet);
		if (is_sent(p, p->next++)) {
			p->passed++;
			return send(p, packet, p->next - 1);
		}
	}
	return is_due(p) ? release(p, packet) : false;
}

/* ---- the sender ---------------------------------------------------- */

#define BURST	 (NS_SECOND / 1000)
#define CATCH_UP (NS_SECOND / 10)

static int64_t
due_ns(const struct gen_sender *s, uint64_t packet)
{
	int64_t ns = (int64_t)((double)packet * s->packet_ns);

	return s->start_ns + ns + (int64_t)((double)ns * s->drift) +
	       ns / GEN_STEP * s->step_ns;
}

static void
wait_until(const struct gen_sender *s, int64_t ns)
{
	const struct timespec t = { ns / NS_SECOND, ns % NS_SECOND };

	while (!*s->stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t,
					    NULL) == EINTR)
		;
}

/* Notes that a burst that is due by now was late. */
static void
late_note(struct gen_sender *s, int64_t due, int64_t late)
{
	struct gen_late *l = &s->late[s->lates];

	if (late > s->late_ns)
		s->late_ns = late;
	if (late < GEN_LATE)
		return;
	if (s->lates &&
	    (s->lates == GEN_LATES || due - l[-1].to < 2 * NS_SECOND))
		l--;
	else
		s->late[s->lates++] = (struct gen_late){ .from = due };
	l->to = due + late;
	if (late > l->most_ns)
		l->most_ns = late;
}

static void
burst_begin(struct gen_sender *s)
{
	int64_t due = due_ns(s, s->next);
	int64_t late = clock_steady() - due;

	late_note(s, due, late);
	if (late < 0)
		wait_until(s, due);
	else if (late > CATCH_UP && !s->exact_ns)
		s->start_ns += late;
	s->burst_end = s->next + s->burst;
}

static bool
burst_is_over(const struct gen_sender *s)
{
	return s->rate && s->next >= s->burst_end;
}

/*
 * Tells whether a packet can join the train: ready datagrams lie in a ring, so
 * the packets of a train must be less than source->ready apart.
 */
static bool
fits(const struct gen_sender *s, uint64_t packet, uint64_t *low, uint64_t *high)
{
	uint64_t from = packet < *low ? packet : *low;
	uint64_t to = packet > *high ? packet : *high;

	if (to - from >= s->source->ready)
		return false;
	*low = from;
	*high = to;
	return true;
}

static bool
packet_take(struct gen_sender *s, struct gen_port *port, uint64_t *packet)
{
	uint64_t before = port->plan.next;
	bool more;

	if (!port->waits) {
		more = gen_plan_next(&port->plan, packet);
		s->next += port->plan.next - before;
		return more;
	}
	port->waits = false;
	*packet = port->waiting;
	return true;
}

/* Adds a packet to the train; returns its bytes. */
static uint64_t
packet_add(struct gen_sender *s, uint64_t packet)
{
	struct gen_train *t = &s->train;
	struct iovec *iov = t->iov + t->iovs;
	unsigned pieces = s->source->ops->make(s->source, s->turn, packet, iov);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < pieces; i++)
		bytes += iov[i].iov_len;
	t->number[t->n] = packet;
	t->pieces[t->n++] = (uint8_t)pieces;
	t->iovs += pieces;
	return bytes;
}

/* Returns how many packets a port sends in its turn. */
static uint64_t
turn_most(const struct gen_sender *s)
{
	uint64_t train = s->socket->train;

	return s->rate && s->burst < train ? s->burst : train;
}

/*
 * Makes a train of at least one packet, unless the port's plan has ended;
 * returns its bytes.  A shorter packet ends a train, because the kernel takes
 * it only there.  If the end of a burst cuts a train, the rest goes with the
 * next burst in the same turn; otherwise the same ports would always get short
 * trains.
 */
static uint64_t
train_make(struct gen_sender *s)
{
	struct gen_port *port = &s->port[s->turn];
	uint64_t packet, low = 0, high = 0, bytes = 0, one = s->source->most;
	uint64_t most = turn_most(s);

	s->train.n = s->train.iovs = 0;
	while (s->taken < most && one == s->source->most &&
	       packet_take(s, port, &packet)) {
		if (!s->train.n)
			low = high = packet;
		if (!fits(s, packet, &low, &high)) {
			port->waits = true;
			port->waiting = packet;
			break;
		}
		one = packet_add(s, packet);
		bytes += one;
		s->taken++;
		if (burst_is_over(s) && one == s->source->most)
			return bytes; /* the turn goes on in the next burst */
	}
	s->taken = most;
	return bytes;
}

/*
 * Passes the turn to the next port, unless this one is not done: with by_heap,
 * not before its heap ends.
 */
static void
turn_pass(struct gen_sender *s, uint64_t heap)
{
	const struct gen_source_ops *ops = s->source->ops;
	const struct gen_plan *plan = &s->port[s->turn].plan;

	if (s->taken < turn_most(s))
		return;
	s->taken = 0;
	if (s->by_heap && plan->next < plan->packets &&
	    ops->heap(s->source, s->turn, plan->next) == heap)
		return;
	s->turn = (s->turn + 1) % s->ports;
}

static void
start(struct gen_sender *s)
{
	double bits = 8.0 * s->source->mean;

	s->bytes = s->next = s->burst_end = 0;
	s->turn = s->taken = 0;
	s->ending = false;
	s->packet_ns = s->rate ? bits * NS_SECOND / (double)s->rate : 0;
	s->burst = s->rate ? (uint64_t)(BURST / s->packet_ns) : 0;
	if (!s->burst)
		s->burst = 1;
	s->start_ns = clock_steady();
	if (s->exact_ns) {
		s->packet_ns = s->exact_ns;
		s->burst = 1;
		s->start_ns = s->begin_ns;
	}
}

static void
end_all(struct gen_sender *s)
{
	s->ending = true;
	for (unsigned i = 0; i < s->ports; i++) {
		struct gen_plan *plan = &s->port[i].plan;

		if (plan->next < plan->packets)
			gen_plan_end(plan, s->source->ops->end(s->source, i,
							       plan->next + 1));
	}
}

static bool
is_over(const struct gen_sender *s, int64_t since)
{
	return *s->stop || (s->most_ns && clock_steady() - since >= s->most_ns);
}

static int
train_send(struct gen_sender *s)
{
	const struct gen_source_ops *ops = s->source->ops;
	const struct gen_plan *plan = &s->port[s->turn].plan;
	uint64_t heap = ops->heap(s->source, s->turn, plan->next);
	uint64_t bytes = train_make(s);
	int err;

	if (!bytes) {
		s->turn = (s->turn + 1) % s->ports;
		s->taken = 0;
		return -ENODATA;
	}
	err = gen_socket_send(s->socket, s->turn, &s->train);
	if (!err)
		s->bytes += bytes;
	turn_pass(s, heap);
	return err;
}

int
gen_sender_run(struct gen_sender *s)
{
	unsigned idle = 0; /* ports in a row whose plans have ended */
	int64_t since;
	int err = 0;

	start(s);
	since = s->start_ns;
	while (!err && idle < s->ports) {
		if (burst_is_over(s))
			burst_begin(s);
		err = train_send(s);
		idle = err == -ENODATA ? idle + 1 : 0;
		if (err == -ENODATA)
			err = 0;
		if (!s->ending && is_over(s, since))
			end_all(s);
	}
	s->elapsed_ns = clock_steady() - since;
	return err;
}
