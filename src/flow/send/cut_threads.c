/* SPDX-License-Identifier: MIT */
/*
 * Sends chosen threads only.  Each packet says which thread it is of.  A
 * missing packet would have been of the same thread as the packets a whole
 * cycle away, if the threads take turns, and mostly they do.
 *
 * Packets get new numbers by counting those of chosen threads in their run,
 * missing ones too: packets left out are no holes for the receiver, and lost
 * ones still are.
 */
#include <string.h>

#include "flow/send/cut_priv.h"

static bool
wanted(const struct cut *c, int64_t thread)
{
	for (unsigned i = 0; i < c->choice->threads_n; i++)
		if (c->choice->threads[i] == thread)
			return true;
	return false;
}

static uint32_t
cycle(const struct cut *c)
{
	const struct fill *f = &c->s->fill;

	return f->settled ? f->cycle : 0;
}

/* True if the packet with this sequence is of a chosen thread, by its place in
 * the cycle. */
static bool
wanted_at(const struct cut *c, uint64_t sequence)
{
	uint32_t n = cycle(c);

	return n && n <= FILL_CYCLE && wanted(c, c->s->thread[sequence % n]);
}

/* Returns the bits of the parcel, which learning needs, made if there are none;
 * NULL: no memory. */
static uint64_t *
bits_of(struct cut *c)
{
	uint32_t words = (c->slots + 63) / 64;

	if (c->has)
		return (uint64_t *)c->has;
	if (!cut_bits(c, words))
		return NULL;
	memset(c->bits, 0xff, words * sizeof *c->bits);
	return c->bits;
}

/* Notes the thread at each place of the cycle, from the first packets. */
static void
places_learn(struct cut *c)
{
	uint32_t n = cycle(c), look = 2 * n < c->slots ? 2 * n : c->slots;
	struct format_packet p;

	for (uint32_t slot = 0; slot < look && n <= FILL_CYCLE; slot++) {
		p = (struct format_packet){ 0 };
		if (cut_has(c, slot))
			c->format->parse(
			    c->shape, NULL,
			    c->data + (uint64_t)slot * c->slot_bytes, &p);
		if (p.has & FORMAT_READABLE)
			c->s->thread[(c->first + slot) % n] = (int32_t)p.thread;
	}
}

void
cut_learn(struct cut *c)
{
	struct fill *f = &c->s->fill;
	struct block b = { .data = (uint8_t *)c->p.data,
			   .slots = c->slots,
			   .slot_bytes = c->slot_bytes,
			   .used = c->slots,
			   .run = c->p.record.run,
			   .first = c->first,
			   .base = c->p.base };

	if (!(c->threads || c->plain) || !c->format->parse)
		return;
	if (f->run != b.run) {
		fill_begin(f, b.run, b.base);
		if (c->threads)
			memset(c->s->thread, 0xff,
			       FILL_CYCLE * sizeof *c->s->thread);
	}
	b.present = c->p.err || !c->slots ? NULL : bits_of(c);
	if (!b.present)
		return;
	fill_learn(f, &b);
	if (c->threads)
		places_learn(c);
}

uint64_t
cut_thread_count(const struct cut *c, uint64_t first, uint64_t slots)
{
	uint32_t n = cycle(c);
	uint64_t each = 0, count, i;

	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		each += wanted_at(c, i);
	count = slots / n * each;
	for (i = slots / n * n; i < slots; i++)
		count += wanted_at(c, first + i);
	return count;
}

bool
cut_thread(struct cut *c, uint32_t slot, const uint8_t *payload,
	   uint64_t *number)
{
	struct cut_number *b = &c->s->built;
	struct format_packet p = { 0 };
	bool want;

	if (payload)
		c->format->parse(c->shape, NULL, payload, &p);
	if (p.has & FORMAT_READABLE)
		want = wanted(c, p.thread);
	else
		want = wanted_at(c, c->first + slot);
	*number = b->count;
	b->next = c->first + slot + 1;
	b->count += want;
	return want;
}
