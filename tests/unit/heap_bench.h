/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_HEAP_BENCH_H
#define SPATE_TESTS_HEAP_BENCH_H

#include <string.h>

#include "../../plugins/format/spead_packet.c"

#include "base/log.h"
#include "flow/heaps_priv.h"
#include "flow/place.h"
#include "flow/spare.h"
#include "suite.h"

/*
 * A bench is a place of heaps with everything around it: senders of SPEAD
 * packets, a network that lands them in pairs or elsewhere, and a shelf of
 * the blocks that came out.
 *
 * What was sent is remembered byte by byte, and what comes out is compared
 * with that, knowing nothing of how it got there.  The kernel may write to
 * every pair, and here it does: all of each is overwritten before packets
 * land, so that a pair in the wrong place shows.
 */
enum {
	BENCH_SHELF = 256,
	BENCH_SENT = 8192,
	BENCH_ITEMS = 1024,
	BENCH_BITS = 48,
	BENCH_LONGEST = 65507,
	BENCH_GARBAGE = 0xab, /* bytes of packets that nobody meant */
};

#define BENCH_MUST(what)                                                       \
	do {                                                                   \
		if (!(what))                                                   \
			ck_abort_msg("not so: %s", #what);                     \
	} while (0)

enum { BYTE_SENT = 1, BYTE_STORED = 2 };

/* A heap that is sent. */
struct sent {
	uint64_t count;
	uint32_t sender, tag, length;
	bool sized;
	uint32_t items;
	uint64_t *item;
	uint8_t *byte;	/* BYTE_ of each */
	uint8_t *data;	/* NULL: they follow from the tag */
	unsigned times; /* packets that it came out as */
	uint32_t items_out;
	uint32_t skip;	    /* of cubes: bytes before the item, */
	uint64_t count_out; /* and the index of its slot, if not by count */
};

struct bench {
	struct pool *pool;
	struct stock *stock;
	struct spare *spare;
	struct place *place;
	struct geometry geometry;
	struct format_shape shape;
	struct aim aim;
	int64_t now;
	bool again;    /* a byte may come out twice */
	bool any_time; /* slots may be of any time */
	uint64_t step; /* of counts */
	uint64_t time; /* of times, for a count of one more */
	uint64_t gap;

	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned pairs, packets, room;
	uint8_t *elsewhere;
	uint32_t elsewhere_used;

	struct sent sent[BENCH_SENT];
	unsigned sents;

	struct block *out[BENCH_SHELF];
	unsigned outs;
	struct block *taken[BENCH_SHELF]; /* away, as if being written */
	unsigned takens;
	uint64_t blocks, filled, bytes, missing, runs, block_bytes;
};

static const struct format_ops bench_format = {
	.piece = spead_piece,
	.items = spead_items,
	.wrap = spead_wrap,
	.wrap_bytes = spead_wrap_bytes,
	.item = spead_item,
};

/* ---- heaps ----------------------------------------------------------- */

static uint8_t
bench_byte(const struct sent *s, uint64_t at)
{
	if (s->data)
		return s->data[at];
	uint64_t v =
	    (s->tag + 1) * 0x9e3779b97f4a7c15 + at * 0xd1342543de82ef95;

	return (uint8_t)(v >> 56 ^ v >> 24);
}

/* An item that is in no packet by itself: immediate, of id 0x1000 and up. */
static uint64_t
bench_item(unsigned id, uint64_t value)
{
	return htobe64(UINT64_C(1) << 63 |
		       (uint64_t)(0x1000 + id) << BENCH_BITS | value);
}

static struct sent *
bench_heap(struct bench *b, uint64_t count, uint32_t length, uint32_t items)
{
	struct sent *s = &b->sent[b->sents];

	BENCH_MUST(b->sents < BENCH_SENT);
	*s = (struct sent){ .count = count,
			    .length = length,
			    .tag = b->sents++,
			    .sized = true,
			    .items = items };
	s->byte = calloc(length + 1, 1);
	s->item = calloc(items + 1, sizeof *s->item);
	for (uint32_t i = 0; i < items; i++)
		s->item[i] = bench_item(i, s->tag);
	return s;
}

/* A heap that begins or ends a stream. */
static inline struct sent *
bench_control(struct bench *b, uint64_t count, uint16_t control)
{
	struct sent *s = bench_heap(b, count, 1, 1);

	s->item[0] = htobe64(UINT64_C(1) << 63 | UINT64_C(6) << BENCH_BITS |
			     (control - PIECE_START));
	return s;
}

/* ---- what comes out -------------------------------------------------- */

/* Is that packet's data this heap's, all of it sent? */
static bool
bench_is(const struct sent *s, const struct format_piece *p,
	 const uint8_t *data)
{
	if (s->count != p->heap || p->offset + p->bytes > s->length ||
	    (s->sized && s->length != p->length))
		return false;
	for (uint32_t i = 0; i < p->bytes; i++) {
		if (data[i] != bench_byte(s, p->offset + i) ||
		    !(s->byte[p->offset + i] & BYTE_SENT))
			return false;
	}
	return true;
}

/* What was sent with a header that nobody meant. */
static bool
bench_is_garbage(const uint8_t *data, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++) {
		if (data[i] != BENCH_GARBAGE)
			return false;
	}
	return true;
}

