/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_HEAP_BENCH_H
#define SPATE_TESTS_HEAP_BENCH_H

#include <unistd.h>

#include "flow/memory/arena.h"
#include "lib/heap_check.h"

/* The bench itself, and the network: see heap_sent.h. */

/* The oldest block is written, and goes home. */
static inline void
bench_home(struct bench *b)
{
	block_seal(b->out[0]);
	memset(b->out[0]->data, 0xdd, notes_end(b->out[0]));
	block_drop(b->out[0]);
	b->outs--;
	memmove(b->out, b->out + 1, b->outs * sizeof b->out[0]);
}

/* All but n free blocks are away. */
static inline void
bench_starve(struct bench *b, unsigned n)
{
	struct block *k;

	for (unsigned sub = 2; sub--;) {
		while (block_pool_free_blocks(b->pool) > n &&
		       (k = block_pool_take(b->pool, sub)))
			b->taken[b->takens++] = k;
	}
}

static inline void
bench_feed(struct bench *b)
{
	while (b->takens)
		block_pool_put(b->taken[--b->takens]);
}

/* ---- the whole ------------------------------------------------------- */

static inline void
bench_make(struct bench *b, unsigned blocks)
{
	struct placement_args args = { .format = &bench_format,
				       .shape = &b->shape,
				       .geometry = &b->geometry,
				       .max_gap = 100 * b->geometry.block_bytes,
				       .max_age = 2000,
				       .out = bench_out,
				       .arg = b };
	struct block_pool_args pool = { .blocks = blocks,
					.slots = b->geometry.slots,
					.slot_bytes = b->shape.payload,
					.subs = 2,
					.extra = heaps_extra(&b->shape,
							     &b->geometry),
					.quantum = 1000 };
	struct fault fault;

	log_level_set(LEVEL_ERROR + 1);
	ck_assert_int_eq(
	    arena_make(&b->arena, block_pool_need(&pool), NULL, &fault), 0);
	while (arena_facts(b->arena).ready < arena_facts(b->arena).bytes)
		usleep(1000);
	ck_assert_int_eq(block_pool_borrow(b->arena, &b->pool, &pool, &fault),
			 0);
	ck_assert_int_eq(heaps_scratch_make(&b->scratch), 0);
	args.pool = b->pool;
	args.scratch = b->scratch;
	ck_assert_int_eq(heaps_make(&b->placement, &args), 0);
	b->now = 1000;
	b->step = 1;
}

static inline void
bench_open(struct bench *b, uint32_t pages, unsigned blocks)
{
	memset(b, 0, offsetof(struct bench, sent));
	b->geometry = (struct geometry){ .payload = 4096,
					 .parts = 1,
					 .quantum = 1,
					 .slots = pages,
					 .block_bytes = pages * 4096ull };
	b->shape = (struct format_shape){ .payload = 4096,
					  .parts = 1,
					  .store = HEAP_ROW };
	bench_make(b, blocks);
}

static inline void
bench_open_cube(struct bench *b, uint32_t payload, uint32_t slots,
		const struct format_shape *more)
{
	memset(b, 0, offsetof(struct bench, sent));
	b->geometry =
	    (struct geometry){ .payload = payload,
			       .parts = 1,
			       .quantum = 1,
			       .slots = slots,
			       .block_bytes = (uint64_t)slots * payload };
	b->shape = *more;
	b->shape.payload = payload;
	b->shape.parts = 1;
	b->shape.store = HEAP_CUBE;
	b->shape.item = BENCH_ITEM;
	bench_make(b, 24);
}

static inline uint64_t
bench_dropped(const struct bench *b)
{
	const struct counts *c = placement_counts(b->placement);
	uint64_t n = 0;

	for (int i = 0; i < DROP_KINDS; i++)
		n += c->drop[i];
	return n;
}

static inline void
bench_flush(struct bench *b)
{
	const struct counts *c = placement_counts(b->placement);

	placement_flush(b->placement);
	ck_assert_uint_eq(c->datagrams, c->placed + bench_dropped(b));
	ck_assert_uint_eq(c->placed, b->filled);
	ck_assert_uint_eq(c->bytes, b->bytes);
}

static inline void
bench_close(struct bench *b)
{
	bench_flush(b);
	while (b->outs)
		bench_home(b);
	bench_feed(b);
	ck_assert_uint_eq(block_pool_free_blocks(b->pool),
			  block_pool_blocks(b->pool));
	placement_free(b->placement);
	scratch_free(b->scratch);
	block_pool_return(b->pool);
	arena_free(b->arena);
	for (unsigned i = 0; i < b->sents; i++) {
		free(b->sent[i].byte);
		free(b->sent[i].item);
		free(b->sent[i].data);
	}
}

static inline uint64_t
bench_drop(const struct bench *b, enum drop why)
{
	return placement_counts(b->placement)->drop[why];
}

/* Bytes of a heap that were sent and did not come out. */
static inline uint32_t
bench_lost(const struct sent *s)
{
	return bench_lost_of(s, 0, s->length);
}

static inline uint64_t
bench_lost_all(const struct bench *b)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < b->sents; i++)
		n += bench_lost(&b->sent[i]);
	return n;
}

/* ---- a batch --------------------------------------------------------- */

static inline void
bench_aim(struct bench *b, unsigned pairs)
{
	b->pairs = pairs;
	b->packets = 0;
	b->elsewhere_used = 0;
	b->scratch->used = 0;
	b->room = placement_aim(b->placement, &b->prediction, b->pair, pairs);
	BENCH_MUST(b->room <= pairs);
	for (unsigned i = 0; i < pairs; i++) {
		memset(b->pair[i].prefix, 0xee, b->pair[i].prefix_bytes);
		memset(b->pair[i].payload, 0xee, b->pair[i].payload_bytes);
	}
}

