/* SPDX-License-Identifier: MIT */
/*
 * Holds packets while their stream is still being learned (learn.h): without
 * frames per second and threads they have no sequence, so their slots are
 * unknown.
 *
 * Packets land in blocks of the pool, in the order of arrival, and stay there.
 * When all is learned they are sorted as if they came just now, oldest first,
 * four times as many per batch as arrive, each by one copy, while new packets
 * are held behind them.  So a second of packets is caught up with in a third of
 * a second, no batch takes longer than four others, and nothing is copied after
 * that.
 *
 *   held   |xxxxxxxxxxxx|xxxxxxxxxxxx|xxxx <- new packets land here
 *            ^ sorting into slots goes on here
 *
 * Held packets take no more than one guaranteed block and what is left over in
 * the pool (block_pool_plenty), up to three quarters of it: disks may be slow
 * just then.  If no block can be had, or nothing was learned within
 * SLOTS_HELD_LONGEST, the oldest block leaves unsorted: a run of its own, in
 * the order of arrival, in which losses are invisible.  The end of a recording
 * does the same with all held blocks.  A log line says so, and no packet is
 * lost.
 *
 * Sorting in place was rejected: one lost packet shifts all behind it.  So was
 * placing packets in the order of arrival for good: the first second of each
 * new stream would have losses that nobody counts.
 */
#include "flow/slots/slots_priv.h"

#include <string.h>

#include "base/log.h"
#include "flow/place/learn.h"

enum {
	CATCH_UP = 4,
	FIRST = 64, /* packets that are read to find where the run begins */
};

uint32_t
slots_side(const struct format_shape *shape, uint32_t slots)
{
	if (!learn_needed(shape))
		return 0;
	return (uint32_t)(sizeof(struct held) + slots * sizeof(int64_t));
}

static bool
has_learned(const struct slots *p)
{
	return !learn_needed(p->a.shape);
}

/* ---- blocks ------------------------------------------------------------ */

/* Takes another block for held packets, as the newest.  NULL: none can be
 * spared. */
static struct held *
held_add(struct slots *p)
{
	struct block_pool *pool = p->a.pool;
	struct block *b = NULL;
	struct held *h;

	if (!p->held ||
	    (block_pool_plenty(pool) &&
	     4 * block_pool_free_blocks(pool) > block_pool_blocks(pool)))
		b = block_pool_take(pool, p->a.sub);
	if (!b)
		return NULL;
	h = block_pool_side(b);
	if (!h) {
		block_pool_put(b);
		return NULL;
	}
	*h = (struct held){ .b = b, .since = p->now };
	if (p->held)
		p->held_last->next = h;
	else
		p->held = h;
	p->held_last = h;
	return h;
}

static struct block *
held_remove(struct slots *p)
{
	struct held *h = p->held;
	struct block *b = h->b;

	p->held = h->next;
	return b;
}

/* Closes the holes left by packets that landed elsewhere, and sets the block's
 * times. */
static void
compact(struct slots *p, struct held *h)
{
	struct block *b = h->b;
	uint32_t to = 0;

	b->first_ns = INT64_MAX;
	b->last_ns = INT64_MIN;
	for (uint32_t slot = 0; slot < h->end; slot++) {
		if (!block_has(b, slot))
			continue;
		if (h->arrived[slot] < b->first_ns)
			b->first_ns = h->arrived[slot];
		if (h->arrived[slot] > b->last_ns)
			b->last_ns = h->arrived[slot];
		if (slot != to)
			memcpy(block_slot(b, to), block_slot(b, slot),
			       p->payload);
		b->present[slot / 64] &= ~(1ull << slot % 64);
		b->present[to / 64] |= 1ull << to % 64;
		to++;
	}
	b->used = b->filled = to;
}

/* Sends the oldest block out in the order of arrival. */
static void
oldest_out(struct slots *p)
{
	struct block *b;

	compact(p, p->held);
	b = held_remove(p);
	if (!b->filled) {
		block_pool_put(b);
		return;
	}
	if (!p->held_out)
		p->held_run = (uint32_t)p->base.counts.runs++;
	window_leave(&p->window, b, p->held_run, p->held_out);
	p->held_out += b->filled;
	p->base.counts.placed += b->filled;
	p->base.counts.bytes += (uint64_t)b->filled * p->payload;
}

