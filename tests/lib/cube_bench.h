/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_CUBE_BENCH_H
#define SPATE_TESTS_CUBE_BENCH_H

#include "lib/heap_bench.h"

/* A bench for a cube of small heaps. */

enum { VISIBILITIES = 20000, SLOTS = 6 };

static const struct format_shape by_count = { .time_item = 0 };
static const struct format_shape by_time = { .time_item = BENCH_TIME };

static inline void
cube_open(struct bench *b, const struct format_shape *shape, unsigned batch)
{
	bench_open_cube(b, VISIBILITIES, SLOTS, shape);
	b->time = 5000;
	bench_aim(b, batch);
}

static inline void
cube_next(struct bench *b, unsigned batch)
{
	bench_batch(b);
	bench_aim(b, batch);
	while (b->outs)
		bench_home(b);
}

/* Bytes of the item that were sent and did not come out. */
static inline uint64_t
lost(const struct bench *b)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < b->sents; i++) {
		const struct sent *s = &b->sent[i];

		if (s->length >= VISIBILITIES)
			n += bench_lost_of(s, s->skip, VISIBILITIES);
	}
	return n;
}

static inline const struct counts *
cube_end(struct bench *b)
{
	bench_batch(b);
	bench_flush(b);
	return placement_counts(b->placement);
}

static inline void
all_there(const struct bench *b, unsigned heaps)
{
	const struct counts *c = placement_counts(b->placement);

	ck_assert_uint_eq(lost(b), 0);
	ck_assert_uint_eq(bench_dropped(b), 0);
	ck_assert_uint_eq(b->missing, 0);
	ck_assert_uint_eq(c->heaps, heaps);
	ck_assert_uint_eq(c->heaps_incomplete, 0);
	ck_assert_uint_eq(c->runs, 1);
}

#endif
