/* SPDX-License-Identifier: MIT */
/*
 * A made-up stream whose every header is known is cut into blocks, packets
 * are taken out, and what fill puts there must be what was taken out, marked
 * invalid, with the pattern as its data.
 */
#include "lib/fake_stream.h"
#include "lib/suite.h"

static uint64_t present[SLOTS / 64];
static uint8_t data[SLOTS * PAYLOAD];
static struct block b;

/* A block of the stream with all its packets. */
static void
make(const struct stream *st, uint64_t first)
{
	b = (struct block){ .data = data,
			    .present = present,
			    .slots = SLOTS,
			    .slot_bytes = PAYLOAD,
			    .used = SLOTS,
			    .filled = SLOTS,
			    .first = first,
			    .base = 5000 };
	memset(present, 0xff, sizeof present);
	for (uint32_t i = 0; i < SLOTS; i++)
		ideal(st, first + i, block_slot(&b, i));
}

static void
lose(uint32_t slot)
{
	b.filled -= block_has(&b, slot);
	present[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	memset(block_slot(&b, slot), 0xee, PAYLOAD);
}

/* Every slot is as sent, or as it would have been, invalid. */
static void
check(const struct stream *st)
{
	for (uint32_t i = 0; i < b.used; i++) {
		const uint8_t *is = block_slot(&b, i);
		uint8_t want[PAYLOAD];

		ideal(st, b.first + i, want);
		if (block_has(&b, i)) {
			ck_assert_mem_eq(is, want, PAYLOAD);
		} else if ((b.first + i) % st->parts) {
			pattern_from(is, 0);
		} else {
			write_le16(want + 14, 1);
			ck_assert_mem_eq(is, want, FAKE_HEADER);
			pattern_from(is, FAKE_HEADER);
		}
	}
}

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

/* ---- cycles and frame rates that nobody told --------------------------- */

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

SUITE("fill", across_seconds, a_thread_gone, a_thread_never_seen,
      no_header_at_all, unreadable_neighbour, zero, counter_alone, short_block,
      nothing_missing, learned, a_new_run, a_thread_unknown,
      as_small_as_its_cycle)