/* Any bytes come as a packet. */
static inline struct receive_packet *
bench_raw(struct bench *b, const uint8_t *raw, uint32_t bytes, bool away)
{
	unsigned i = b->packets++;
	struct receive_packet *k = &b->packet[i];
	const struct receive_pair *r = &b->pair[i];
	uint32_t have;

	BENCH_MUST(i < RECEIVE_BATCH && bytes <= BENCH_LONGEST);
	*k = (struct receive_packet){ .bytes = bytes };
	if (!away && i < b->pairs &&
	    bytes <= r->prefix_bytes + r->payload_bytes) {
		k->prefix = r->prefix;
		k->payload = r->payload;
		k->prefix_bytes = r->prefix_bytes;
	} else {
		k->prefix = b->elsewhere + b->elsewhere_used;
		k->prefix_bytes = i % 2 ? 64 : 0;
		k->payload = k->prefix + k->prefix_bytes;
		b->elsewhere_used += bytes + 64;
	}
	have = k->prefix_bytes < bytes ? k->prefix_bytes : bytes;
	memcpy(k->prefix, raw, have);
	memcpy(k->payload, raw + have, bytes - have);
	return k;
}

/* Bytes off .. off + bytes of a heap, with so many of its items. */
static inline struct receive_packet *
bench_piece(struct bench *b, struct sent *s, uint32_t off, uint32_t bytes,
	    uint32_t first_item, uint32_t items, bool away)
{
	uint8_t raw[65536];
	struct format_piece p = { .heap = s->count,
				  .length = s->sized ? s->length : 0,
				  .offset = off,
				  .bytes = bytes,
				  .flavour = BENCH_BITS };
	struct receive_packet *k;
	uint32_t n = spead_wrap(&p, s->item + first_item, items, raw);

	BENCH_MUST(off + bytes <= s->length);
	bench_bytes(s, off, raw + n, bytes);
	bench_sent(s, off, bytes);
	k = bench_raw(b, raw, n + bytes, away);
	k->sender = s->sender;
	return k;
}

/* A packet of which only the flags matter. */
static inline void
bench_packet_flags(struct bench *b, uint32_t flags)
{
	bench_raw(b, (const uint8_t *)"nothing", 7, false)->flags = flags;
}

static inline void
bench_batch(struct bench *b)
{
	placement_batch(b->placement, &b->prediction, b->packet, b->packets,
			b->now, b->now);
	b->packets = 0;
}

/* ---- packets as spead2 makes them ------------------------------------ */

/* Which bytes and items are in packet n of a heap, at most so long. */
struct cut {
	uint32_t off, bytes, first_item, items;
};

static inline bool
bench_cut(const struct sent *s, uint32_t longest, unsigned n, struct cut *c)
{
	uint32_t header = 24 + 8 * (1u + s->sized - 0u);
	uint32_t off = 0, item = 0;

	for (unsigned i = 0;; i++) {
		uint32_t room = longest - header - 8; /* a byte of data */

		c->first_item = item;
		c->items = s->items - item;
		if (c->items > room / 8)
			c->items = room / 8;
		c->off = off;
		c->bytes = longest - header - 8 * c->items;
		if (c->bytes > s->length - off)
			c->bytes = s->length - off;
		item += c->items;
		off += c->bytes;
		if (i == n)
			return c->bytes > 0 || (n == 0 && !s->length);
		if (!c->bytes)
			return false;
	}
}

static inline unsigned
bench_cuts(const struct sent *s, uint32_t longest)
{
	struct cut c;
	unsigned n = 0;

	while (bench_cut(s, longest, n, &c))
		n++;
	return n;
}

static inline void
bench_send_cut(struct bench *b, struct sent *s, uint32_t longest, unsigned n)
{
	struct cut c;

	BENCH_MUST(bench_cut(s, longest, n, &c));
	bench_piece(b, s, c.off, c.bytes, c.first_item, c.items, false);
}

/* Packets flow: a batch ends where there are enough. */
static inline void
flow(struct bench *b, struct sent *s, uint32_t longest, unsigned n,
     unsigned batch)
{
	if (b->packets >= batch) {
		bench_batch(b);
		bench_aim(b, batch);
	}
	bench_send_cut(b, s, longest, n);
}

static inline void
flow_heap(struct bench *b, struct sent *s, uint32_t longest, unsigned batch)
{
	unsigned n = bench_cuts(s, longest);

	for (unsigned i = 0; i < n; i++)
		flow(b, s, longest, i, batch);
}

static inline void
flow_open(struct bench *b, uint32_t pages, unsigned blocks, unsigned batch)
{
	bench_open(b, pages, blocks);
	bench_aim(b, batch);
}

static inline const struct counts *
flow_end(struct bench *b)
{
	bench_batch(b);
	bench_flush(b);
	return placement_counts(b->placement);
}

enum { MTU = 1472, JUMBO = 8968 };

/* Everything of every heap came out once, each heap as one packet. */
static inline void
all_whole(const struct bench *b)
{
	ck_assert_uint_eq(bench_lost_all(b), 0);
	for (unsigned i = 0; i < b->sents; i++) {
		ck_assert_uint_eq(b->sent[i].times, 1);
		ck_assert_uint_eq(b->sent[i].items_out, b->sent[i].items);
	}
	ck_assert_uint_eq(b->missing, 0);
	ck_assert_uint_eq(bench_dropped(b), 0);
}

#endif
