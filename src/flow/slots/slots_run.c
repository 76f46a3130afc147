/* SPDX-License-Identifier: MIT */
/*
 * Decides when a run begins, and handles packets that do not fit into the
 * current one.
 *
 * A counter that restarts or jumps shows as packets far from the window: they
 * are parked as candidates (candidate.c).  But it may also restart inside the
 * window, in the first blocks of a recording.  Then its packets find their
 * slots taken, one after the other, while none comes ahead of the old ones: an
 * echo.  A few hundred in a row are the next run.  A single packet that
 * continues the old run at its head proves them duplicates, of a second cable,
 * and they are counted as such.  A packet that falls into a hole of the run
 * during an echo is parked with it, because it may be of the new pass, and goes
 * into its hole if it was not.
 *
 * A source that repeats what another source brought is no echo (two cables with
 * the same packets); only a source that goes back behind what it brought itself
 * is.  Nor is a source that merely lags far behind the others a restarted
 * counter: its packets that have no slot any more are late.
 */
#include <string.h>

#include "flow/slots/slots_priv.h"

/* True if the sequence is in a block that was closed.  The distance is taken
 * from the origin: the run's base may be more than half a counter away. */
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
		const struct candidate_packet *k = candidate_at(c, i);
		bool late = packet_late(p, k->sequence);

		p->base.counts.drop[late ? DROP_LATE : DROP_OUT_OF_WINDOW]++;
		parking_put(&p->parking, k->at);
	}
	c->n = 0;
}

/* Counts a packet of the first block, which has left the window already. */
static void
gone_drop(struct slots *p)
{
	bool holes = p->window.holes;

	p->base.counts.drop[holes ? DROP_LATE : DROP_DUPLICATE]++;
}

static uint8_t *
slot_give(struct slots *p, uint64_t rel, bool readable)
{
	uint64_t off = rel - p->window.origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = window_block(&p->window, i);
	uint64_t bit = 1ull << slot % 64;

	if (i == 0 && p->window.gone) {
		gone_drop(p);
		return NULL;
	}
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
		b->first_ns = b->last_ns = p->now_ns;
		p->window.born[i] = p->now;
	}
	if (p->now_ns > b->last_ns)
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

/* Gives a parked packet its slot, with its own time of arrival: it came before
 * this batch. */
static uint8_t *
parked_give(struct slots *p, uint64_t rel, const struct candidate_packet *k)
{
	int64_t now_ns = p->now_ns;
	uint8_t *to;

	p->now_ns = k->arrived;
	to = slots_give(p, rel, k->readable);
	p->now_ns = now_ns;
	return to;
}

/* ---- echoes ---------------------------------------------------------- */

/* Sequence relative to the run; valid only near the window. */
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
	const struct block *b;

	if (off >= (uint64_t)WINDOW_OPEN * p->slots)
		return false;
	if (off < p->slots && p->window.gone)
		return true;
	b = p->window.open[off / p->slots];
	return b && block_has(b, (uint32_t)(off % p->slots));
}

/* Ends an echo that is no run: its packets are duplicates, late, or fill holes
 * of the run. */
static void
echo_dissolve(struct slots *p)
{
	struct candidate *c = &p->echo;

	for (unsigned i = 0; i < c->n; i++) {
		struct candidate_packet *k = candidate_at(c, i);
		uint64_t rel = relative(p, k->sequence);
		uint8_t *to = NULL, *from;

		/* With several receiver threads, the window may have moved
		 * on. */
		if (packet_late(p, k->sequence))
			p->base.counts.drop[DROP_LATE]++;
		else
			to = parked_give(p, rel, k);
		parking_leave(&p->parking, k->at);
		if (!to)
			continue; /* counted by slots_give, mostly as a
				     duplicate */
		p->echoed = true;
		from = parking_slot(&p->parking, k->at);
		p->base.counts.moved++;
		relocate_add(p->relocate, from, to, p->payload);
	}
	c->n = 0;
}

/* ---- runs ------------------------------------------------------------ */

/* Copies a parked packet into its slot of the run, as if it came just now. */
static void
packet_unpark(struct slots *p, const struct candidate_packet *k, int64_t rel)
{
	uint8_t *to = NULL;

	if (rel < 0)
		p->base.counts.drop[DROP_BEFORE_START]++;
	else if ((uint64_t)rel < p->window.origin)
		p->base.counts.drop[DROP_LATE]++;
	else
		to = parked_give(p, (uint64_t)rel, k);
	if (!to)
		return;
	memcpy(to, parking_slot(&p->parking, k->at), p->payload);
	p->base.counts.moved++;
}

