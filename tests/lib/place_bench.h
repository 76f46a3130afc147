/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_PLACE_BENCH_H
#define SPATE_TESTS_PLACE_BENCH_H

#include <string.h>

#include "flow/memory/arena.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "flow/memory/checksums.h"
#include "flow/place/learn.h"
#include "flow/slots/slots_priv.h"
#include "lib/noise.h"
#include "lib/suite.h"

/*
 * A bench is a place with everything around it: an arena, a format, a network
 * that lands packets in the pairs or elsewhere, and a shelf of the blocks
 * that came out.
 *
 * A packet is the noise of its sequence, so whether a slot holds what
 * its bit says is seen by looking at it; and before every batch all that the
 * kernel is about to be handed is checked to be nobody's yet.
 */
enum { BENCH_SHELF = 64, BENCH_PREFIX = 8, BENCH_GUARD = 16 };

/* Check writes to a pipe with every assertion, and these are millions. */
#define BENCH_MUST(what)                                                       \
	do {                                                                   \
		if (!(what))                                                   \
			ck_abort_msg("not so: %s", #what);                     \
	} while (0)

#define BENCH_NONE UINT64_MAX /* a packet in which no sequence is */

struct bench {
	struct arena *arena;
	struct block_pool *pool;
	struct scratch *scratch;
	struct placement *placement;
	struct geometry geometry;
	struct format_shape shape;
	struct prediction prediction[2]; /* two sources */
	unsigned source;		 /* the one whose turn it is */
	int64_t now;

	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned pairs, packets;
	uint8_t *elsewhere; /* RECEIVE_BATCH packets, with guards */

	struct block *out[BENCH_SHELF];
	unsigned outs;
	struct block *taken[BENCH_SHELF]; /* away, as if being written */
	unsigned takens;

	/* What came out before, for the order of what comes next. */
	bool any;
	uint32_t run;
	uint64_t next; /* one behind the last slot of the run */
	uint64_t blocks, filled;
	uint64_t stored; /* one behind the last packet of the run */
	uint64_t lost;	 /* slots between two packets of a run */
	uint64_t summed; /* bytes, before a block was sealed */
};

/* ---- the format ------------------------------------------------------ */

static void
bench_parse(const struct format_shape *s, const void *prefix,
	    const void *payload, struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_VALID };
	if (!format_counter_read(s, prefix, payload, &p->sequence))
		return;
	if (p->sequence == (s->sequence_bits == 32 ? UINT32_MAX : BENCH_NONE))
		return;
	p->has |= FORMAT_SEQUENCE | FORMAT_PART;
	p->part = (uint32_t)(p->sequence % s->parts);
	if (p->sequence % 11)
		p->has |= FORMAT_READABLE;
}

static const struct format_ops bench_format = { .parse = bench_parse };

/* The seed of a packet's noise. */
static uint64_t
bench_seed(const struct bench *b, uint64_t sequence)
{
	return b->shape.sequence_bits == 32 ? (uint32_t)sequence : sequence;
}

static void
bench_make(const struct bench *b, uint64_t sequence, uint8_t *prefix,
	   uint8_t *payload)
{
	format_counter_write(&b->shape, sequence, prefix, payload);
	noise_fill(bench_seed(b, sequence), 0, payload, b->geometry.payload);
}

static void
bench_slot_check(const struct bench *b, const struct block *block,
		 uint32_t slot, uint64_t sequence)
{
	if (!noise_is(bench_seed(b, sequence), 0, block_slot(block, slot),
		      block->slot_bytes))
		ck_abort_msg("slot %u does not have packet %llu", slot,
			     (unsigned long long)sequence);
}

static const struct slots *
bench_slots(const struct bench *b)
{
	return (const struct slots *)b->placement;
}

/* ---- what comes out -------------------------------------------------- */

static uint32_t
bench_bits(const struct block *block)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < block->slots; i++)
		n += block_has(block, i);
	return n;
}

