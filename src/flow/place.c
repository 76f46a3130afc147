/* SPDX-License-Identifier: MIT */
/*
 * Predictive placement.
 *
 * Packets of a telescope are equal in size and come mostly in order.  So the
 * kernel is handed the very slots in which the next packets belong, copies
 * each payload there, and all that is left to do for a packet is to read its
 * sequence, find that it is where it should be, and set a bit.  The payload
 * is copied once, the network prefix is stripped on the way, and the block
 * can be written with O_DIRECT from where it lies.
 *
 * A batch is sorted in two passes.  The first reads every header, in the
 * order of arrival, and decides: a slot, a drop, or the parking place of the
 * candidate.  It sets bits and counts, slides the window, closes blocks, but
 * moves nothing, because a slot that a packet belongs in may hold another of
 * the same batch that was not looked at yet.  The second pass moves the
 * packets that are not where they belong (moves.c).  Only then do closed
 * blocks leave, and blocks that were aimed at in vain go home: until then
 * the memory of everything that landed stays as it was.
 *
 * The kernel is never handed a slot whose bit is set, so nothing that is in
 * place is ever overwritten.  Where no block is free, packets land in spare
 * memory: the socket is drained, the late packets among them still find
 * their slots in the open blocks, the others are counted `no_buffer`.
 *
 * Candidates are parked by copy at once, in memory of their own, and a new
 * run starts in blocks that are fresh from the stock, so neither ever
 * touches a slot that a packet of this batch may lie in.
 */
#include "flow/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow/candidate.h"
#include "flow/moves.h"

enum { OPEN = 2, WINDOW = 3 };	/* blocks; the third is only aimed at */

struct place {
	struct place_args a;
	uint32_t slots, payload, parts;
	uint32_t datagram;	/* bytes: prefix + payload */
	uint64_t max_gap;	/* slots */

	/* The run; all sequences are relative to its base. */
	bool running;
	uint32_t run;
	uint64_t base;		/* absolute */
	uint64_t origin;	/* of open[0] */
	uint64_t highest;	/* one behind the highest that came */
	uint64_t gap;		/* slots without any packet before open[0] */
	struct block *open[WINDOW];	/* NULL: no memory taken yet */
	int64_t born[OPEN];	/* when the first packet came; steady */

	/* The batch. */
	const struct receive_pair *pair;
	uint64_t key[RECEIVE_BATCH];	/* sequences of the landings */
	unsigned keys;
	bool moved_on;		/* a run began: the keys mean nothing */
	uint64_t reached;	/* one behind the highest of this batch */
	int64_t now_ns, now;
	struct moves moves;
	struct block *closed, **closed_end;
	struct block *unused;

	struct candidate candidate;
	struct counts counts;

	uint8_t *spare;		/* what follows is in here */
	uint8_t *discard;	/* RECEIVE_BATCH slots */
	uint8_t *prefixes;	/* RECEIVE_BATCH prefixes */
};

static uint8_t *
spare_take(uint8_t **from, uint64_t bytes)
{
	uint8_t *at = *from;

	*from += bytes;
	return at;
}

static int
spare_make(struct place *p)
{
	uint64_t slot = p->payload;
	uint64_t slots = RECEIVE_BATCH + CANDIDATE_AGREE + 1;
	uint64_t prefix = p->a.shape->prefix;
	uint64_t bytes = slots * slot + RECEIVE_BATCH * prefix;
	uint8_t *at;

	at = p->spare = malloc(bytes);
	if (!at)
		return -ENOMEM;
	memset(at, 0, bytes);	/* touched before any packet comes */
	p->discard = spare_take(&at, RECEIVE_BATCH * slot);
	p->moves.scratch = spare_take(&at, slot);
	p->moves.bytes = p->payload;
	for (int i = 0; i < CANDIDATE_AGREE; i++)
		p->candidate.packet[i].payload = spare_take(&at, slot);
	p->prefixes = spare_take(&at, RECEIVE_BATCH * prefix);
	return 0;
}

/* Half of a small window is enough: a stream may begin with losses. */
static unsigned
agree(uint32_t slots)
{
	if (slots >= CANDIDATE_AGREE)
		return CANDIDATE_AGREE;
	return slots < 2 ? 2 : slots;
}

int
place_make(struct place **place, const struct place_args *args)
{
	struct place *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->a = *args;
	p->slots = args->geometry->slots;
	p->payload = args->geometry->payload;
	p->parts = args->geometry->parts;
	p->datagram = args->shape->prefix + p->payload;
	p->max_gap = args->max_gap / p->payload;
	p->closed_end = &p->closed;
	p->candidate.span = (uint64_t)OPEN * p->slots;
	p->candidate.need = agree(p->slots);
	p->candidate.bits = args->shape->sequence_bits;
	if (spare_make(p) < 0) {
		free(p);
		return -ENOMEM;
	}
	*place = p;
	return 0;
}

