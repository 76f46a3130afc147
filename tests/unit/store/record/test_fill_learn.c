/* SPDX-License-Identifier: MIT */
/* Cycles and frame rates that nobody told, of one run and the next. */
#include "lib/fake_stream.h"
#include "lib/suite.h"

START_TEST(nothing_missing)
{
	struct stream st = { { 0 }, 1, 10, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	fill_block(&fill, &b);
	check(&st);
	ck_assert_uint_eq(fill.cycle, 1);
	ck_assert_uint_eq(fill.fps, 10);
	fill_finish(&fill);
}
END_TEST

/* Every pattern of loss here leaves something of each thread in the block. */
START_TEST(learned)
{
	static const struct stream streams[] = {
		{ { 0 }, 1, 10, 7, 1 },		{ { 5 }, 1, 25, 0, 1 },
		{ { 0, 1, 2, 3 }, 4, 4, 1, 1 }, { { 3, 1, 900 }, 3, 7, 6, 1 },
		{ { 0 }, 1, 3, 2, 2 },		{ { 0, 1 }, 2, 5, 0, 2 },
	};

	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
		const struct stream *st = &streams[i];
		struct format_shape shape = shape_of(st);
		struct fill fill;

		fill_init(&fill, FILL_INVALID, &fake_format, &shape);
		for (uint64_t block = 0; block < 20; block++) {
			make(st, block * SLOTS);
			for (uint32_t k = 0; k < block; k++)
				lose((uint32_t)(block * 5 + k) % SLOTS);
			fill_block(&fill, &b);
			check(st);
		}
		ck_assert_uint_eq(fill.cycle, st->threads_n);
		ck_assert_uint_eq(fill.fps, st->fps);
		fill_finish(&fill);
	}
}
END_TEST

/* A run with another order of threads is not filled from the one before. */
START_TEST(a_new_run)
{
	struct stream one = { { 0, 1 }, 2, 10, 0, 1 };
	struct stream two = { { 2, 3, 4 }, 3, 10, 50, 1 };
	struct format_shape shape = shape_of(&one);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&one, 0);
	lose(5);
	fill_block(&fill, &b);
	check(&one);
	make(&two, 0);
	b.run = 1;
	lose(0);
	lose(1);
	lose(2);
	lose(50);
	fill_block(&fill, &b);
	check(&two);
	ck_assert_uint_eq(fill.cycle, 3);
	fill_finish(&fill);
}
END_TEST

/* Nobody can know its thread: of the right time and invalid will do. */
START_TEST(a_thread_unknown)
{
	struct stream st = { { 7, 3, 5 }, 3, 100, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct format_packet p;
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	for (uint32_t i = 1; i < SLOTS; i += 3)
		lose(i);
	fill_block(&fill, &b);
	for (uint32_t i = 1; i < SLOTS; i += 3) {
		fake_parse(&shape, NULL, block_slot(&b, i), &p);
		ck_assert(p.has & FORMAT_READABLE);
		ck_assert(!(p.has & FORMAT_VALID));
		ck_assert_uint_eq(p.second, 1000);
		ck_assert_uint_eq(p.frame, i / 3);
	}
	fill_finish(&fill);
}
END_TEST

/* Hundreds of fills at once: each as large as its stream has threads. */
START_TEST(as_small_as_its_cycle)
{
	struct stream one = { { 0 }, 1, 10, 0, 1 };
	struct stream two = { { 7, 8, 9 }, 3, 10, 0, 1 };
	struct format_shape shape = shape_of(&one);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	ck_assert_uint_eq(fill.models, 0);
	make(&one, 0);
	fill_block(&fill, &b);
	ck_assert_uint_eq(fill.models, 1);
	make(&two, 0);
	b.run = 1;
	fill_block(&fill, &b);
	ck_assert_uint_eq(fill.models, 3);
	/* And what it remembers is there when a thread is gone. */
	make(&two, SLOTS);
	b.run = 1;
	for (uint32_t i = 2; i < SLOTS; i += 3)
		lose(i);
	fill_block(&fill, &b);
	check(&two);
	fill_finish(&fill);
}
END_TEST

SUITE("fill_learn", nothing_missing, learned, a_new_run, a_thread_unknown,
      as_small_as_its_cycle)