/*
 * Counts packets of the new run that were lost because there was no memory to
 * park them.  The gap from the first of them to the run's base is lost, unless
 * that first packet was garbage: if it is much farther away than the number of
 * such packets, only their number counts.  If it belongs behind the base, it
 * shows as missing there.
 */
static void
starved_count(struct slots *p, uint64_t base)
{
	int64_t ahead =
	    sequence_distance(p->starved_from, base, p->a.shape->sequence_bits);
	int64_t span = (int64_t)WINDOW_OPEN * p->slots;

	if (!p->starved)
		return;
	if (ahead > 0 && (uint64_t)ahead / 2 <= p->starved)
		p->window.outside += (uint64_t)ahead;
	else if (ahead > 0 || ahead < -span)
		p->window.outside += p->starved;
	p->starved = 0;
}

static void
run_begin(struct slots *p, struct candidate *c)
{
	bool any;
	uint64_t base;

	if (c != &p->echo)
		echo_dissolve(p);
	window_end(&p->window);
	p->reached = 0;
	any = candidate_base(c, p->parts, &base);
	if (any) {
		window_begin(&p->window, (uint32_t)p->base.counts.runs++, base);
		starved_count(p, base);
	} else {
		p->base.counts.drop[DROP_BEFORE_START] += c->n;
	}
	for (unsigned i = 0; i < c->n; i++) {
		const struct candidate_packet *k = candidate_at(c, i);

		if (any)
			packet_unpark(
			    p, k,
			    sequence_distance(base, k->sequence, c->bits));
		parking_put(&p->parking, k->at);
	}
	c->n = 0;
	if (!any)
		return;
	p->reached = p->window.highest;
	if (p->prediction)
		prediction_begin(p->prediction, p->window.run + 1ull,
				 p->reached - 1);
}

void
slots_echo_settle(struct slots *p, int64_t since)
{
	if (p->echo.n >= p->agree && p->echo.since <= since)
		run_begin(p, &p->echo);
	else
		echo_dissolve(p);
}

/* Finds a place to park a packet of candidate c; drops weaker candidates if
 * none is free.  -1: none. */
static int
parking_find(struct slots *p, const struct candidate *c)
{
	int at = parking_take(&p->parking, !p->window.running);
	struct candidate *weak;

	while (at < 0 && (weak = candidate_weakest(p->candidate, c))) {
		candidate_dissolve(p, weak);
		at = parking_take(&p->parking, !p->window.running);
	}
	return at;
}

static void
packet_park(struct slots *p, struct candidate_packet *to, unsigned at,
	    const struct receive_packet *k, const struct format_packet *f)
{
	to->at = (uint16_t)at;
	to->arrived = p->now_ns;
	to->part = f->has & FORMAT_PART ? (int32_t)f->part : -1;
	to->readable = f->has & FORMAT_READABLE;
	memcpy(parking_slot(&p->parking, at), k->payload, p->payload);
}

/* Lends p->more, which only one long candidate can have, to the newest. */
static void
more_give(struct slots *p, struct candidate *c)
{
	for (int i = 0; i < CANDIDATES; i++) {
		struct candidate *other = &p->candidate[i];

		if (other != c && other->n > CANDIDATE_AGREE)
			candidate_dissolve(p, other);
		other->more = NULL;
	}
	if (c != &p->echo && p->echo.n > CANDIDATE_AGREE)
		echo_dissolve(p);
	p->echo.more = NULL;
	c->more = p->more;
}

/* Adds a packet to a candidate.  The first packet decides how many it needs. */
static enum candidate_answer
packet_add(struct slots *p, struct candidate *c, uint64_t sequence)
{
	const struct window *w = &p->window;

	if (!c->n) {
		c->behind =
		    w->running && sequence_distance(w->base + w->highest,
						    sequence, c->bits) < 0;
		c->need = c->behind
			      ? run_behind(w->highest, p->agree, p->behind)
			      : p->agree;
	}
	if (c->n == CANDIDATE_AGREE && !c->more)
		more_give(p, c);
	return candidate_add(c, sequence, p->now);
}

/* Parks a packet at place `at`, and acts on candidate_add's answer. */
static void
park(struct slots *p, struct candidate *c, unsigned at,
     const struct receive_packet *k, const struct format_packet *f)
{
	enum candidate_answer a = packet_add(p, c, f->sequence);

	if (a == CANDIDATE_STRANGER) {
		if (c == &p->echo)
			echo_dissolve(p);
		else
			candidate_dissolve(p, c);
		a = packet_add(p, c, f->sequence);
	}
	if (a == CANDIDATE_DUPLICATE) {
		parking_put(&p->parking, at);
		p->base.counts.drop[DROP_DUPLICATE]++;
		return;
	}
	packet_park(p, candidate_at(c, c->n - 1), at, k, f);
	if (a == CANDIDATE_ENOUGH)
		run_begin(p, c);
}

