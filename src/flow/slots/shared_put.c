/* SPDX-License-Identifier: MIT */
/*
 * Packets that have an open slot: nearly all of them.  While the gate is held
 * for reading, the window and its blocks stay as they are, but for presence
 * bits, and each packet takes a parse, an atomic bit and a copy.  The sums of a
 * batch are added to each block once, before the gate is left.
 */
#include "flow/slots/shared_priv.h"

#include <string.h>

enum way {
	WAY_DONE,  /* in its slot, or dropped */
	WAY_LEFT,  /* for slots.c, at the end of the batch */
	WAY_FIRST, /* for slots.c at once: packets that follow depend on it */
};

/* Sets a presence bit; true: the caller set it, and owns the slot.  Relaxed,
 * because only the owner touches the bytes until a thread has held the gate for
 * writing, which orders them. */
static bool
bit_take(struct block *b, uint32_t slot)
{
	uint64_t bit = 1ull << slot % 64;

	return !(
	    __atomic_fetch_or(&b->present[slot / 64], bit, __ATOMIC_RELAXED) &
	    bit);
}

uint64_t
shared_top(const struct handle *h)
{
	uint64_t run = h->shared->slots->window.run + 1ull;

	if (h->aim->run == run)
		return h->aim->top + 1;
	return h->shared->slots->echo.n ? UINT64_MAX : 0;
}

/* Moves this thread's top to a packet that is ahead of all it brought.  Packets
 * it left for slots.c before that cannot be an echo.  False if the packet is
 * not ahead. */
static bool
packet_ahead(struct handle *h, uint64_t rel, int64_t at)
{
	uint64_t run = h->shared->slots->window.run + 1ull;

	if (rel < shared_top(h))
		return false;
	if (h->aim->run != run)
		aim_begin(h->aim, run, rel);
	h->aim->top = rel;
	h->ahead_at = at;
	h->sure = h->lefts;
	return true;
}

static void
packet_count(struct handle *h, uint64_t rel, const struct receive_packet *k)
{
	struct counts *c = &h->base.counts;
	int64_t at = packet_at(h, k);

	c->datagrams++;
	c->placed++;
	c->moved++;
	c->bytes += h->shared->slots->payload;
	h->placed++;
	if (at > h->placed_at)
		h->placed_at = at;
	if (rel >= h->highest)
		h->highest = rel + 1;
	/* A thread knows the order of its own packets only. */
	c->reordered += !packet_ahead(h, rel, at);
}

static enum way
packet_drop(struct handle *h, enum drop why)
{
	place_drop(&h->base, why, 1);
	return WAY_DONE;
}

static void
slot_tally(struct tally *t, uint32_t slot, int64_t ns)
{
	if (!t->filled++)
		t->first_ns = t->last_ns = ns;
	if (t->last_ns < ns)
		t->last_ns = ns;
	if (t->used <= slot)
		t->used = slot + 1;
}

static enum way
slot_put(struct handle *h, uint64_t rel, const struct receive_packet *k,
	 bool sure)
{
	const struct slots *p = h->shared->slots;
	uint64_t off = rel - p->window.origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = p->window.open[i];
	bool behind;

	if (off >= (uint64_t)WINDOW_OPEN * p->slots)
		return WAY_FIRST;
	if (!b && (h->starved || (!i && p->window.gone)))
		return WAY_LEFT;
	if (!b)
		return WAY_FIRST;
	/* During an echo it may belong to the new pass. */
	behind = rel < shared_top(h);
	if (!sure && behind && (h->lefts || p->echo.n))
		return WAY_LEFT;
	if (!bit_take(b, slot)) {
		if (!sure && behind)
			return WAY_LEFT;
		packet_ahead(h, rel, packet_at(h, k));
		return packet_drop(h, DROP_DUPLICATE);
	}
	memcpy(block_slot(b, slot), k->payload, p->payload);
	slot_tally(&h->tally[i], slot, k->arrived ? k->arrived : h->now_ns);
	packet_count(h, rel, k);
	return WAY_DONE;
}

/* Places or drops a packet.  `sure`: this thread went on ahead since, so the
 * packet is no echo. */
static enum way
packet_put(struct handle *h, const struct receive_packet *k, bool sure)
{
	struct shared *s = h->shared;
	struct format_packet f;
	enum drop why = slots_read(s->slots, k, &f);
	uint64_t placed = h->base.counts.placed;
	int64_t at = packet_at(h, k);
	enum way way;
	uint64_t rel;
	bool near;

	if (why != DROP_KINDS)
		return packet_drop(h, why);
	near = slots_near_to(s->slots, h->highest, f.sequence, &rel);
	if (at < s->began || (!near && at < s->turned))
		return packet_drop(h, DROP_LATE);
	way = near ? slot_put(h, rel, k, sure) : WAY_LEFT;
	if (h->base.counts.placed != placed && !(f.has & FORMAT_READABLE))
		h->base.counts.unreadable++;
	return way;
}

static void
gate_enter(struct handle *h)
{
	struct shared *s = h->shared;
	const struct window *w = &s->slots->window;

	pthread_rwlock_rdlock(&s->gate);
	pthread_mutex_lock(&s->lock);
	h->highest = w->highest;
	pthread_mutex_unlock(&s->lock);
	h->placed = h->sure = 0;
	h->placed_at = h->ahead_at = INT64_MIN;
}

static void
tally_add(struct handle *h, unsigned i)
{
	struct window *w = &h->shared->slots->window;
	struct tally *t = &h->tally[i];
	struct block *b = w->open[i];

	if (!t->filled)
		return;
	if (!b->filled) {
		b->first_ns = t->first_ns;
		b->last_ns = t->last_ns;
		w->born[i] = h->now;
	}
	if (t->first_ns < b->first_ns)
		b->first_ns = t->first_ns;
	if (t->last_ns > b->last_ns)
		b->last_ns = t->last_ns;
	b->filled += t->filled;
	if (b->used < t->used)
		b->used = t->used;
	*t = (struct tally){ 0 };
}

static void
gate_leave(struct handle *h)
{
	struct shared *s = h->shared;
	struct window *w = &s->slots->window;

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < WINDOW_OPEN; i++)
		tally_add(h, i);
	if (h->highest > w->highest)
		w->highest = h->highest;
	if (h->placed && h->placed_at != SHARED_NEVER &&
	    h->placed_at > s->newest)
		s->newest = h->placed_at;
	pthread_mutex_unlock(&s->lock);
	/* Without candidates or an echo, nothing needs to hear of placed
	 * packets. */
	if (!s->slots->parked && !s->slots->echo.n)
		h->placed = 0;
	pthread_rwlock_unlock(&s->gate);
}

/* Places the left packets after which this thread went on ahead: they are no
 * echo.  The rest stay in `left`. */
static void
left_settle(struct handle *h)
{
	unsigned lefts = h->lefts;

	h->lefts = 0;
	for (unsigned i = 0; i < lefts; i++) {
		const struct receive_packet *k = h->left[i];

		if (i >= h->sure || packet_put(h, k, true) != WAY_DONE)
			h->left[h->lefts++] = k;
	}
}

unsigned
shared_put(struct handle *h, const struct receive_packet *packet, unsigned n)
{
	enum way way = WAY_DONE;
	unsigned i = 0;

	gate_enter(h);
	while (i < n && way != WAY_FIRST) {
		way = packet_put(h, &packet[i], false);
		if (way != WAY_DONE)
			h->left[h->lefts++] = &packet[i];
		i++;
	}
	left_settle(h);
	gate_leave(h);
	return i;
}