/* A heap and another that took its name, before that was complete. */
static bool
bench_is_mixed(const struct bench *b, const struct format_piece *p,
	       const uint8_t *data)
{
	for (uint32_t i = 0; i < p->bytes; i++) {
		struct format_piece one = *p;
		unsigned n = 0;

		one.offset += i;
		one.bytes = 1;
		while (n < b->sents && !bench_is(&b->sent[n], &one, data + i))
			n++;
		if (n == b->sents)
			return false;
	}
	return true;
}

static void
bench_items_check(const struct bench *b, struct sent *s, const uint8_t *head,
		  const struct format_piece *p)
{
	uint64_t item[NOTES_ITEMS];
	uint32_t n = spead_items(head, p, item, NOTES_ITEMS), at = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (at = 0; at < s->items && s->item[at] != item[i]; at++)
			;
		if (at == s->items && !b->again)
			ck_abort_msg("heap %llu came with an item not sent",
				     (unsigned long long)s->count);
	}
	s->items_out += n;
}

static void
bench_packet_check(struct bench *b, const uint8_t *head,
		   const struct format_piece *p)
{
	const uint8_t *data = head + p->header;
	struct sent *s = b->sent;

	while (s < b->sent + b->sents && !bench_is(s, p, data))
		s++;
	if (s == b->sent + b->sents &&
	    (bench_is_garbage(data, p->bytes) ||
	     (b->again && bench_is_mixed(b, p, data))))
		return;
	if (s == b->sent + b->sents)
		ck_abort_msg("bytes %llu to %llu of heap %llu were never sent",
			     (unsigned long long)p->offset,
			     (unsigned long long)(p->offset + p->bytes),
			     (unsigned long long)p->heap);
	for (uint32_t i = 0; i < p->bytes; i++) {
		uint8_t *byte = &s->byte[p->offset + i];

		BENCH_MUST(b->again || !(*byte & BYTE_STORED));
		*byte |= BYTE_STORED;
	}
	s->times++;
	bench_items_check(b, s, head, p);
}

static void
bench_row_check(struct bench *b, const struct block *k)
{
	uint64_t at = 0;
	struct format_piece p;

	while (at < k->bytes) {
		BENCH_MUST(spead_piece(k->data + at, UINT32_MAX, 0, &p) == 0);
		BENCH_MUST(at + p.header + p.bytes <= k->bytes);
		bench_packet_check(b, k->data + at, &p);
		b->bytes += p.bytes;
		at += p.header + p.bytes;
	}
	BENCH_MUST(at == k->bytes);
}

/* ---- cubes ----------------------------------------------------------- */

enum { BENCH_ITEM = 0x600A, BENCH_TIME = 0x1600 };

/* One with the item behind `skip` other bytes, and `tail` behind it; its
 * second item is its time. */
static inline struct sent *
bench_cube(struct bench *b, uint64_t count, uint32_t skip, uint32_t tail)
{
	uint32_t payload = b->shape.payload;
	struct sent *s =
	    bench_heap(b, count, skip + payload + tail, 3 + (tail > 0));

	s->item[1] =
	    htobe64(UINT64_C(1) << 63 | (uint64_t)BENCH_TIME << BENCH_BITS |
		    count * b->time);
	s->item[2] = htobe64((uint64_t)BENCH_ITEM << BENCH_BITS | skip);
	if (tail)
		s->item[3] =
		    htobe64((uint64_t)0x600B << BENCH_BITS | (skip + payload));
	s->skip = skip;
	return s;
}

struct holes {
	uint8_t *map;
	uint64_t bytes;
};

