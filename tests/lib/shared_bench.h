/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SHARED_BENCH_H
#define SPATE_TESTS_SHARED_BENCH_H

#include <pthread.h>
#include <string.h>

#include "flow/memory/arena.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "lib/dice.h"
#include "flow/memory/checksums.h"
#include "flow/slots/shared.c"
#include "lib/suite.h"

/* How long, in ns, a thread waits for the others before a block is closed or a
 * run begun. */
static inline void
shared_patience(struct placement *handle, int64_t ns)
{
	((struct handle *)handle)->shared->patience = ns;
}

/*
 * A shared placement with an arena, a format, packets whose bytes follow from
 * their sequence, and a look at every block that comes out.
 */
enum { PREFIX = 8, PAYLOAD = 40, THREADS_MOST = 4, EVENTS = 40000 };
#define NONE	UINT64_MAX /* a packet in which no sequence is */
#define UTC	1700000000000000000ll
#define FOREVER (3600 * 1000000000ll) /* no machine is so slow */

#define MUST(what)                                                             \
	do {                                                                   \
		if (!(what))                                                   \
			ck_abort_msg("not so: %s", #what);                     \
	} while (0)

/* One packet that comes. */
struct event {
	uint64_t sequence;
	uint32_t flags;
	unsigned thread;
};

struct bench {
	struct arena *arena;
	struct block_pool *pool;
	struct geometry geometry;
	struct format_shape shape;
	struct placement *handle[THREADS_MOST];
	unsigned threads;
	bool stamped, ages;
	struct event event[EVENTS];
	unsigned events;
	pthread_barrier_t start;

	/* What came out; whoever closes blocks does so alone. */
	bool any;
	uint32_t run;
	uint64_t next, filled;
	uint64_t of_run[8]; /* packets; of the first runs */

	/* All frames of two parts are to be looked at. */
	struct frame_ring *frames;
	unsigned seen; /* frames */
	uint64_t
	    frame[256]; /* the last ones: the sequence of their first part */
};

static void
bench_parse(const struct format_shape *s, const void *prefix,
	    const void *payload, struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_VALID };
	if (!format_counter_read(s, prefix, payload, &p->sequence) ||
	    p->sequence == NONE)
		return;
	p->has |= FORMAT_SEQUENCE;
	p->part = (uint32_t)(p->sequence % s->parts);
	p->frame = (uint32_t)(p->sequence / s->parts);
	if (s->parts > 1)
		p->has |= p->part ? 0 : FORMAT_TIME | FORMAT_READABLE;
	else if (p->sequence % 11)
		p->has |= FORMAT_READABLE;
}

static const struct format_ops bench_format = { .parse = bench_parse };

