/* SPDX-License-Identifier: MIT */
/*
 * Packets without an open slot: the first of a block, one that moves the
 * window, one of a run that may begin, a duplicate that may be an echo.
 * slots.c decides about them as if there were one thread, with the gate held
 * for writing.
 *
 * A decision that depends on the order of arrival waits for the other threads
 * first.  A packet that came before the last such decision and has no slot now
 * is late: parked with others like it, it would look like a counter that jumped
 * back.
 */
#include "flow/slots/shared_priv.h"

/* Facts about a packet that shared_give decides by. */
struct look {
	bool reads; /* carries a sequence; else the fields below are unset, but
		       for at and since */
	bool near;
	uint64_t sequence, rel;
	int64_t at;    /* steady ns of arrival */
	int64_t since; /* steady ns; if the packet moves the window or begins a
			  run, when the first packet of that came */
};

static void
packet_look(const struct handle *h, const struct receive_packet *k,
	    struct look *l)
{
	const struct slots *p = h->shared->slots;
	struct format_packet f;

	*l = (struct look){ .at = packet_at(h, k) };
	l->since = l->at;
	l->reads = slots_read(p, k, &f) == DROP_KINDS;
	if (!l->reads)
		return;
	l->sequence = f.sequence;
	l->near = slots_near(p, f.sequence, &l->rel);
}

static bool
packet_late(const struct shared *s, const struct look *l)
{
	return l->reads &&
	       (l->at < s->began || (!l->near && l->at < s->turned));
}

/* True if this packet would move the window or begin a run.  Sets l->since. */
static bool
packet_turns(struct slots *p, struct look *l)
{
	uint64_t end = p->window.origin + (uint64_t)WINDOW_OPEN * p->slots;
	const struct candidate *c = NULL;

	if (!l->reads)
		return false;
	if (l->near && l->rel >= end)
		return true;
	if (!l->near)
		c = candidate_find(p->candidate, l->sequence);
	else if (l->rel < p->window.highest)
		c = &p->echo;
	if (!c || c->quiet + 1 < c->need)
		return false;
	if (c->since < l->since)
		l->since = c->since;
	return true;
}

/* Ends the echo if the packet is ahead of all that this thread brought. */
static void
echo_end(struct handle *h, const struct look *l)
{
	struct slots *p = h->shared->slots;
	int64_t at = l->at == SHARED_NEVER ? h->now : l->at;

	if (l->near && p->echo.n && l->rel >= shared_top(h))
		slots_rivals(p, 0, l->at, at);
}

/* Notes a rival for a candidate: another thread may have placed packets that
 * came after this one before it was parked. */
static void
rivals_recall(struct shared *s, const struct look *l)
{
	struct candidate *c = NULL;

	if (l->reads && !l->near)
		c = candidate_find(s->slots->candidate, l->sequence);
	if (c && !c->rivals && c->since < s->newest)
		c->rivals = 1;
}

/* Sets aim and times for a run that packets of several threads began; only our
 * own position in it is known. */
static void
run_begun(struct handle *h, const struct look *l)
{
	const struct slots *p = h->shared->slots;
	uint64_t rel;

	if (slots_near(p, l->sequence, &rel))
		aim_begin(h->aim, p->window.run + 1ull, rel);
	if (l->since != SHARED_NEVER)
		h->shared->began = l->since;
}

static void
packet_give(struct handle *h, const struct receive_packet *k,
	    const struct look *l)
{
	struct shared *s = h->shared;
	struct window *w = &s->slots->window;
	struct counts *c = &s->slots->base.counts, was;
	uint64_t origin = w->origin;
	bool behind = l->near && l->rel < shared_top(h);

	echo_end(h, l);
	was = *c;
	place_batch(&s->slots->base, h->aim, k, 1, h->now_ns,
		    l->at == SHARED_NEVER ? h->now : l->at);
	rivals_recall(s, l);
	h->starved |= c->drop[DROP_NO_BUFFER] != was.drop[DROP_NO_BUFFER];
	/* A packet behind those of other threads is not out of order by
	 * itself. */
	c->reordered = was.reordered + (behind && c->placed != was.placed);
	if (c->runs != was.runs)
		run_begun(h, l);
	else if (origin == w->origin)
		return;
	if (l->since != SHARED_NEVER)
		s->turned = l->since;
	shared_turned(s);
}

/* Tells candidates about the packets that this thread placed. */
static void
rivals_give(struct handle *h)
{
	struct slots *p = h->shared->slots;
	int64_t at = h->placed_at == SHARED_NEVER ? h->now : h->placed_at;

	if (h->placed)
		slots_rivals(p, h->placed, h->ahead_at, at);
	h->placed = 0;
}

void
shared_counts(struct handle *h)
{
	const uint64_t *from = (const uint64_t *)&h->shared->slots->base.counts;
	uint64_t *taken = (uint64_t *)&h->shared->taken;
	uint64_t *to = (uint64_t *)&h->base.counts;

	for (unsigned i = 0; i < COUNTS; i++) {
		to[i] += from[i] - taken[i];
		taken[i] = from[i];
	}
}

void
shared_give(struct handle *h)
{
	struct shared *s = h->shared;
	struct look l;
	unsigned i = 0;

	pthread_rwlock_wrlock(&s->gate);
	rivals_give(h);
	while (i < h->lefts) {
		packet_look(h, h->left[i], &l);
		if (packet_turns(s->slots, &l) && !packet_late(s, &l) &&
		    shared_behind(h, l.since)) {
			pthread_rwlock_unlock(&s->gate);
			shared_wait(h, l.at, l.since);
			pthread_rwlock_wrlock(&s->gate);
			continue;
		}
		if (packet_late(s, &l))
			place_drop(&h->base, DROP_LATE, 1);
		else
			packet_give(h, h->left[i], &l);
		i++;
	}
	shared_counts(h);
	pthread_rwlock_unlock(&s->gate);
	h->lefts = 0;
}