/* Logs, once per placement, that and why packets are stored unsorted. */
static void
out_say(struct slots *p, const char *why)
{
	const struct format_shape *s = p->a.shape;

	if (!p->held_told)
		log_line(LEVEL_WARN, p->a.name,
			 "%s of the stream were not learned yet (%s): packets "
			 "are stored in the order in which they came, and what "
			 "is lost among them is not known; set %s",
			 s->threads_n ? "frames per second"
				      : "frames per second and threads",
			 why, s->threads_n ? "`fps`" : "`fps` and `threads`");
	p->held_told = true;
}

/* ---- packets ----------------------------------------------------------- */

bool
slots_holds(const struct slots *p)
{
	return p->held || !has_learned(p);
}

unsigned
slots_held_aim(struct slots *p, struct receive_pair *pair, unsigned n)
{
	struct held *h = p->held ? p->held_last : NULL;
	unsigned i = 0;

	if (!h || h->end == p->slots)
		h = held_add(p);

	for (; h && i < n && h->end + i < p->slots; i++)
		pair[i].payload = block_slot(h->b, h->end + i);
	p->held_aimed = i;
	return i;
}

/* Finds a block with a free slot, from *slot on; takes a new one, or sends the
 * oldest out, if needed.  NULL: there is no memory. */
static struct held *
slot_find(struct slots *p, uint32_t *slot)
{
	struct held *h = p->held ? p->held_last : NULL;

	while (h && *slot < p->slots && block_has(h->b, *slot))
		++*slot;
	if (h && *slot < p->slots)
		return h;
	h = held_add(p);
	if (!h && has_learned(p)) {
		slots_held_place(p, UINT64_MAX);
		h = held_add(p);
	}
	while (!h && p->held) {
		out_say(p, "no memory is left to hold more");
		oldest_out(p);
		h = held_add(p);
	}
	*slot = h ? 0 : p->slots;
	return h;
}

/* True if the packet landed in a held block, where this batch was aimed at from
 * slot `first` on; *slot is the slot. */
static bool
has_landed(const struct slots *p, uint32_t first,
	   const struct receive_packet *k, uint32_t *slot)
{
	const uint8_t *from, *at = k->payload;

	if (!p->held_aimed)
		return false;
	from = block_slot(p->held_last->b, first);
	if (at < from || at >= from + (size_t)p->held_aimed * p->payload)
		return false;
	*slot = first + (uint32_t)((size_t)(at - from) / p->payload);
	return true;
}

static void
slot_set(struct slots *p, struct held *h, uint32_t slot, int64_t now_ns)
{
	if (!h->end)
		h->since = p->now;
	h->b->present[slot / 64] |= 1ull << slot % 64;
	h->arrived[slot] = now_ns;
	if (h->end <= slot)
		h->end = slot + 1;
}

static int64_t
arrival(const struct slots *p, const struct receive_packet *k)
{
	return k->arrived ? k->arrived : p->pass_ns;
}

/* Returns the reason to drop the packet, or DROP_KINDS.  A packet without a
 * sequence is kept if it has a time: learning turns that into a sequence. */
static enum drop
packet_check(const struct slots *p, const struct receive_packet *k)
{
	struct format_packet f;
	enum drop why = slots_read(p, k, &f);

	return why == DROP_UNREADABLE && f.has & FORMAT_TIME ? DROP_KINDS : why;
}

/* Holds the packets of a batch.  Packets that landed in held blocks are marked
 * first, since a place for the others may cost the oldest block. */