static void
payload_make(uint64_t sequence, uint8_t *payload)
{
	write_le64(payload, sequence);
	for (uint32_t i = 8; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(((sequence + 1) * 0x9e3779b97f4a7c15 +
					i * 0xd1342543de82ef95) >>
				       56);
}

/* ---- what comes out -------------------------------------------------- */

static void
block_check(struct bench *b, const struct block *k)
{
	uint32_t filled = 0;
	uint8_t ideal[PAYLOAD];

	MUST(k->state == BLOCK_CLOSED);
	MUST(k->used > 0 && k->used <= k->slots);
	MUST(k->first_ns <= k->last_ns);
	for (uint32_t i = 0; i < k->slots; i++) {
		if (!block_has(k, i))
			continue;
		MUST(i < k->used);
		filled++;
		payload_make(k->base + k->first + i, ideal);
		MUST(memcmp(block_slot(k, i), ideal, PAYLOAD) == 0);
	}
	MUST(filled == k->filled);
	MUST(filled > 0);
	if (!b->any || b->run != k->run) {
		MUST(!b->any || k->run > b->run);
		b->next = 0;
	}
	MUST(k->first == b->next + k->gap); /* in order, without holes */
	b->any = true;
	b->run = k->run;
	b->next = k->first + k->used;
	b->filled += filled;
	if (k->run < 8)
		b->of_run[k->run] += filled;
}

/* At once home, and so soon taken again: whoever still wrote into it would
 * spoil the next one. */
static void
bench_out(void *arg, struct block *k)
{
	block_check(arg, k);
	checksums_seal(k);
	MUST(k->crc == crc32c(0, k->data, block_bytes(k)));
	memset(k->data, 0xee, (size_t)k->slots * k->slot_bytes);
	block_seal(k);
	block_drop(k);
}

/* Every frame that is seen is whole. */
static void
frames_check(struct bench *b)
{
	const struct frame_place *f;
	uint8_t ideal[2 * PAYLOAD];

	while (b->frames && (f = frame_ring_get(b->frames))) {
		uint64_t first = read_le64(f->data);

		payload_make(first, ideal);
		payload_make(first + 1, ideal + PAYLOAD);
		MUST(first % 2 == 0);
		MUST(memcmp(f->data, ideal, sizeof ideal) == 0);
		b->frame[b->seen++ % 256] = first;
		frame_ring_drop(b->frames);
	}
}

/* ---- the whole ------------------------------------------------------- */

static void
bench_open(struct bench *b, unsigned threads, uint32_t slots, uint32_t parts)
{
	struct block_pool_args blocks = { .blocks = 16,
					  .slots = slots,
					  .slot_bytes = PAYLOAD,
					  .quantum = 1000 };
	struct placement_args args = { .format = &bench_format,
				       .shape = &b->shape,
				       .geometry = &b->geometry,
				       .max_gap = 1000 * PAYLOAD,
				       .max_age = b->ages ? 20000 : FOREVER,
				       .out = bench_out,
				       .arg = b };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	b->geometry = (struct geometry){ .payload = PAYLOAD,
					 .parts = parts,
					 .quantum = slots,
					 .slots = slots,
					 .block_bytes = slots * PAYLOAD };
	b->shape = (struct format_shape){ .prefix = PREFIX,
					  .payload = PAYLOAD,
					  .sequence = SEQUENCE_LE64,
					  .sequence_bits = 64,
					  .parts = parts };
	b->threads = threads;
	ck_assert_int_eq(arena_make(&b->arena, 1 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(b->arena, &b->pool, &blocks, &fault),
			 0);
	args.pool = b->pool;
	MUST(parts < 3);
	if (parts == 2)
		ck_assert_int_eq(
		    frame_ring_make(&b->frames, 2 * PAYLOAD, EVENTS), 0);
	args.frames = b->frames;
	ck_assert_int_eq(shared_make(b->handle, threads, &args), 0);
	if (b->stamped)
		shared_patience(b->handle[0], FOREVER);
}

static struct counts
bench_counts(const struct bench *b)
{
	struct counts sum = { 0 };

	for (unsigned i = 0; i < b->threads; i++) {
		const uint64_t *from =
		    (const uint64_t *)placement_counts(b->handle[i]);

		for (unsigned j = 0; j < COUNTS; j++)
			((uint64_t *)&sum)[j] += from[j];
	}
	return sum;
}

/* The books: what was brought is in a block that came out, or in a drop. */
static struct counts
bench_close(struct bench *b)
{
	struct counts c = bench_counts(b);
	uint64_t dropped = 0;

	for (int i = 0; i < DROP_KINDS; i++)
		dropped += c.drop[i];
	ck_assert_uint_eq(c.datagrams, b->events);
	ck_assert_uint_eq(c.datagrams, c.placed + dropped);
	ck_assert_uint_eq(c.placed, b->filled);
	ck_assert_uint_eq(c.bytes, c.placed * PAYLOAD);
	ck_assert_uint_eq(block_pool_free_blocks(b->pool),
			  block_pool_blocks(b->pool));
	for (unsigned i = 0; i < b->threads; i++)
		placement_free(b->handle[i]);
	frames_check(b);
	frame_ring_free(b->frames);
	b->frames = NULL;
	block_pool_return(b->pool);
	arena_free(b->arena);
	return c;
}

/* ---- threads --------------------------------------------------------- */

struct thread {
	pthread_t thread;
	unsigned number;
	struct dice dice;
	unsigned next; /* event */
	uint8_t packet[RECEIVE_BATCH][PREFIX + PAYLOAD];
	struct receive_packet batch[RECEIVE_BATCH];
};

static void
packet_make(const struct bench *b, struct thread *t, unsigned i, unsigned event)
{
	const struct event *e = &b->event[event];

	write_le64(t->packet[i], e->sequence);
	payload_make(e->sequence, t->packet[i] + PREFIX);
	t->batch[i] = (struct receive_packet){
		.prefix = t->packet[i],
		.payload = t->packet[i] + PREFIX,
		.prefix_bytes = PREFIX,
		.bytes = e->flags & RECEIVE_CUT ? 7 : PREFIX + PAYLOAD,
		.flags = e->flags & ~(unsigned)RECEIVE_CUT,
		.arrived = b->stamped ? UTC + event * 1000ll : 0,
	};
}

#endif
