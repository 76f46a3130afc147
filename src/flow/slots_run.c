/* SPDX-License-Identifier: MIT */
/*
 * When a run begins, and what becomes of packets that would not fit into
 * the one there is.
 *
 * A counter that restarts, or jumps, comes as packets far from the window:
 * they are parked as candidates (candidate.c).  But it may also restart
 * where the window still is, in the first blocks of a recording.  Then its
 * packets find their slots taken, one after the other, while no packet comes
 * ahead of those that were there: an echo.  Thirty-two in a row are the next
 * run; a single packet that goes on where the stream was proves them to be
 * duplicates, of a second cable, and they are counted as such.  A packet that
 * falls into a hole of the run in the middle of an echo is parked with it,
 * because it may be of the other pass, and finds its hole if it was not.
 */
#include <string.h>

#include "flow/slots_priv.h"

/* Of a block that was closed?  Counted from here: the base may be more than
 * half a counter away. */
static bool
packet_late(const struct slots *p, uint64_t sequence)
{
	const struct window *w = &p->window;
	int64_t ahead = sequence_distance(w->base + w->origin, sequence,
					  p->a.shape->sequence_bits);

	return w->running && ahead < 0 && 0 - (uint64_t)ahead <= w->origin;
}

static void
candidate_dissolve(struct slots *p, struct candidate *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		bool late = packet_late(p, c->packet[i].sequence);

		p->base.counts.drop[late ? DROP_LATE : DROP_OUT_OF_WINDOW]++;
	}
	c->n = 0;
}

static uint8_t *
slot_give(struct slots *p, uint64_t rel, bool readable)
{
	uint64_t off = rel - p->window.origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = window_block(&p->window, i);
	uint64_t bit = 1ull << slot % 64;

	if (rel >= p->window.highest)
		p->window.highest = rel + 1;
	else if (b && !block_has(b, slot))
		p->base.counts.reordered++;
	if (!b) {
		p->base.counts.drop[DROP_NO_BUFFER]++;
		return NULL;
	}
	if (b->present[slot / 64] & bit) {
		p->base.counts.drop[DROP_DUPLICATE]++;
		return NULL;
	}
	b->present[slot / 64] |= bit;
	if (b->filled++ == 0) {
		b->first_ns = p->now_ns;
		p->window.born[i] = p->now;
	}
	b->last_ns = p->now_ns;
	if (b->used <= slot)
		b->used = slot + 1;
	p->base.counts.placed++;
	p->base.counts.bytes += p->payload;
	p->base.counts.unreadable += !readable;
	return block_slot(b, slot);
}

uint8_t *
slots_give(struct slots *p, uint64_t rel, bool readable)
{
	if (rel - p->window.origin >= (uint64_t)WINDOW_OPEN * p->slots)
		window_forward(&p->window, rel - p->window.origin);
	return slot_give(p, rel, readable);
}

/* ---- echoes ---------------------------------------------------------- */

/* Relative to the run; only of sequences near the window. */
static uint64_t
relative(const struct slots *p, uint64_t sequence)
{
	const struct window *w = &p->window;

	return w->highest +
	       (uint64_t)sequence_distance(w->base + w->highest, sequence,
					   p->a.shape->sequence_bits);
}

static bool
slot_taken(const struct slots *p, uint64_t rel)
{
	uint64_t off = rel - p->window.origin;
	const struct block *b = p->window.open[off / p->slots];

	return b && block_has(b, (uint32_t)(off % p->slots));
}

/* Some had fallen into holes of the run: those are simply late. */
void
slots_echo_dissolve(struct slots *p)
{
	struct candidate *c = &p->echo;

	for (unsigned i = 0; i < c->n; i++) {
		struct candidate_packet *k = &c->packet[i];
		uint64_t rel = relative(p, k->sequence);
		uint8_t *to = slots_give(p, rel, k->readable);

		if (!to)
			continue; /* counted as a duplicate */
		p->echoed = true;
		p->base.counts.moved++;
		if (p->moved_on)
			moves_add_outside(p->moves, k->payload, MOVES_NOWHERE,
					  to);
		else
			moves_add(p->moves, k->payload, MOVES_NOWHERE, to, rel);
	}
	c->n = 0;
}

/* ---- runs ------------------------------------------------------------ */

