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
#include "flow/window.h"

struct place {
	struct place_args a;
	uint32_t slots, payload, parts;
	uint32_t datagram;	/* bytes: prefix + payload */
	uint64_t max_gap;	/* slots */

	struct window window;	/* and the run that it is of */

	/* The batch. */
	const struct receive_pair *pair;
	uint64_t key[RECEIVE_BATCH];	/* sequences of the landings */
	unsigned keys;
	bool moved_on;		/* a run began: the keys mean nothing */
	uint64_t reached;	/* one behind the highest of this batch */
	int64_t now_ns, now;
	struct moves moves;

	struct candidate candidate[CANDIDATES];
	bool parked;		/* some of them have packets */
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
	uint64_t slots = RECEIVE_BATCH + CANDIDATES * CANDIDATE_AGREE + 1;
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
	for (int i = 0; i < CANDIDATES * CANDIDATE_AGREE; i++)
		p->candidate[i / CANDIDATE_AGREE]
		    .packet[i % CANDIDATE_AGREE]
		    .payload = spare_take(&at, slot);
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
	window_init(&p->window, args->stock, p->slots, p->parts);
	for (int i = 0; i < CANDIDATES; i++) {
		p->candidate[i].span = (uint64_t)WINDOW_OPEN * p->slots;
		p->candidate[i].need = agree(p->slots);
		p->candidate[i].bits = args->shape->sequence_bits;
	}
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

/* ---- packets --------------------------------------------------------- */

/* Of a block that was closed?  Counted from here: the base may be more than
 * half a counter away. */
static bool
packet_late(const struct place *p, uint64_t sequence)
{
	const struct window *w = &p->window;
	int64_t ahead = sequence_distance(w->base + w->origin, sequence,
					  p->a.shape->sequence_bits);

	return w->running && ahead < 0 && 0 - (uint64_t)ahead <= w->origin;
}

static void
candidate_dissolve(struct place *p, struct candidate *c)
{
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
	uint64_t off = rel - p->window.origin;
	unsigned i = off >= p->slots;
	uint32_t slot = (uint32_t)(off - i * (uint64_t)p->slots);
	struct block *b = window_block(&p->window, i);
	uint64_t bit = 1ull << slot % 64;

	if (rel >= p->window.highest)
		p->window.highest = rel + 1;
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
		p->window.born[i] = p->now;
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
	if (rel - p->window.origin >= (uint64_t)WINDOW_OPEN * p->slots)
		window_forward(&p->window, rel - p->window.origin);
	return slot_give(p, rel, readable);
}

/* Parked packets go to their slots, as if they had come just now. */
static void
run_begin(struct place *p, struct candidate *c)
{
	uint64_t base;

	window_end(&p->window);
	p->moved_on = true;
	if (!candidate_base(c, p->parts, &base)) {
		p->counts.drop[DROP_BEFORE_START] += c->n;
		c->n = 0;
		return;
	}
	window_begin(&p->window, (uint32_t)p->counts.runs++, base);
	p->reached = 0;
	for (unsigned i = 0; i < c->n; i++) {
		struct candidate_packet *k = &c->packet[i];
		int64_t rel = sequence_distance(base, k->sequence, c->bits);
		uint8_t *to = NULL;

		if (rel < 0)
			p->counts.drop[DROP_BEFORE_START]++;
		else if ((uint64_t)rel < p->window.origin)
			p->counts.drop[DROP_LATE]++;
		else
			to = packet_give(p, (uint64_t)rel, k->readable);
		if (to) {
			memcpy(to, k->payload, p->payload);
			p->counts.moved++;
		}
	}
	c->n = 0;
	p->reached = p->window.highest;
}

static void
packet_park(struct place *p, const struct receive_packet *k,
	    const struct format_packet *f)
{
	struct candidate *c = candidate_choose(p->candidate, f->sequence);
	enum candidate_answer a = candidate_add(c, f->sequence, p->now);
	struct candidate_packet *parked;

	p->parked = true;
	if (a == CANDIDATE_STRANGER) {
		candidate_dissolve(p, c);
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
		run_begin(p, c);
}

/* A packet came where the stream is. */
static void
candidates_oppose(struct place *p)
{
	p->parked = false;
	for (int i = 0; i < CANDIDATES; i++) {
		if (candidate_rival(&p->candidate[i]))
			candidate_dissolve(p, &p->candidate[i]);
		p->parked |= p->candidate[i].n > 0;
	}
}

/* Formats without a sequence: packets follow each other. */
static void
run_begin_arrival(struct place *p)
{
	window_begin(&p->window, (uint32_t)p->counts.runs++, 0);
	p->moved_on = true;
}

static bool
packet_sequence(struct place *p, struct format_packet *f)
{
	if (f->has & FORMAT_SEQUENCE)
		return true;
	if (p->a.shape->sequence != SEQUENCE_ARRIVAL)
		return false;
	if (!p->window.running)
		run_begin_arrival(p);
	f->sequence = p->window.base + p->window.highest;
	return true;
}

/* Relative to the run; false when it is too far from all that is expected. */
static bool
packet_near(const struct place *p, uint64_t sequence, uint64_t *rel)
{
	const struct window *w = &p->window;
	int64_t ahead = sequence_distance(w->base + w->highest, sequence,
					  p->a.shape->sequence_bits);

	*rel = w->highest + (uint64_t)ahead;
	return w->running && ahead <= (int64_t)p->max_gap &&
	       ahead >= -(int64_t)(w->highest - w->origin);
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
	if (p->parked)
		candidates_oppose(p);
}

/* ---- the batch ------------------------------------------------------- */

/* Aims at the free slots of one block; returns how many pairs it wrote. */
static unsigned
aim_block(struct place *p, struct receive_pair *pair, unsigned n, uint64_t off)
{
	struct block *b = window_block(&p->window, (unsigned)(off / p->slots));
	uint32_t slot = (uint32_t)(off % p->slots);
	uint64_t rel = p->window.origin + off;
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
	const struct window *w = &p->window;
	uint64_t rel = aim->run == w->run + 1ull ? aim->next : w->highest;
	uint64_t off = rel > w->origin ? rel - w->origin : 0;
	uint64_t end = (uint64_t)WINDOW_BLOCKS * p->slots;

	p->pair = pair;
	p->keys = 0;
	while (w->running && p->keys < n && off < end) {
		aim_block(p, pair + p->keys, n - p->keys, off);
		if (!w->open[off / p->slots])
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
	window_release(&p->window, p->a.out, p->a.arg);
	if (p->reached) {
		aim->next = p->reached;
		aim->run = p->window.run + 1ull;
	}
}

static bool
oldest_aged(const struct place *p, int64_t now)
{
	int64_t born;

	return window_oldest(&p->window, &born) && now - born >= p->a.max_age;
}

/* Nobody contradicts it, and it is more than one packet. */
static bool
candidate_unopposed(const struct place *p, const struct candidate *c)
{
	return c->n > 1 && (!p->window.running || c->rivals == 0);
}

/* Those that began by `since`, in that order. */
static void
candidates_begin(struct place *p, int64_t since)
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
place_age(struct place *p, int64_t now)
{
	p->now = now;
	while (oldest_aged(p, now))
		window_close_oldest(&p->window);
	candidates_begin(p, now - p->a.max_age);
	window_release(&p->window, p->a.out, p->a.arg);
}

void
place_flush(struct place *p)
{
	candidates_begin(p, INT64_MAX);
	for (int i = 0; i < CANDIDATES; i++) {
		struct candidate *c = &p->candidate[i];

		/* Where nothing else came, a single packet is the recording. */
		if (c->n && !p->window.running)
			run_begin(p, c);
		candidate_dissolve(p, c);
	}
	window_end(&p->window);
	window_release(&p->window, p->a.out, p->a.arg);
}
