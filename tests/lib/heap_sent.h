/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_HEAP_SENT_H
#define SPATE_TESTS_HEAP_SENT_H

#include <string.h>

#include "format/spead_packet.c"

#include "base/log.h"
#include "flow/heaps/cubes.h"
#include "flow/place/placement.h"
#include "lib/noise.h"
#include "lib/suite.h"

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
	uint8_t *data;	/* NULL: the noise of the tag */
	unsigned times; /* packets that it came out as */
	uint32_t items_out;
	uint32_t skip;	    /* of cubes: bytes before the item, */
	uint64_t count_out; /* and the index of its slot, if not by count */
};

struct bench {
	struct arena *arena;
	struct block_pool *pool;
	struct scratch *scratch;
	struct placement *placement;
	struct geometry geometry;
	struct format_shape shape;
	struct prediction prediction;
	int64_t now;
	bool again;    /* a byte may come out twice */
	bool any_time; /* slots may be of any time */
	uint64_t step; /* of counts */
	uint64_t time; /* of times, for a count of one more */
	uint64_t gap;

	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_packet packet[RECEIVE_BATCH];
	unsigned pairs, packets, room;
	uint32_t elsewhere_used;
	unsigned sents;

	struct block *out[BENCH_SHELF];
	unsigned outs;
	struct block *taken[BENCH_SHELF]; /* away, as if being written */
	unsigned takens;
	uint64_t blocks, filled, bytes, missing, runs, block_bytes;

	/* From here on it is not cleared when a bench is opened: that was most
	 * of the time of tests that open thousands. */
	struct sent sent[BENCH_SENT];
	uint8_t elsewhere[RECEIVE_BATCH * (BENCH_LONGEST + 64)];
};

static const struct format_ops bench_format = {
	.piece = spead_piece,
	.items = spead_items,
	.wrap = spead_wrap,
	.wrap_bytes = spead_wrap_bytes,
	.item = spead_item,
};

/* ---- heaps ----------------------------------------------------------- */

static inline uint8_t
bench_byte(const struct sent *s, uint64_t at)
{
	return s->data ? s->data[at] : noise_byte(s->tag, at);
}

static inline void
bench_bytes(const struct sent *s, uint64_t at, void *to, uint32_t bytes)
{
	if (s->data)
		memcpy(to, s->data + at, bytes);
	else
		noise_fill(s->tag, at, to, bytes);
}

/* Are these bytes of it, and were all of them sent? */
static inline bool
bench_bytes_are(const struct sent *s, uint64_t at, const void *data,
		uint32_t bytes)
{
	if (s->data ? memcmp(data, s->data + at, bytes)
		    : !noise_is(s->tag, at, data, bytes))
		return false;
	return !memchr(s->byte + at, 0, bytes);
}

static inline void
bench_sent(struct sent *s, uint64_t at, uint32_t bytes)
{
	uint8_t *byte = s->byte + at;

	if (!memchr(byte, BYTE_SENT | BYTE_STORED, bytes)) {
		memset(byte, BYTE_SENT, bytes);
		return;
	}
	for (uint32_t i = 0; i < bytes; i++)
		byte[i] |= BYTE_SENT;
}

/* They came out: not before, unless that may be. */
static inline void
bench_stored(const struct bench *b, struct sent *s, uint64_t at, uint32_t bytes)
{
	BENCH_MUST(b->again ||
		   !memchr(s->byte + at, BYTE_SENT | BYTE_STORED, bytes));
	memset(s->byte + at, BYTE_SENT | BYTE_STORED, bytes);
}

/* How many of these bytes were sent and did not come out. */
static inline uint32_t
bench_lost_of(const struct sent *s, uint32_t at, uint32_t bytes)
{
	const uint8_t *end = s->byte + at + bytes, *p = s->byte + at;
	uint32_t n = 0;

	while ((p = memchr(p, BYTE_SENT, (size_t)(end - p)))) {
		p++;
		n++;
	}
	return n;
}

/* An item that is in no packet by itself: immediate, of id 0x1000 and up. */
static inline uint64_t
bench_item(unsigned id, uint64_t value)
{
	return htobe64(UINT64_C(1) << 63 |
		       (uint64_t)(0x1000 + id) << BENCH_BITS | value);
}

static inline struct sent *
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

#endif