/* Parked packets go to their slots, as if they had come just now. */
static void
run_begin(struct slots *p, struct candidate *c)
{
	uint64_t base;

	if (c != &p->echo)
		slots_echo_dissolve(p);
	window_end(&p->window);
	p->moved_on = true;
	if (!candidate_base(c, p->parts, &base)) {
		p->base.counts.drop[DROP_BEFORE_START] += c->n;
		c->n = 0;
		return;
	}
	window_begin(&p->window, (uint32_t)p->base.counts.runs++, base);
	p->reached = 0;
	for (unsigned i = 0; i < c->n; i++) {
		struct candidate_packet *k = &c->packet[i];
		int64_t rel = sequence_distance(base, k->sequence, c->bits);
		uint8_t *to = NULL;

		if (rel < 0)
			p->base.counts.drop[DROP_BEFORE_START]++;
		else if ((uint64_t)rel < p->window.origin)
			p->base.counts.drop[DROP_LATE]++;
		else
			to = slots_give(p, (uint64_t)rel, k->readable);
		if (to) {
			memcpy(to, k->payload, p->payload);
			p->base.counts.moved++;
		}
	}
	c->n = 0;
	p->reached = p->window.highest;
}

/* What follows from candidate_add's answer. */
static void
park(struct slots *p, struct candidate *c, const struct receive_packet *k,
     const struct format_packet *f)
{
	enum candidate_answer a = candidate_add(c, f->sequence, p->now);
	struct candidate_packet *parked;

	if (a == CANDIDATE_STRANGER) {
		candidate_dissolve(p, c);
		a = candidate_add(c, f->sequence, p->now);
	}
	if (a == CANDIDATE_DUPLICATE) {
		p->base.counts.drop[DROP_DUPLICATE]++;
		return;
	}
	parked = &c->packet[c->n - 1];
	parked->part = f->has & FORMAT_PART ? (int32_t)f->part : -1;
	parked->readable = f->has & FORMAT_READABLE;
	memcpy(parked->payload, k->payload, p->payload);
	if (a == CANDIDATE_ENOUGH)
		run_begin(p, c);
}

void
slots_park(struct slots *p, const struct receive_packet *k,
	   const struct format_packet *f)
{
	p->parked = true;
	park(p, candidate_choose(p->candidate, f->sequence), k, f);
}

/* Behind the last that was parked, and near? */
static bool
echo_goes_on(const struct candidate *c, uint64_t sequence)
{
	int64_t d;

	if (!c->n)
		return false;
	d = sequence_distance(c->packet[c->n - 1].sequence, sequence, c->bits);
	return d > 0 && d < CANDIDATE_AGREE;
}

bool
slots_echo(struct slots *p, uint64_t rel, const struct receive_packet *k,
	   const struct format_packet *f)
{
	if (rel >= p->window.highest || p->echoed)
		return false;
	if (!slot_taken(p, rel) && !echo_goes_on(&p->echo, f->sequence))
		return false;
	park(p, &p->echo, k, f);
	return true;
}

void
slots_oppose(struct slots *p, unsigned n, bool ahead)
{
	if (ahead && p->echo.n && p->now >= p->echo.since)
		slots_echo_dissolve(p);
	if (!p->parked)
		return;
	p->parked = false;
	for (int i = 0; i < CANDIDATES; i++) {
		if (candidate_rivals(&p->candidate[i], n, p->now))
			candidate_dissolve(p, &p->candidate[i]);
		p->parked |= p->candidate[i].n > 0;
	}
}

void
slots_run_arrival(struct slots *p)
{
	window_begin(&p->window, (uint32_t)p->base.counts.runs++, 0);
	p->moved_on = true;
}

/* Nobody contradicts it, and it is more than one packet. */
static bool
candidate_unopposed(const struct slots *p, const struct candidate *c)
{
	return c->n > 1 && (!p->window.running || c->rivals == 0);
}

/* Those that began by `since`, in that order. */
void
slots_runs_begin(struct slots *p, int64_t since)
{
	struct candidate *first;

	do {
		first = NULL;
		for (int i = 0; i < CANDIDATES; i++) {
			struct candidate *c = &p->candidate[i];

			if (candidate_unopposed(p, c) && c->since <= since &&
			    (!first || c->order < first->order))
				first = c;
		}
		if (first)
			run_begin(p, first);
	} while (first);
}

void
slots_runs_flush(struct slots *p)
{
	slots_runs_begin(p, INT64_MAX);
	for (int i = 0; i < CANDIDATES; i++) {
		struct candidate *c = &p->candidate[i];

		/* Where nothing else came, a single packet is the recording. */
		if (c->n && !p->window.running)
			run_begin(p, c);
		candidate_dissolve(p, c);
	}
	slots_echo_dissolve(p);
}
