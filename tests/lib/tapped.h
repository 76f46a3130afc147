/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_TAPPED_H
#define SPATE_TESTS_TAPPED_H

#include <pthread.h>
#include <string.h>

#include "base/log.h"
#include "lib/fake_format.h"
#include "flow/output/output.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "lib/suite.h"

/*
 * A recording without receivers and disks: a test puts its blocks, is the
 * writer that takes them from the queue, and says what became of them.
 */
enum { BLOCKS = 16, QUARTER = BLOCKS / 4, SLOTS = 8, BYTES = 512 };

struct tapped {
	struct arena *arena;
	struct block_pool *pool;
	struct queue *queue;
	struct taker *taker;
	struct output *output;
	struct format_shape shape;
	uint64_t next_first; /* of the next packet */
	bool hold;	     /* blocks until they are durable */
};

static inline void
nothing(void *arg)
{
	(void)arg;
}

static inline struct output *
output_new(struct tapped *t)
{
	struct output_args args = { .name = "test",
				    .queue = t->queue,
				    .disks = 1,
				    .changed = nothing,
				    .fill = FILL_ZERO,
				    .format = &fake_format,
				    .shape = &t->shape,
				    .hold = t->hold ? t->pool : NULL };
	json_t *head = json_object();
	struct output *o;

	args.head = head;
	ck_assert_int_eq(output_make(&o, &args), 0);
	json_decref(head);
	return o;
}

static inline void
all_open(struct tapped *t)
{
	struct block_pool_args args = { .blocks = BLOCKS,
					.slots = SLOTS,
					.slot_bytes = BYTES,
					.quantum = BLOCK_QUANTUM };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&t->arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(t->arena, &t->pool, &args, &fault),
			 0);
	ck_assert_int_eq(queue_make(&t->queue, BLOCKS), 0);
	ck_assert_int_eq(taker_join(&t->taker, t->queue, 0), 0);
	t->shape = (struct format_shape){ .payload = BYTES, .parts = 1 };
	t->output = output_new(t);
}

static inline void
queue_close(struct tapped *t)
{
	taker_leave(t->taker);
	queue_free(t->queue);
}

static inline void
all_close(struct tapped *t)
{
	ck_assert_uint_eq(block_pool_free_blocks(t->pool), BLOCKS);
	output_drop(t->output);
	queue_close(t);
	block_pool_return(t->pool);
	ck_assert_uint_eq(arena_facts(t->arena).borrowed, 0);
	arena_free(t->arena);
}

/* Of a packet, all of its bytes. */
static inline uint8_t
byte_of(uint64_t sequence)
{
	return (uint8_t)(sequence ^ sequence >> 8);
}

static inline bool
data_is(const uint8_t *data, uint64_t first, uint64_t slots)
{
	for (uint64_t i = 0; i < slots * BYTES; i += 61) {
		if (data[i] != byte_of(first + i / BYTES))
			return false;
	}
	return true;
}

/* A whole block, behind so many slots of nothing; NULL: there is none. */
static inline struct block *
block_new(struct tapped *t, uint64_t gap)
{
	struct block *b = block_pool_take(t->pool, 0);

	if (!b)
		return NULL;
	b->gap = gap;
	b->first = t->next_first + gap;
	t->next_first = b->first + SLOTS;
	for (unsigned i = 0; i < SLOTS; i++)
		memset(block_slot(b, i), byte_of(b->first + i), BYTES);
	b->used = b->filled = SLOTS;
	b->present[0] = (1ull << SLOTS) - 1;
	block_close(b);
	return b;
}

static inline bool
put(struct tapped *t, struct output *o, uint64_t gap)
{
	struct block *b = block_new(t, gap);

	if (b)
		output_put(o, b);
	return b;
}

/* What waits longest is with a writer now. */
static inline struct block *
seal(struct tapped *t)
{
	struct block *b;

	ck_assert_int_eq(queue_take(t->taker, &b, 0), 0);
	output_seal(b->session, b);
	return b;
}

#endif