/* As who has the blocks counts. */
static void
bench_lost(struct bench *b, const struct block *k)
{
	if (!b->any || b->run != k->run)
		b->stored = 0;
	for (uint32_t i = 0; i < k->used; i++) {
		if (!block_has(k, i))
			continue;
		if (b->stored)
			b->lost += k->first + i - b->stored;
		b->stored = k->first + i + 1;
	}
}

static void
bench_block_check(struct bench *b, const struct block *k)
{
	uint32_t filled = 0;

	BENCH_MUST(k->state == BLOCK_CLOSED);
	BENCH_MUST(k->used > 0);
	BENCH_MUST(k->used <= k->slots);
	BENCH_MUST(k->used % b->geometry.parts == 0);
	BENCH_MUST(!k->next);
	BENCH_MUST(k->first_ns <= k->last_ns);
	for (uint32_t i = 0; i < k->used; i++) {
		if (!block_has(k, i))
			continue;
		filled++;
		bench_slot_check(b, k, i, k->base + k->first + i);
	}
	bench_lost(b, k);
	BENCH_MUST(filled == k->filled);
	BENCH_MUST(filled == bench_bits(k));
	BENCH_MUST(filled > 0);
	if (!b->any || b->run != k->run) {
		BENCH_MUST(!b->any || k->run > b->run);
		b->next = 0;
	}
	/* Gaps and blocks tile the run. */
	BENCH_MUST(k->first == b->next + k->gap);
	BENCH_MUST(k->gap % b->geometry.parts == 0);
	b->any = true;
	b->run = k->run;
	b->next = k->first + k->used;
	b->blocks++;
	b->filled += k->filled;
}

static void
bench_out(void *arg, struct block *k)
{
	struct bench *b = arg;

	bench_block_check(b, k);
	BENCH_MUST(b->outs < BENCH_SHELF);
	b->out[b->outs++] = k;
}

/* What was summed up so far is what is there. */
static void
bench_sums_check(const struct block *k)
{
	for (uint64_t at = 0; at < (uint64_t)k->slots * k->slot_bytes;
	     at += k->quantum) {
		const struct block_sum *s = &k->sum[at / k->quantum];

		BENCH_MUST(s->bytes <= k->quantum);
		BENCH_MUST(s->crc == crc32c(0, k->data + at, s->bytes));
	}
}

/* A writer fills the holes, and sums up. */
static void
bench_seal(struct bench *b, struct block *k)
{
	uint64_t bytes = block_bytes(k);

	for (uint32_t i = 0; i < k->used; i++) {
		if (!block_has(k, i))
			memset(block_slot(k, i), 0xee, k->slot_bytes);
	}
	for (uint64_t at = 0; at < bytes; at += k->quantum)
		b->summed += k->sum[at / k->quantum].bytes;
	checksums_seal(k);
	for (uint64_t at = 0; at < bytes; at += k->quantum) {
		uint64_t left = bytes - at;

		BENCH_MUST(k->sum[at / k->quantum].bytes ==
			   (left < k->quantum ? left : k->quantum));
	}
	bench_sums_check(k);
	BENCH_MUST(k->crc == crc32c(0, k->data, bytes));
	block_seal(k);
}

/* The oldest block is written, and goes home. */
static void
bench_home(struct bench *b)
{
	bench_seal(b, b->out[0]);
	block_drop(b->out[0]);
	b->outs--;
	memmove(b->out, b->out + 1, b->outs * sizeof b->out[0]);
}

/* All but n free blocks are away. */
static inline void
bench_starve(struct bench *b, unsigned n)
{
	while (block_pool_free_blocks(b->pool) > n)
		b->taken[b->takens++] = block_pool_take(b->pool, 0);
}

static inline void
bench_feed(struct bench *b)
{
	while (b->takens)
		block_pool_put(b->taken[--b->takens]);
}

