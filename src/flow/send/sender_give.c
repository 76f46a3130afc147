/* SPDX-License-Identifier: MIT */
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
#include <errno.h>

#include "flow/send/sender_priv.h"

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
is_timed(const struct sender *s)
{
	const struct send_ops *ops = s->args.ops;

	return ops->head.flags & SEND_TIMED && ops->timed &&
	       ops->timed(s->plugin);
}

/* Returns how many packets of a run may go now. */
static uint32_t
may(const struct sender *s, struct offer *o, const struct send_run *r,
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
offer_make(struct sender *s, struct offer *o, const struct send_run *run,
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
took(struct sender *s, const struct offer *o, const struct send_run *run,
     uint64_t packets)
{
	uint64_t left = packets, bytes = 0;

	for (unsigned i = 0; i < o->runs && left; i++) {
		const struct send_run *r = &s->offer[i];
		uint32_t n = left < r->packets ? (uint32_t)left : r->packets;

		bytes += (uint64_t)n * bytes_of(r);
		s->facts.time_ns = r->time_ns;
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
	s->facts.packets += packets;
	s->idle = 0;
	sender_went(s, bytes);
	cut_took(s->cut, packets);
}

static int
send(struct sender *s, const struct send_run *run, unsigned n)
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

int
sender_give(struct sender *s)
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