static void
packets_hold(struct slots *p, const struct receive_packet *packet, unsigned n)
{
	uint32_t first = p->held ? p->held_last->end : 0, slot;
	uint32_t at = first;
	unsigned beside[RECEIVE_BATCH], besides = 0;

	for (unsigned i = 0; i < n; i++) {
		enum drop why = packet_check(p, &packet[i]);

		if (why != DROP_KINDS)
			p->base.counts.drop[why]++;
		else if (has_landed(p, first, &packet[i], &slot))
			slot_set(p, p->held_last, slot, arrival(p, &packet[i]));
		else
			beside[besides++] = i;
	}
	for (unsigned i = 0; i < besides; i++) {
		const struct receive_packet *k = &packet[beside[i]];
		struct held *h = slot_find(p, &at);

		if (!h) {
			p->base.counts.drop[DROP_NO_BUFFER]++;
			continue;
		}
		memcpy(block_slot(h->b, at), k->payload, p->payload);
		p->base.counts.moved++;
		slot_set(p, h, at, arrival(p, k));
	}
	p->held_aimed = 0;
}

/* ---- to their slots ---------------------------------------------------- */

static struct receive_packet
packet_at(const struct slots *p, const struct held *h, uint32_t slot)
{
	return (struct receive_packet){ .payload = block_slot(h->b, slot),
					.bytes = p->datagram,
					.arrived = h->arrived[slot] };
}

/* Reads the sequences of the first held packets.  Returns their number. */
static unsigned
sequences_read(const struct slots *p, const struct held *h,
	       uint64_t sequence[FIRST])
{
	struct format_packet f;
	unsigned n = 0;

	for (uint32_t slot = h->at; slot < h->end && n < FIRST; slot++) {
		const struct receive_packet k = packet_at(p, h, slot);

		if (block_has(h->b, slot) &&
		    slots_read(p, &k, &f) == DROP_KINDS)
			sequence[n++] = f.sequence;
	}
	return n;
}

/* Begins the run at the lowest sequence of the group that has more than half of
 * the first packets.  Without such a group, candidates have to find the run,
 * which takes a block to park them. */
static void
run_find(struct slots *p, const struct held *h)
{
	uint64_t sequence[FIRST], span = (uint64_t)WINDOW_OPEN * p->slots;
	unsigned n = sequences_read(p, h, sequence);

	for (unsigned i = 0; i < n; i++) {
		uint64_t base = sequence[i];
		unsigned near = 0;

		for (unsigned k = 0; k < n; k++) {
			if (sequence[k] - sequence[i] + span >= 2 * span)
				continue;
			if (sequence[k] < base)
				base = sequence[k];
			near++;
		}
		if (near > 1 && 2 * near > n) {
			slots_run_from(p, base);
			return;
		}
	}
}

/* Sorts up to a batch of packets from the oldest block.  Returns their
 * number. */
static unsigned
oldest_place(struct slots *p, uint64_t most)
{
	struct receive_packet packet[RECEIVE_BATCH];
	struct held *h = p->held;
	unsigned n = 0;

	if (!p->window.running)
		run_find(p, h);
	for (; h->at < h->end && n < RECEIVE_BATCH && n < most; h->at++) {
		if (block_has(h->b, h->at))
			packet[n++] = packet_at(p, h, h->at);
	}
	slots_sort(p, &p->held_prediction, packet, n);
	if (h->at == h->end)
		block_pool_put(held_remove(p));
	return n;
}

void
slots_held_place(struct slots *p, uint64_t most)
{
	uint64_t n;

	if (!has_learned(p))
		return;
	p->held_out = 0;
	for (; p->held && most; most -= n < most ? n : most)
		n = oldest_place(p, most);
}

/* With memory short, a whole block's worth is sorted at once: held packets are
 * what takes the memory. */
void
slots_held_batch(struct slots *p, const struct receive_packet *packet,
		 unsigned n)
{
	packets_hold(p, packet, n);
	if (block_pool_plenty(p->a.pool))
		slots_held_place(p, (uint64_t)CATCH_UP * n);
	else
		slots_held_place(p, p->slots);
	slots_release(p);
}

void
slots_held_age(struct slots *p)
{
	p->held_aimed = 0;
	slots_held_place(p, p->slots);
	while (p->held && p->now - p->held->since >= SLOTS_HELD_LONGEST) {
		if (p->held->end)
			out_say(p, "that took more than 4 s");
		oldest_out(p);
	}
}

void
slots_held_flush(struct slots *p)
{
	slots_held_place(p, UINT64_MAX);
	while (p->held) {
		if (p->held->end)
			out_say(p, "the end came first");
		oldest_out(p);
	}
}