static void
bench_hole(void *arg, uint64_t at, uint64_t bytes)
{
	struct holes *h = arg;

	BENCH_MUST(bytes && at + bytes <= h->bytes);
	for (uint64_t i = at; i < at + bytes; i++) {
		BENCH_MUST(!h->map[i]);
		h->map[i] = 1;
	}
}

/* Is what came of a slot that heap's? */
static bool
bench_slot_is(const struct bench *b, const struct sent *s, const uint8_t *data,
	      const uint8_t *hole)
{
	for (uint32_t i = 0; i < b->shape.payload; i++) {
		if (hole[i])
			continue;
		if (data[i] != bench_byte(s, s->skip + i) ||
		    !(s->byte[s->skip + i] & BYTE_SENT))
			return false;
	}
	return true;
}

static bool
bench_time_is(const struct bench *b, const struct sent *s, uint64_t time)
{
	return b->any_time ||
	       (s->count_out ? s->count_out : s->count / b->step) == time;
}

/* Of a heap and another that took its name before that was complete, or of
 * packets that nobody meant. */
static void
bench_slot_mixed(const struct bench *b, const uint8_t *data,
		 const uint8_t *hole)
{
	for (uint32_t i = 0; i < b->shape.payload; i++) {
		unsigned n = 0;

		while (
		    n < b->sents &&
		    (bench_byte(&b->sent[n], b->sent[n].skip + i) != data[i] ||
		     !(b->sent[n].byte[b->sent[n].skip + i] & BYTE_SENT)))
			n++;
		BENCH_MUST(hole[i] || n < b->sents || data[i] == BENCH_GARBAGE);
	}
}

static void
bench_slot_check(struct bench *b, uint64_t time, const uint8_t *data,
		 const uint8_t *hole, bool whole)
{
	uint32_t payload = b->shape.payload, came = 0;
	struct sent *s = b->sent;

	for (uint32_t i = 0; i < payload; i++) {
		came += !hole[i];
		BENCH_MUST(!hole[i] || !data[i]);
	}
	BENCH_MUST(whole == (came == payload));
	if (!came)
		return;
	while (s < b->sent + b->sents &&
	       (!bench_time_is(b, s, time) || s->length < payload ||
		!bench_slot_is(b, s, data, hole)))
		s++;
	if (s == b->sent + b->sents && b->again) {
		bench_slot_mixed(b, data, hole);
		b->bytes += came;
		return;
	}
	if (s == b->sent + b->sents)
		ck_abort_msg("slot of time %llu is of no heap",
			     (unsigned long long)time);
	for (uint32_t i = 0; i < payload; i++) {
		if (hole[i])
			continue;
		BENCH_MUST(b->again || !(s->byte[s->skip + i] & BYTE_STORED));
		s->byte[s->skip + i] |= BYTE_STORED;
	}
	s->times++;
	b->bytes += came;
}

static void
bench_cube_check(struct bench *b, const struct block *k)
{
	struct holes h = { .bytes = (uint64_t)k->used * k->slot_bytes };

	BENCH_MUST(k->used && k->used <= k->slots);
	BENCH_MUST(k->bytes == h.bytes);
	h.map = calloc(h.bytes, 1);
	notes_holes(k, bench_hole, &h);
	for (uint32_t i = 0; i < k->used; i++) {
		uint64_t at = (uint64_t)i * k->slot_bytes;

		bench_slot_check(b, k->base + k->first + i, k->data + at,
				 h.map + at, block_has(k, i));
	}
	free(h.map);
	b->gap += k->gap;
}

static void
bench_out(void *arg, struct block *k)
{
	struct bench *b = arg;

	BENCH_MUST(k->state == BLOCK_CLOSED);
	BENCH_MUST(k->filled && k->notes && !k->next);
	BENCH_MUST(k->first_ns <= k->last_ns);
	BENCH_MUST(k->run + 1 >= b->runs);
	b->runs = k->run + 1;
	notes_seal(k, &bench_format);
	BENCH_MUST(k->bytes <= (uint64_t)k->slots * k->slot_bytes);
	if (b->shape.store == HEAP_CUBE)
		bench_cube_check(b, k);
	else
		bench_row_check(b, k);
	b->blocks++;
	b->filled += k->filled;
	b->missing += k->missing;
	b->block_bytes += k->bytes;
	BENCH_MUST(b->outs < BENCH_SHELF);
	b->out[b->outs++] = k;
}