void
place_free(struct place *p)
{
	if (!p)
		return;
	free(p->spare);
	free(p);
}

const struct counts *
place_counts(const struct place *p)
{
	return &p->counts;
}

void
place_drop(struct place *p, enum drop why, uint64_t n)
{
	p->counts.datagrams += n;
	p->counts.drop[why] += n;
}

/* ---- the window ------------------------------------------------------ */

static struct block *
window_block(struct place *p, unsigned i)
{
	if (!p->open[i])
		p->open[i] = stock_take(p->a.stock);
	return p->open[i];
}

/* Goes home after the batch: packets of it may lie there. */
static void
unused_add(struct place *p, struct block *b)
{
	if (!b)
		return;
	b->next = p->unused;
	p->unused = b;
}

static void
window_shift(struct place *p, uint64_t by)
{
	p->origin += by;
	p->open[0] = p->open[1];
	p->open[1] = p->open[2];
	p->open[2] = NULL;
	p->born[0] = p->born[1];
}

static bool
has_packets(const struct block *b)
{
	return b && b->filled;
}

/* Closes the first block after `used` slots; an empty one becomes a gap. */
static void
first_close(struct place *p, uint32_t used)
{
	struct block *b = p->open[0];

	if (has_packets(b)) {
		b->used = used;
		b->run = p->run;
		b->base = p->base;
		b->first = p->origin;
		b->gap = p->gap;
		p->gap = 0;
		block_close(b);
		*p->closed_end = b;
		p->closed_end = &b->next;
	} else {
		unused_add(p, b);
		p->gap += used;
	}
	window_shift(p, used);
}

/* So that the packet `off` slots behind the origin is in the second block. */
static void
window_forward(struct place *p, uint64_t off)
{
	uint64_t blocks = off / p->slots - 1;

	for (int i = 0; i < WINDOW && blocks; i++, blocks--)
		first_close(p, p->slots);
	p->gap += blocks * p->slots;
	p->origin += blocks * p->slots;
}

/* Nothing is open behind the first block: it may end with its last packet. */
static void
first_close_short(struct place *p)
{
	uint32_t used = p->open[0]->used;

	used = (used + p->parts - 1) / p->parts * p->parts;
	unused_add(p, p->open[1]);
	unused_add(p, p->open[2]);
	p->open[1] = p->open[2] = NULL;
	first_close(p, used);
	if (p->highest < p->origin)
		p->highest = p->origin;
}

/* The oldest open block, closed by itself; false when none has packets. */
static bool
oldest_close(struct place *p)
{
	if (has_packets(p->open[1]))
		first_close(p, p->slots);
	else if (has_packets(p->open[0]))
		first_close_short(p);
	else
		return false;
	return true;
}

static void
run_end(struct place *p)
{
	while (oldest_close(p))
		;
	for (int i = 0; i < WINDOW; i++) {
		unused_add(p, p->open[i]);
		p->open[i] = NULL;
	}
	p->gap = 0;	/* slots after the last packet are not lost ones */
	p->running = false;
}

/* ---- packets --------------------------------------------------------- */

/* Of a block that was closed?  Counted from here: the base may be more than
 * half a counter away. */
static bool
packet_late(const struct place *p, uint64_t sequence)
{
	int64_t ahead = sequence_distance(p->base + p->origin, sequence,
					  p->a.shape->sequence_bits);

	return p->running && ahead < 0 && 0 - (uint64_t)ahead <= p->origin;
}

static void
candidate_dissolve(struct place *p)
{
	struct candidate *c = &p->candidate;

	for (unsigned i = 0; i < c->n; i++) {
		bool late = packet_late(p, c->packet[i].sequence);

		p->counts.drop[late ? DROP_LATE : DROP_OUT_OF_WINDOW]++;
	}
	c->n = 0;
}

/*
 * Gives a packet that belongs in the window its slot.  Returns where the
 * payload has to be, or NULL when it was dropped.
 */
