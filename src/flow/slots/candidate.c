/* SPDX-License-Identifier: MIT */
/*
 * Thirty-two packets that agree are no accident, and at a gigabit per second
 * they take two milliseconds; until then they cost a copy each.  Candidate and
 * current run race to the same number: a sender that restarted sends nothing
 * into the old window any more, so its candidate wins; stray packets beside a
 * healthy run lose.
 *
 * Thirty-two late packets may come in a row before the run goes on: a path that
 * was held up empties at the speed of its link.  So candidates behind the head
 * need several times as many, and each packet at the head makes their count
 * begin again.
 *
 * Several candidates exist, because garbage mixed into the beginning of a
 * stream agrees with nothing: with only one candidate it threw out, packet by
 * packet, what the stream had parked, and as little as one in thirty kept the
 * run from beginning at all.  Now garbage throws out other garbage, which is
 * weaker.
 */
#include "flow/slots/candidate.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Absolute distance; unsigned, because the far side of a counter has no
 * positive signed distance. */
static uint64_t
apart(uint64_t a, uint64_t b, unsigned bits)
{
	int64_t d = sequence_distance(a, b, bits);

	return d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
}

enum candidate_answer
candidate_add(struct candidate *c, uint64_t sequence, int64_t now)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (candidate_at(c, i)->sequence == sequence)
			return CANDIDATE_DUPLICATE;
	}
	if (candidate_full(c))
		return CANDIDATE_STRANGER;
	if (c->n) {
		if (apart(c->packet[0].sequence, sequence, c->bits) >= c->span)
			return CANDIDATE_STRANGER;
	} else {
		c->rivals = c->quiet = 0;
		c->since = now;
	}
	if (now < c->since)
		c->since = now;
	candidate_at(c, c->n++)->sequence = sequence;
	return ++c->quiet >= c->need ? CANDIDATE_ENOUGH : CANDIDATE_PARKED;
}

/* Compares strength: a candidate with fewer packets is weaker, and of two with
 * as many the older one. */
static bool
is_weaker(const struct candidate *a, const struct candidate *b)
{
	return a->n < b->n || (a->n == b->n && a->order < b->order);
}

struct candidate *
candidate_find(struct candidate *all, uint64_t sequence)
{
	for (struct candidate *c = all; c < all + CANDIDATES; c++) {
		if (c->n &&
		    apart(c->packet[0].sequence, sequence, c->bits) < c->span)
			return c;
	}
	return NULL;
}

struct candidate *
candidate_choose(struct candidate *all, uint64_t sequence)
{
	struct candidate *weakest = all, *found;
	uint64_t order = 0;

	found = candidate_find(all, sequence);
	if (found)
		return found;
	for (struct candidate *c = all; c < all + CANDIDATES; c++) {
		if (is_weaker(c, weakest))
			weakest = c;
		if (c->order > order)
			order = c->order;
	}
	weakest->order = order + 1;
	return weakest;
}

struct candidate *
candidate_weakest(struct candidate *all, const struct candidate *c)
{
	struct candidate *weakest = NULL;

	for (struct candidate *k = all; k < all + CANDIDATES; k++) {
		if (k == c || !k->n || k->n > c->n + 1)
			continue;
		if (!weakest || is_weaker(k, weakest))
			weakest = k;
	}
	return weakest;
}

bool
candidate_rivals(struct candidate *c, unsigned n, int64_t now)
{
	if (!c->n || now < c->since)
		return false;
	c->rivals += n;
	return c->rivals >= CANDIDATE_AGREE;
}

void
candidate_ahead(struct candidate *c, int64_t at)
{
	if (c->n && c->behind && at >= c->since)
		c->quiet = 0;
}

static bool
begins_frame(const struct candidate_packet *p, uint32_t parts)
{
	return parts == 1 ||
	       (p->part < 0 ? p->sequence % parts == 0 : p->part == 0);
}

bool
candidate_base(struct candidate *c, uint32_t parts, uint64_t *base)
{
	bool any = false;

	for (unsigned i = 0; i < c->n; i++) {
		const struct candidate_packet *p = candidate_at(c, i);

		if (!begins_frame(p, parts))
			continue;
		if (!any || sequence_distance(*base, p->sequence, c->bits) < 0)
			*base = p->sequence;
		any = true;
	}
	return any;
}

/* ---- parking ----------------------------------------------------------- */

/*
 * A block's presence bits say which of its slots are taken, and `filled` how
 * many; no other code looks at them before the block returns to the pool.
 *
 * A block beyond the guaranteed ones (pool.c) is borrowed only while the pool
 * has plenty: packets of the current run need it more.
 */

int
parking_init(struct parking *p, struct block_pool *pool, unsigned sub,
	     uint32_t slots)
{
	uint32_t places = slots;

	if (places < PARKING_LEAST)
		places = PARKING_LEAST;
	if (places > PARKING_MOST)
		places = PARKING_MOST;
	*p = (struct parking){ .pool = pool, .sub = sub };
	p->slots = slots < places ? slots : places;
	p->n = (places + p->slots - 1) / p->slots;
	p->block = calloc(p->n, sizeof(struct block *));
	return p->block ? 0 : -ENOMEM;
}

void
parking_finish(struct parking *p)
{
	free(p->block);
}

/* Takes a free slot of a block; -1: none. */
static int
slot_take(struct block *b, uint32_t slots)
{
	if (b->filled == slots)
		return -1;
	for (uint32_t i = 0; i * 64 < slots; i++) {
		uint64_t free = ~b->present[i];
		uint32_t slot =
		    i * 64 + (free ? (uint32_t)__builtin_ctzll(free) : 64);

		if (!free || slot >= slots)
			continue;
		b->present[i] |= 1ull << slot % 64;
		b->filled++;
		return (int)slot;
	}
	return -1;
}

static struct block *
block_borrow(const struct parking *p, bool eager)
{
	if (eager || block_pool_plenty(p->pool))
		return block_pool_take(p->pool, p->sub);
	return NULL;
}

int
parking_take(struct parking *p, bool eager)
{
	for (unsigned i = 0; i < p->n; i++) {
		int slot;

		if (!p->block[i])
			p->block[i] = block_borrow(p, eager && i == 0);
		if (!p->block[i])
			return -1;
		slot = slot_take(p->block[i], p->slots);
		if (slot >= 0)
			return (int)(i * p->slots) + slot;
	}
	return -1;
}

uint8_t *
parking_slot(const struct parking *p, unsigned at)
{
	return block_slot(p->block[at / p->slots], at % p->slots);
}

void
parking_put(struct parking *p, unsigned at)
{
	struct block *b = p->block[at / p->slots];
	uint32_t slot = at % p->slots;

	b->present[slot / 64] &= ~(1ull << slot % 64);
	b->filled--;
}

void
parking_leave(struct parking *p, unsigned at)
{
	p->leaving = true;
	p->left[at / 64] |= 1ull << at % 64;
}

static void
leave(struct parking *p)
{
	for (unsigned i = 0; i < (PARKING_MOST + 63) / 64; i++) {
		for (; p->left[i]; p->left[i] &= p->left[i] - 1)
			parking_put(
			    p, i * 64 + (unsigned)__builtin_ctzll(p->left[i]));
	}
	p->leaving = false;
}

void
parking_release(struct parking *p)
{
	if (p->leaving)
		leave(p);
	for (unsigned i = 0; i < p->n; i++) {
		if (!p->block[i] || p->block[i]->filled)
			continue;
		block_pool_put(p->block[i]);
		p->block[i] = NULL;
	}
}