/* ---- the whole ------------------------------------------------------- */

struct bench_args {
	uint32_t payload, slots, parts, bits;
	unsigned blocks;
	uint64_t max_gap; /* slots */
	int64_t max_age;
	bool arrival;
	uint32_t quantum; /* bytes; 0: some */
};

static void
bench_open(struct bench *b, const struct bench_args *a)
{
	struct placement_args args = { .format = &bench_format,
				       .shape = &b->shape,
				       .geometry = &b->geometry,
				       .max_gap = a->max_gap * a->payload,
				       .max_age = a->max_age,
				       .out = bench_out,
				       .arg = b };
	struct block_pool_args blocks;
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	memset(b, 0, sizeof *b);
	b->geometry =
	    (struct geometry){ .payload = a->payload,
			       .parts = a->parts,
			       .quantum = a->slots,
			       .slots = a->slots,
			       .block_bytes = (uint64_t)a->slots * a->payload };
	b->shape =
	    (struct format_shape){ .prefix = BENCH_PREFIX,
				   .payload = a->payload,
				   .sequence = a->arrival ? SEQUENCE_ARRIVAL
					       : a->bits == 32 ? SEQUENCE_LE32
							       : SEQUENCE_LE64,
				   .sequence_bits = a->bits,
				   .parts = a->parts };
	ck_assert_int_eq(arena_make(&b->arena, 1 << 20, NULL, &fault), 0);
	blocks = (struct block_pool_args){ .blocks = a->blocks,
					   .slots = a->slots,
					   .slot_bytes = a->payload,
					   .side = 64 + 8 * a->slots,
					   .quantum =
					       a->quantum ? a->quantum : 1000 };
	ck_assert_int_eq(block_pool_borrow(b->arena, &b->pool, &blocks, &fault),
			 0);
	args.pool = b->pool;
	ck_assert_int_eq(slots_scratch_make(&b->scratch, &args), 0);
	args.scratch = b->scratch;
	ck_assert_int_eq(slots_make(&b->placement, &args), 0);
	b->elsewhere = calloc(RECEIVE_BATCH, BENCH_PREFIX + a->payload);
	b->now = 1000;
}

static uint64_t
bench_dropped(const struct bench *b)
{
	const struct counts *c = placement_counts(b->placement);
	uint64_t n = 0;

	for (int i = 0; i < DROP_KINDS; i++)
		n += c->drop[i];
	return n;
}

/* After everything: each datagram is in one place, each block comes home. */
static void
bench_close(struct bench *b)
{
	const struct counts *c = placement_counts(b->placement);

	placement_flush(b->placement);
	ck_assert_uint_eq(c->datagrams, c->placed + bench_dropped(b));
	ck_assert_uint_eq(c->placed, b->filled);
	/* More where a run had no memory for any of its packets. */
	if (b->any)
		ck_assert_uint_ge(c->runs, b->run + 1);
	while (b->outs)
		bench_home(b);
	bench_feed(b);
	ck_assert_uint_eq(block_pool_free_blocks(b->pool),
			  block_pool_blocks(b->pool));
	placement_free(b->placement);
	scratch_free(b->scratch);
	block_pool_return(b->pool);
	arena_free(b->arena);
	free(b->elsewhere);
}

/* ---- a batch --------------------------------------------------------- */

/* Is this slot free to be written by the kernel? */
static void
bench_pair_check(const struct bench *b, const uint8_t *at)
{
	const struct slots *p = bench_slots(b);

	for (unsigned i = 0; i < b->outs; i++) {
		const struct block *k = b->out[i];

		BENCH_MUST(at < k->data || at >= block_slot(k, k->slots));
	}
	for (unsigned i = 0; i < WINDOW_BLOCKS; i++) {
		const struct block *k = p->window.open[i];
		size_t off;

		if (!k || at < k->data || at >= block_slot(k, k->slots))
			continue;
		off = (size_t)(at - k->data);
		BENCH_MUST(off % k->slot_bytes == 0);
		BENCH_MUST(!block_has(k, (uint32_t)(off / k->slot_bytes)));
	}
}