static uint8_t *
slot_give(struct place *p, uint64_t rel, bool readable)
{
	uint64_t off = rel - p->origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = window_block(p, i);
	uint64_t bit = 1ull << slot % 64;

	if (rel >= p->highest)
		p->highest = rel + 1;
	else if (b && !block_has(b, slot))
		p->counts.reordered++;
	if (!b) {
		p->counts.drop[DROP_NO_BUFFER]++;
		return NULL;
	}
	if (b->present[slot / 64] & bit) {
		p->counts.drop[DROP_DUPLICATE]++;
		return NULL;
	}
	b->present[slot / 64] |= bit;
	if (b->filled++ == 0) {
		b->first_ns = p->now_ns;
		p->born[i] = p->now;
	}
	b->last_ns = p->now_ns;
	if (b->used <= slot)
		b->used = slot + 1;
	p->counts.placed++;
	p->counts.unreadable += !readable;
	return block_slot(b, slot);
}

/* -> where the payload has to be, or NULL. */
static uint8_t *
packet_give(struct place *p, uint64_t rel, bool readable)
{
	if (rel - p->origin >= (uint64_t)OPEN * p->slots)
		window_forward(p, rel - p->origin);
	return slot_give(p, rel, readable);
}

/* Parked packets go to their slots, as if they had come just now. */
static void
run_begin(struct place *p)
{
	struct candidate *c = &p->candidate;
	uint64_t base;

	run_end(p);
	p->moved_on = true;
	if (!candidate_base(c, p->parts, &base)) {
		p->counts.drop[DROP_BEFORE_START] += c->n;
		c->n = 0;
		return;
	}
	p->running = true;
	p->run = (uint32_t)p->counts.runs++;
	p->base = base;
	p->origin = p->highest = p->reached = 0;
	for (unsigned i = 0; i < c->n; i++) {
		struct candidate_packet *k = &c->packet[i];
		int64_t rel = sequence_distance(base, k->sequence, c->bits);
		uint8_t *to = NULL;

		if (rel < 0)
			p->counts.drop[DROP_BEFORE_START]++;
		else if ((uint64_t)rel < p->origin)
			p->counts.drop[DROP_LATE]++;
		else
			to = packet_give(p, (uint64_t)rel, k->readable);
		if (to) {
			memcpy(to, k->payload, p->payload);
			p->counts.moved++;
		}
	}
	c->n = 0;
	p->reached = p->highest;
}

static void
packet_park(struct place *p, const struct receive_packet *k,
	    const struct format_packet *f)
{
	struct candidate *c = &p->candidate;
	enum candidate_answer a = candidate_add(c, f->sequence, p->now);
	struct candidate_packet *parked;

	if (a == CANDIDATE_STRANGER) {
		candidate_dissolve(p);
		a = candidate_add(c, f->sequence, p->now);
	}
	if (a == CANDIDATE_DUPLICATE) {
		p->counts.drop[DROP_DUPLICATE]++;
		return;
	}
	parked = &c->packet[c->n - 1];
	parked->part = f->has & FORMAT_PART ? (int32_t)f->part : -1;
	parked->readable = f->has & FORMAT_READABLE;
	memcpy(parked->payload, k->payload, p->payload);
	if (a == CANDIDATE_ENOUGH)
		run_begin(p);
}

/* Formats without a sequence: packets follow each other. */
static void
run_begin_arrival(struct place *p)
{
	p->running = true;
	p->moved_on = true;
	p->run = (uint32_t)p->counts.runs++;
	p->base = p->origin = p->highest = 0;
}

static bool
packet_sequence(struct place *p, struct format_packet *f)
{
	if (f->has & FORMAT_SEQUENCE)
		return true;
	if (p->a.shape->sequence != SEQUENCE_ARRIVAL)
		return false;
	if (!p->running)
		run_begin_arrival(p);
	f->sequence = p->base + p->highest;
	return true;
}

/* Relative to the run; false when it is too far from all that is expected. */
static bool
packet_near(const struct place *p, uint64_t sequence, uint64_t *rel)
{
	int64_t ahead = sequence_distance(p->base + p->highest, sequence,
					  p->a.shape->sequence_bits);

	*rel = p->highest + (uint64_t)ahead;
	return p->running && ahead <= (int64_t)p->max_gap &&
	       ahead >= -(int64_t)(p->highest - p->origin);
}

static void
packet_place(struct place *p, unsigned i, const struct receive_packet *k)
{
	struct format_packet f;
	bool landed = i < p->keys && k->payload == p->pair[i].payload;
	uint64_t rel;
	uint8_t *to;

	p->a.format->parse(p->a.shape, k->prefix, k->payload, &f);
	if (!packet_sequence(p, &f)) {
		p->counts.drop[DROP_UNREADABLE]++;
		return;
	}
	if (!packet_near(p, f.sequence, &rel)) {
		packet_park(p, k, &f);
		return;
	}
	to = packet_give(p, rel, f.has & FORMAT_READABLE);
	if (rel >= p->reached)
		p->reached = rel + 1;
	if (to && to != k->payload) {
		int at = landed ? (int)i : MOVES_NOWHERE;

		p->counts.moved++;
		if (p->moved_on)
			moves_add_outside(&p->moves, k->payload, at, to);
		else
			moves_add(&p->moves, k->payload, at, to, rel);
	}
	if (candidate_rival(&p->candidate))
		candidate_dissolve(p);
}

