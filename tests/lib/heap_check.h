/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_HEAP_CHECK_H
#define SPATE_TESTS_HEAP_CHECK_H

#include "base/crc32c.h"
#include "flow/memory/checksums.h"
#include "lib/heap_sent.h"

/* What comes out, compared with what was sent, byte by byte. */

/* Is that packet's data this heap's, all of it sent? */
static inline bool
bench_is(const struct sent *s, const struct format_piece *p,
	 const uint8_t *data)
{
	if (s->count != p->heap || p->offset + p->bytes > s->length ||
	    (s->sized && s->length != p->length))
		return false;
	return bench_bytes_are(s, p->offset, data, (uint32_t)p->bytes);
}

/* What was sent with a header that nobody meant. */
static inline bool
bench_is_garbage(const uint8_t *data, uint32_t bytes)
{
	return !bytes ||
	       (data[0] == BENCH_GARBAGE && !memcmp(data, data + 1, bytes - 1));
}

/* A heap and another that took its name, before that was complete. */
static inline bool
bench_is_mixed(const struct bench *b, const struct format_piece *p,
	       const uint8_t *data)
{
	for (uint32_t i = 0; i < p->bytes; i++) {
		struct format_piece one = *p;
		unsigned n = 0;

		one.offset += i;
		one.bytes = 1;
		while (n < b->sents && (b->sent[n].count != one.heap ||
					!bench_is(&b->sent[n], &one, data + i)))
			n++;
		if (n == b->sents)
			return false;
	}
	return true;
}

static inline void
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

static inline void
bench_packet_check(struct bench *b, const uint8_t *head,
		   const struct format_piece *p)
{
	const uint8_t *data = head + p->header;
	struct sent *s = b->sent;

	while (s < b->sent + b->sents &&
	       (s->count != p->heap || !bench_is(s, p, data)))
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
	bench_stored(b, s, p->offset, (uint32_t)p->bytes);
	s->times++;
	bench_items_check(b, s, head, p);
}

static inline void
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

static inline void
bench_hole(void *arg, uint64_t at, uint64_t bytes)
{
	struct holes *h = arg;

	BENCH_MUST(bytes && at + bytes <= h->bytes);
	BENCH_MUST(!memchr(h->map + at, 1, bytes));
	memset(h->map + at, 1, bytes);
}

/* The next bytes of a slot, from *to on, that came: or that did not, of `hole`
 * 1.  *from and *to are where they begin and end. */
static inline bool
bench_stretch(const struct bench *b, const uint8_t *map, int hole,
	      uint32_t *from, uint32_t *to)
{
	uint32_t end = b->shape.payload;
	const uint8_t *at = memchr(map + *to, hole, end - *to);

	if (!at)
		return false;
	*from = (uint32_t)(at - map);
	at = memchr(at, !hole, end - *from);
	*to = at ? (uint32_t)(at - map) : end;
	return true;
}

/* Is what came of a slot that heap's? */
static inline bool
bench_slot_is(const struct bench *b, const struct sent *s, const uint8_t *data,
	      const uint8_t *hole)
{
	for (uint32_t at = 0, to = 0; bench_stretch(b, hole, 0, &at, &to);) {
		if (!bench_bytes_are(s, s->skip + at, data + at, to - at))
			return false;
	}
	return true;
}

static inline bool
bench_time_is(const struct bench *b, const struct sent *s, uint64_t time)
{
	return b->any_time ||
	       (s->count_out ? s->count_out : s->count / b->step) == time;
}

/* Of a heap and another that took its name before that was complete, or of
 * packets that nobody meant. */
static inline void
bench_slot_mixed(const struct bench *b, const uint8_t *data,
		 const uint8_t *hole)
{
	for (uint32_t i = 0; i < b->shape.payload; i++) {
		unsigned n = 0;

		if (hole[i] || data[i] == BENCH_GARBAGE)
			continue;
		while (
		    n < b->sents &&
		    (bench_byte(&b->sent[n], b->sent[n].skip + i) != data[i] ||
		     !(b->sent[n].byte[b->sent[n].skip + i] & BYTE_SENT)))
			n++;
		BENCH_MUST(n < b->sents);
	}
}

static inline void
bench_slot_check(struct bench *b, uint64_t time, const uint8_t *data,
		 const uint8_t *hole, bool whole)
{
	uint32_t payload = b->shape.payload, came = 0;
	struct sent *s = b->sent;

	for (uint32_t at = 0, to = 0; bench_stretch(b, hole, 0, &at, &to);)
		came += to - at;
	for (uint32_t at = 0, to = 0; bench_stretch(b, hole, 1, &at, &to);)
		BENCH_MUST(!data[at] &&
			   !memcmp(data + at, data + at + 1, to - at - 1));
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
	for (uint32_t at = 0, to = 0; bench_stretch(b, hole, 0, &at, &to);)
		bench_stored(b, s, s->skip + at, to - at);
	s->times++;
	b->bytes += came;
}

static inline void
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

static inline void
bench_out(void *arg, struct block *k)
{
	struct bench *b = arg;

	BENCH_MUST(k->state == BLOCK_CLOSED);
	BENCH_MUST(k->filled && k->notes && !k->next);
	BENCH_MUST(k->first_ns <= k->last_ns);
	BENCH_MUST(k->run + 1 >= b->runs);
	b->runs = k->run + 1;
	notes_seal(k, &bench_format);
	checksums_seal(k);
	BENCH_MUST(k->crc == crc32c(0, k->data, k->bytes));
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

#endif
