/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_CUBE_BENCH_H
#define SPATE_TESTS_CUBE_BENCH_H

#include "lib/heap_bench.h"

/* A bench for a cube of small heaps. */
static struct bench bench;

enum { VISIBILITIES = 20000, SLOTS = 6 };

static const struct format_shape by_count = { .time_item = 0 };
static const struct format_shape by_time = { .time_item = BENCH_TIME };

static inline void
cube_open(const struct format_shape *shape, unsigned batch)
{
	bench_open_cube(&bench, VISIBILITIES, SLOTS, shape);
	bench.time = 5000;
	bench_aim(&bench, batch);
}

static inline void
cube_next(unsigned batch)
{
	bench_batch(&bench);
	bench_aim(&bench, batch);
	while (bench.outs)
		bench_home(&bench);
}

/* Bytes of the item that were sent and did not come out. */
static inline uint64_t
lost(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bench.sents; i++) {
		const struct sent *s = &bench.sent[i];

		if (s->length >= VISIBILITIES)
			n += bench_lost_of(s, s->skip, VISIBILITIES);
	}
	return n;
}

static inline const struct counts *
cube_end(void)
{
	bench_batch(&bench);
	bench_flush(&bench);
	return placement_counts(bench.place);
}

static inline void
all_there(unsigned heaps)
{
	const struct counts *c = placement_counts(bench.place);

	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, 0);
	ck_assert_uint_eq(c->heaps, heaps);
	ck_assert_uint_eq(c->heaps_incomplete, 0);
	ck_assert_uint_eq(c->runs, 1);
}

#endif