/* True if a late packet is simply that of a slow source: ahead of all that this
 * source brought of the run, and not part of a candidate. */
static bool
source_lags(struct slots *p, uint64_t sequence)
{
	struct prediction *prediction = p->prediction;
	uint64_t rel = relative(p, sequence);

	if (!prediction || prediction->run != p->window.run + 1ull ||
	    rel <= prediction->top || !packet_late(p, sequence) ||
	    candidate_find(p->candidate, sequence))
		return false;
	prediction->top = rel;
	return true;
}

void
slots_park(struct slots *p, const struct receive_packet *k,
	   const struct format_packet *f)
{
	struct candidate *c;
	int at;

	if (source_lags(p, f->sequence)) {
		p->base.counts.drop[DROP_LATE]++;
		return;
	}
	c = candidate_choose(p->candidate, f->sequence);
	at = parking_find(p, c);

	if (at < 0) {
		bool late = packet_late(p, f->sequence);

		p->base.counts.drop[late ? DROP_LATE : DROP_NO_BUFFER]++;
		if (!late && !p->starved++)
			p->starved_from = f->sequence;
		return;
	}
	p->parked = true;
	park(p, c, (unsigned)at, k, f);
}

/* True if the sequence follows closely on the last packet of the echo. */
static bool
echo_goes_on(struct candidate *c, uint64_t sequence)
{
	int64_t d;

	if (!c->n)
		return false;
	d = sequence_distance(candidate_at(c, c->n - 1)->sequence, sequence,
			      c->bits);
	return d > 0 && d < CANDIDATE_AGREE;
}

bool
slots_echo(struct slots *p, uint64_t rel, const struct receive_packet *k,
	   const struct format_packet *f)
{
	bool known, goes_on;
	int at;

	if (rel >= p->window.highest || p->echoed)
		return false;
	known = p->prediction->run == p->window.run + 1ull;
	goes_on = echo_goes_on(&p->echo, f->sequence);
	/* A source that is new in this run may extend an echo, but cannot begin
	 * one. */
	if (known ? rel > p->prediction->top : !goes_on)
		return false;
	if (!slot_taken(p, rel) && !goes_on)
		return false;
	at = parking_take(&p->parking, false);
	if (at < 0)
		return false;
	park(p, &p->echo, (unsigned)at, k, f);
	return true;
}

void
slots_oppose(struct slots *p, unsigned n, int64_t ahead)
{
	if (p->echo.n && ahead >= p->echo.since)
		echo_dissolve(p);
	if (!p->parked)
		return;
	p->parked = false;
	for (int i = 0; i < CANDIDATES; i++) {
		candidate_ahead(&p->candidate[i], ahead);
		if (candidate_rivals(&p->candidate[i], n, p->now))
			candidate_dissolve(p, &p->candidate[i]);
		p->parked |= p->candidate[i].n > 0;
	}
}

void
slots_run_from(struct slots *p, uint64_t base)
{
	window_begin(&p->window, (uint32_t)p->base.counts.runs++, base);
}

void
slots_run_arrival(struct slots *p)
{
	slots_run_from(p, 0);
}

/*
 * True if a candidate may become a run: nothing contradicts it and it has more
 * than one packet, or enough packets agree since the run last went on.  At the
 * end of the recording (`end`), a few packets behind the head are late: nobody
 * knows whether they would have gone on.
 */
static bool
candidate_unopposed(const struct slots *p, const struct candidate *c, bool end)
{
	if (!p->window.running || (c->rivals == 0 && !(end && c->behind)))
		return c->n > 1;
	return c->quiet >= p->agree;
}

/* Begins the runs in the order in which their candidates began. */
void
slots_runs_begin(struct slots *p, int64_t since)
{
	bool end = since == INT64_MAX;
	struct candidate *first;

	do {
		first = NULL;
		for (int i = 0; i < CANDIDATES; i++) {
			struct candidate *c = &p->candidate[i];

			if (candidate_unopposed(p, c, end) &&
			    c->since <= since &&
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

		/* If nothing else came, a single packet is the recording. */
		if (c->n && !p->window.running)
			run_begin(p, c);
		candidate_dissolve(p, c);
	}
	slots_echo_settle(p, INT64_MAX);
	if (!p->window.running)
		p->window.outside += p->starved;
	p->starved = 0;
}