/* The oldest block is written, and goes home. */
static void
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
		while (stock_home(b->stock) > n &&
		       (k = stock_take(b->stock, sub)))
			b->taken[b->takens++] = k;
	}
}

static void
bench_feed(struct bench *b)
{
	while (b->takens)
		stock_put(b->taken[--b->takens]);
}

/* ---- the whole ------------------------------------------------------- */

static void
bench_make(struct bench *b, unsigned blocks)
{
	struct place_args args = { .format = &bench_format,
				   .shape = &b->shape,
				   .geometry = &b->geometry,
				   .max_gap = 100 * b->geometry.block_bytes,
				   .max_age = 2000,
				   .out = bench_out,
				   .arg = b };
	struct stock_args stock = { .blocks = blocks,
				    .slots = b->geometry.slots,
				    .slot_bytes = b->shape.payload,
				    .subs = 2,
				    .extra =
					place_extra(&b->shape, &b->geometry) };
	struct fault fault;

	log_level_set(LOG_ERROR + 1);
	ck_assert_int_eq(pool_make(&b->pool, pool_need(&stock), &fault), 0);
	ck_assert_int_eq(pool_borrow(b->pool, &b->stock, &stock, &fault), 0);
	ck_assert_int_eq(place_spare(&b->spare, &args), 0);
	args.stock = b->stock;
	args.spare = b->spare;
	ck_assert_int_eq(place_make(&b->place, &args), 0);
	b->elsewhere = malloc(RECEIVE_BATCH * 65536);
	b->now = 1000;
	b->step = 1;
}

static void
bench_open(struct bench *b, uint32_t pages, unsigned blocks)
{
	memset(b, 0, sizeof *b);
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
	memset(b, 0, sizeof *b);
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

static uint64_t
bench_dropped(const struct bench *b)
{
	const struct counts *c = place_counts(b->place);
	uint64_t n = 0;

	for (int i = 0; i < DROP_KINDS; i++)
		n += c->drop[i];
	return n;
}

static void
bench_flush(struct bench *b)
{
	const struct counts *c = place_counts(b->place);

	place_flush(b->place);
	ck_assert_uint_eq(c->datagrams, c->placed + bench_dropped(b));
	ck_assert_uint_eq(c->placed, b->filled);
	ck_assert_uint_eq(c->bytes, b->bytes);
}

static void
bench_close(struct bench *b)
{
	bench_flush(b);
	while (b->outs)
		bench_home(b);
	bench_feed(b);
	ck_assert_uint_eq(stock_home(b->stock), stock_blocks(b->stock));
	place_free(b->place);
	spare_free(b->spare);
	stock_return(b->stock);
	pool_free(b->pool);
	for (unsigned i = 0; i < b->sents; i++) {
		free(b->sent[i].byte);
		free(b->sent[i].item);
		free(b->sent[i].data);
	}
	free(b->elsewhere);
}

static uint64_t
bench_drop(const struct bench *b, enum drop why)
{
	return place_counts(b->place)->drop[why];
}

/* Bytes of a heap that were sent and did not come out. */
static uint32_t
bench_lost(const struct sent *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->length; i++)
		n += s->byte[i] == BYTE_SENT;
	return n;
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

static void
bench_aim(struct bench *b, unsigned pairs)
{
	b->pairs = pairs;
	b->packets = 0;
	b->elsewhere_used = 0;
	b->spare->used = 0;
	b->room = place_aim(b->place, &b->aim, b->pair, pairs);
	BENCH_MUST(b->room <= pairs);
	for (unsigned i = 0; i < pairs; i++) {
		memset(b->pair[i].prefix, 0xee, b->pair[i].prefix_bytes);
		memset(b->pair[i].payload, 0xee, b->pair[i].payload_bytes);
	}
}

/* Any bytes come as a packet. */
static struct receive_packet *
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
static struct receive_packet *
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
	for (uint32_t i = 0; i < bytes; i++) {
		raw[n + i] = bench_byte(s, off + i);
		s->byte[off + i] |= BYTE_SENT;
	}
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

static void
bench_batch(struct bench *b)
{
	place_batch(b->place, &b->aim, b->packet, b->packets, b->now, b->now);
	b->packets = 0;
}

/* ---- packets as spead2 makes them ------------------------------------ */

/* Which bytes and items are in packet n of a heap, at most so long. */
struct cut {
	uint32_t off, bytes, first_item, items;
};

static bool
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
static void
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
	return place_counts(b->place);
}

#endif