/* ---- the batch ------------------------------------------------------- */

/* Aims at the free slots of one block; returns how many pairs it wrote. */
static unsigned
aim_block(struct place *p, struct receive_pair *pair, unsigned n, uint64_t off)
{
	struct block *b = window_block(p, (unsigned)(off / p->slots));
	uint32_t slot = (uint32_t)(off % p->slots);
	uint64_t rel = p->origin + off;
	unsigned i = 0;

	for (; b && i < n && slot < p->slots; slot++, rel++) {
		if (block_has(b, slot))
			continue;
		pair[i++].payload = block_slot(b, slot);
		p->key[p->keys++] = rel;
	}
	return i;
}

void
place_aim(struct place *p, const struct aim *aim, struct receive_pair *pair,
	  unsigned n)
{
	uint64_t rel = aim->run == p->run + 1ull ? aim->next : p->highest;
	uint64_t off = rel > p->origin ? rel - p->origin : 0;
	uint64_t end = (uint64_t)WINDOW * p->slots;

	p->pair = pair;
	p->keys = 0;
	while (p->running && p->keys < n && off < end) {
		aim_block(p, pair + p->keys, n - p->keys, off);
		if (!p->open[off / p->slots])
			break;
		off = (off / p->slots + 1) * p->slots;
	}
	for (unsigned i = p->keys; i < n; i++)
		pair[i].payload = p->discard + (uint64_t)i * p->payload;
	for (unsigned i = 0; i < n; i++)
		pair[i].prefix = p->prefixes +
				 (uint64_t)i * p->a.shape->prefix;
}

static void
batch_start(struct place *p, int64_t now_ns, int64_t now)
{
	moves_start(&p->moves, p->key, p->keys);
	p->moved_on = false;
	p->reached = 0;
	p->now_ns = now_ns;
	p->now = now;
}

/* Everything is where it belongs: closed blocks leave, unused ones go home. */
static void
batch_finish(struct place *p)
{
	struct block *b;

	while ((b = p->unused)) {
		p->unused = b->next;
		stock_put(b);
	}
	while ((b = p->closed)) {
		p->closed = b->next;
		b->next = NULL;
		p->a.out(p->a.arg, b);
	}
	p->closed_end = &p->closed;
}

void
place_batch(struct place *p, struct aim *aim,
	    const struct receive_packet *packet, unsigned n, int64_t now_ns,
	    int64_t now)
{
	batch_start(p, now_ns, now);
	for (unsigned i = 0; i < n; i++) {
		const struct receive_packet *k = &packet[i];

		p->counts.datagrams++;
		if (k->flags & RECEIVE_FOREIGN)
			p->counts.drop[DROP_FOREIGN]++;
		else if (k->flags & RECEIVE_CUT || k->bytes != p->datagram)
			p->counts.drop[DROP_WRONG_SIZE]++;
		else
			packet_place(p, i, k);
	}
	moves_settle(&p->moves);
	batch_finish(p);
	if (p->reached) {
		aim->next = p->reached;
		aim->run = p->run + 1ull;
	}
}

static bool
oldest_aged(const struct place *p, int64_t now)
{
	for (int i = 0; i < OPEN; i++) {
		if (has_packets(p->open[i]))
			return now - p->born[i] >= p->a.max_age;
	}
	return false;
}

/* A candidate that nobody contradicts, and that is more than one packet. */
static bool
candidate_unopposed(const struct place *p)
{
	const struct candidate *c = &p->candidate;

	return c->n > 1 && (!p->running || c->rivals == 0);
}

void
place_age(struct place *p, int64_t now)
{
	p->now = now;
	while (oldest_aged(p, now))
		oldest_close(p);
	if (candidate_unopposed(p) &&
	    now - p->candidate.since >= p->a.max_age)
		run_begin(p);
	batch_finish(p);
}

void
place_flush(struct place *p)
{
	/* Where nothing else came, a single packet is the recording. */
	if (candidate_unopposed(p) || (p->candidate.n && !p->running))
		run_begin(p);
	candidate_dissolve(p);
	run_end(p);
	batch_finish(p);
}