static int
bench_before(const void *a, const void *b)
{
	const uint8_t *const *p = a, *const *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* No two pairs are one memory. */
static void
bench_pairs_differ(const struct bench *b, unsigned pairs)
{
	const uint8_t *at[2 * RECEIVE_BATCH];

	for (unsigned i = 0; i < pairs; i++) {
		at[i] = b->pair[i].payload;
		at[pairs + i] = b->pair[i].prefix;
	}
	qsort(at, 2 * pairs, sizeof *at, bench_before);
	for (unsigned i = 1; i < 2 * pairs; i++)
		BENCH_MUST(at[i - 1] != at[i]);
}

/* Returns the room. */
static unsigned
bench_aim(struct bench *b, unsigned pairs)
{
	unsigned room;

	b->pairs = pairs;
	b->packets = 0;
	b->scratch->used = 0;
	room = placement_aim(b->placement, &b->prediction[b->source], b->pair,
			     pairs);
	for (unsigned i = 0; i < pairs; i++)
		bench_pair_check(b, b->pair[i].payload);
	bench_pairs_differ(b, pairs);
	return room;
}

/* A packet comes: into its pair, or `away`. */
static struct receive_packet *
bench_packet(struct bench *b, uint64_t sequence, bool away)
{
	unsigned i = b->packets++;
	struct receive_packet *k = &b->packet[i];
	uint8_t *at =
	    b->elsewhere + (size_t)i * (BENCH_PREFIX + b->geometry.payload);

	BENCH_MUST(i < RECEIVE_BATCH);
	*k = (struct receive_packet){ .prefix = at,
				      .payload = at + BENCH_PREFIX,
				      .bytes =
					  BENCH_PREFIX + b->geometry.payload };
	if (!away && i < b->pairs) {
		k->prefix = b->pair[i].prefix;
		k->payload = b->pair[i].payload;
	}
	bench_make(b, sequence, k->prefix, k->payload);
	return k;
}

/* Every slot of the open blocks with a bit holds its packet. */
static void
bench_open_check(struct bench *b)
{
	const struct slots *p = bench_slots(b);
	uint64_t filled = b->filled;

	for (unsigned i = 0; i < WINDOW_BLOCKS; i++) {
		const struct block *k = p->window.open[i];
		uint64_t first = p->window.origin + i * (uint64_t)p->slots;

		if (!k)
			continue;
		BENCH_MUST(k->state == BLOCK_OPEN);
		BENCH_MUST(k->filled == bench_bits(k));
		bench_sums_check(k);
		BENCH_MUST(i < WINDOW_OPEN || !k->filled);
		filled += k->filled;
		for (uint32_t slot = 0; slot < k->slots; slot++) {
			if (block_has(k, slot))
				bench_slot_check(b, k, slot,
						 p->window.base + first + slot);
		}
	}
	for (const struct block *k = p->window.closed; k; k = k->next)
		filled += k->filled;
	BENCH_MUST(filled == placement_counts(&p->base)->placed);
}

static void
bench_batch(struct bench *b)
{
	const struct counts *c = placement_counts(b->placement);
	uint64_t parked;

	placement_batch(b->placement, &b->prediction[b->source], b->packet,
			b->packets, b->now, b->now);
	b->packets = 0;
	bench_open_check(b);
	parked = bench_slots(b)->echo.n;
	for (int i = 0; i < CANDIDATES; i++)
		parked += bench_slots(b)->candidate[i].n;
	for (struct held *h = bench_slots(b)->held; h; h = h->next) {
		for (uint32_t slot = h->at; slot < h->end; slot++)
			parked += block_has(h->b, slot);
	}
	BENCH_MUST(c->datagrams == c->placed + bench_dropped(b) + parked);
}

#endif
