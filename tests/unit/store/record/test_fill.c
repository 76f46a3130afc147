/* SPDX-License-Identifier: MIT */
/*
 * A made-up stream whose every header is known is cut into blocks, packets
 * are taken out, and what fill puts there must be what was taken out, marked
 * invalid, with the pattern as its data.
 */
#include "lib/fake_stream.h"
#include "lib/suite.h"

/* A hole over several seconds, before and behind what is known. */
START_TEST(across_seconds)
{
	struct stream st = { { 0, 1 }, 2, 4, 3, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	shape.fps = 4;
	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 10 * SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (i < 30 || i > 34)
			lose(i);
	}
	fill_block(&fill, &b);
	check(&st);
	fill_finish(&fill);
}
END_TEST

START_TEST(a_thread_gone)
{
	struct stream st = { { 0, 1, 2, 3 }, 4, 4, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	fill_block(&fill, &b);
	for (uint64_t block = 1; block < 5; block++) {
		make(&st, block * SLOTS);
		for (uint32_t i = 2; i < SLOTS; i += 4)
			lose(i);
		fill_block(&fill, &b);
		check(&st);
	}
	fill_finish(&fill);
}
END_TEST

/* Never seen, but the configuration names it. */
START_TEST(a_thread_never_seen)
{
	struct stream st = { { 7, 3, 5 }, 3, 6, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	shape.threads = st.threads;
	shape.threads_n = 3;
	shape.fps = 6;
	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	for (uint64_t block = 0; block < 3; block++) {
		make(&st, block * SLOTS);
		for (uint32_t i = 0; i < SLOTS; i++) {
			if ((b.first + i) % 3 == 1)
				lose(i);
		}
		fill_block(&fill, &b);
		check(&st);
	}
	fill_finish(&fill);
}
END_TEST

START_TEST(no_header_at_all)
{
	struct stream st = { { 0 }, 1, 10, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		write_le32(block_slot(&b, i), 0); /* unreadable */
		if (i % 3)
			lose(i);
	}
	fill_block(&fill, &b);
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (i % 3)
			pattern_from(block_slot(&b, i), 0);
	}
	fill_finish(&fill);
}
END_TEST

/* A neighbour whose header is garbage is not stepped. */
START_TEST(unreadable_neighbour)
{
	struct stream st = { { 0, 1 }, 2, 10, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	write_le32(block_slot(&b, 10), 0);
	lose(12);
	fill_block(&fill, &b);
	ideal(&st, 10, block_slot(&b, 10));
	check(&st);
	fill_finish(&fill);
}
END_TEST

START_TEST(zero)
{
	struct stream st = { { 0 }, 1, 10, 0, 1 };
	struct format_shape shape = shape_of(&st);
	uint8_t zeros[PAYLOAD] = { 0 };
	struct fill fill;

	fill_init(&fill, FILL_ZERO, &fake_format, &shape);
	make(&st, 0);
	lose(0);
	lose(SLOTS - 1);
	fill_block(&fill, &b);
	ck_assert_mem_eq(block_slot(&b, 0), zeros, PAYLOAD);
	ck_assert_mem_eq(block_slot(&b, SLOTS - 1), zeros, PAYLOAD);
	ck_assert_mem_ne(block_slot(&b, 1), zeros, PAYLOAD);
	fill_finish(&fill);
}
END_TEST

/* No frame header, but a counter in the payload: it counts on. */
START_TEST(counter_alone)
{
	struct format_shape shape = { .payload = PAYLOAD,
				      .parts = 1,
				      .sequence = SEQUENCE_BE64,
				      .sequence_at = 8,
				      .header = 16 };
	struct stream st = { { 0 }, 1, 10, 0, 1 };
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 640);
	for (uint32_t i = 0; i < SLOTS; i++) {
		memset(block_slot(&b, i), 0, PAYLOAD);
		lose(i);
	}
	fill_block(&fill, &b);
	ck_assert_uint_eq(read_be64(block_slot(&b, 9) + 8), 5000 + 649);
	ck_assert_uint_eq(read_le32(block_slot(&b, 9)), FILL_PATTERN);
	pattern_from(block_slot(&b, 9), 16);
	fill_finish(&fill);
}
END_TEST

/* Only `used` slots are touched, and a first block that is cut short. */
START_TEST(short_block)
{
	struct stream st = { { 0 }, 1, 10, 0, 1 };
	struct format_shape shape = shape_of(&st);
	struct fill fill;

	fill_init(&fill, FILL_INVALID, &fake_format, &shape);
	make(&st, 0);
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (i != 1)
			lose(i);
	}
	b.used = 4;
	fill_block(&fill, &b);
	check(&st);
	ck_assert_uint_eq(*block_slot(&b, 4), 0xee);
	fill_finish(&fill);
}
END_TEST

SUITE("fill", across_seconds, a_thread_gone, a_thread_never_seen,
      no_header_at_all, unreadable_neighbour, zero, counter_alone, short_block)
