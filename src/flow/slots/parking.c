/* SPDX-License-Identifier: MIT */
/*
 * A block's presence bits say which of its slots are taken, and `filled` how
 * many; no other code looks at them before the block returns to the stock.
 *
 * A block beyond the guaranteed ones (stock.c) is borrowed only while the stock
 * has plenty: packets of the current run need it more.
 */
#include "flow/slots/parking.h"

#include <errno.h>
#include <stdlib.h>

int
parking_init(struct parking *p, struct stock *stock, unsigned sub,
	     uint32_t slots)
{
	uint32_t places = slots;

	if (places < PARKING_LEAST)
		places = PARKING_LEAST;
	if (places > PARKING_MOST)
		places = PARKING_MOST;
	*p = (struct parking){ .stock = stock, .sub = sub };
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
	if (eager || stock_plenty(p->stock))
		return stock_take(p->stock, p->sub);
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
		stock_put(p->block[i]);
		p->block[i] = NULL;
	}
}
