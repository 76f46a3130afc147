/* SPDX-License-Identifier: MIT */
/*
 * Heaps whose room is not known when they begin, memory that is not there, and
 * what is told beside the data.
 */
#include "lib/heap_bench.h"

static struct bench bench;

/* ---- items ----------------------------------------------------------- */

START_TEST(many_items)
{
	static const uint32_t items[] = { 180, 256, 400, 700, 1000 };

	for (unsigned i = 0; i < 5; i++) {
		flow_open(&bench, 64, 20, 16);
		for (unsigned count = 1; count <= 20; count++)
			flow_heap(&bench,
				  bench_heap(&bench, count, 30000, items[i]),
				  MTU, 16);
		flow_end(&bench);
		all_whole(&bench);
		bench_close(&bench);
	}
}
END_TEST

/* In the second packet, and the heap begins with the third. */
START_TEST(items_that_come_late)
{
	for (unsigned turn = 0; turn < 3; turn++) {
		flow_open(&bench, 64, 20, 8);
		for (unsigned count = 1; count <= 20; count++) {
			struct sent *s =
			    bench_heap(&bench, count, 3000, count % 5 * 20);
			struct cut c[3] = { { 0, 1000, 0, 0 },
					    { 1000, 1000, 0, s->items },
					    { 2000, 1000, 0, 0 } };

			if (bench.packets + 3 > 8) {
				bench_batch(&bench);
				bench_aim(&bench, 8);
			}
			for (unsigned i = 0; i < 3; i++) {
				struct cut *k = &c[(i + turn) % 3];

				bench_piece(&bench, s, k->off, k->bytes,
					    k->first_item, k->items,
					    count % 7 == 0);
			}
		}
		flow_end(&bench);
		all_whole(&bench);
		bench_close(&bench);
	}
}
END_TEST

/* Senders may repeat all items in every packet. */
START_TEST(items_that_are_repeated)
{
	flow_open(&bench, 64, 20, 16);
	for (unsigned count = 1; count <= 20; count++) {
		struct sent *s = bench_heap(&bench, count, 9000, 30);

		for (uint32_t off = 0; off < 9000; off += 1000) {
			if (bench.packets == 16) {
				bench_batch(&bench);
				bench_aim(&bench, 16);
			}
			bench_piece(&bench, s, off, 1000, 0, 30, false);
		}
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* Of no heap it is known before that its header will be so long. */
START_TEST(items_that_are_more_than_was_thought)
{
	flow_open(&bench, 16, 40, 2);
	for (unsigned count = 1; count <= 400; count++) {
		struct sent *s = bench_heap(&bench, count, 200, 23);
		unsigned first = 1 + count % 2;

		bench_piece(&bench, s, 0, 100, 0, first, false);
		bench_piece(&bench, s, 100, 100, first, 23 - first, false);
		bench_batch(&bench);
		bench_aim(&bench, 2);
		while (bench.outs)
			bench_home(&bench);
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* ---- without length -------------------------------------------------- */

START_TEST(heaps_without_length)
{
	for (unsigned batch = 1; batch < 128; batch += 42) {
		flow_open(&bench, 64, 40, batch);
		for (unsigned count = 1; count <= 40; count++) {
			struct sent *s =
			    bench_heap(&bench, count, 10000 + count * 1000, 5);

			s->sized = false;
			flow_heap(&bench, s, MTU, batch);
			while (bench.outs)
				bench_home(&bench);
		}
		flow_end(&bench);
		all_whole(&bench);
		ck_assert_uint_eq(
		    placement_counts(bench.placement)->heaps_incomplete, 0);
		bench_close(&bench);
	}
}
END_TEST

/* A piece that the next heap overtakes finds its place; one that is far too
 * late does not, and neither does what no block has room for. */
START_TEST(heaps_without_length_end_somewhere)
{
	struct sent *s, *t;

	flow_open(&bench, 64, 8, 128);
	s = bench_heap(&bench, 1, 100000, 2);
	t = bench_heap(&bench, 2, 100000, 2);
	s->sized = t->sized = false;
	for (unsigned n = 0; n < 20; n++)
		flow(&bench, s, MTU, n, 128);
	flow(&bench, t, MTU, 0, 128);
	flow(&bench, s, MTU, 21, 128);
	flow(&bench, s, MTU, 20, 128);
	flow(&bench, s, MTU, 40, 128);
	bench_batch(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_LATE), 1);
	bench_aim(&bench, 128);
	s = bench_heap(&bench, 3, 64 * 4096 + 20000, 2);
	s->sized = false;
	flow_heap(&bench, s, JUMBO, 128);
	flow_end(&bench);
	ck_assert_uint_gt(bench_drop(&bench, DROP_TOO_LARGE), 0);
	bench_close(&bench);
}
END_TEST

/* ---- memory ---------------------------------------------------------- */

START_TEST(no_block_and_on_again)
{
	uint64_t dropped;

	flow_open(&bench, 16, 6, 32);
	bench_starve(&bench, 0);
	for (unsigned count = 1; count <= 5; count++)
		flow_heap(&bench, bench_heap(&bench, count, 30000, 3), MTU, 32);
	bench_batch(&bench);
	dropped = bench_drop(&bench, DROP_NO_BUFFER);
	ck_assert_uint_eq(dropped,
			  placement_counts(bench.placement)->datagrams);
	bench_feed(&bench);
	bench_aim(&bench, 32);
	for (unsigned count = 6; count <= 60; count++) {
		flow_heap(&bench, bench_heap(&bench, count, 30000, 3), MTU, 32);
		while (bench.outs)
			bench_home(&bench);
	}
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_NO_BUFFER), dropped);
	ck_assert_uint_eq(bench_lost_all(&bench), 5 * 30000);
	bench_close(&bench);
}
END_TEST

/*
 * A batch for which a block was aimed at to its end brings a hundred small
 * heaps instead, whose notes grow from there, before the packets that landed
 * there are looked at.
 */
START_TEST(notes_stay_off_what_landed)
{
	for (uint32_t length = 56000; length < 66000; length += 250) {
		struct sent *last;

		flow_open(&bench, 64, 12, 128);
		for (unsigned count = 1; count <= 3; count++) {
			flow_heap(&bench, bench_heap(&bench, count, length, 0),
				  600, 128);
			bench_batch(&bench);
			bench_aim(&bench, 128);
		}
		for (unsigned i = 0; i < 100; i++)
			flow(&bench, bench_heap(&bench, 4 + i, 9, 0), 600, 0,
			     128);
		last = bench_heap(&bench, 104, 9000, 0);
		for (unsigned i = 0; i < bench_cuts(last, 600); i++)
			flow(&bench, last, 600, i, 128);
		flow_end(&bench);
		all_whole(&bench);
		bench_close(&bench);
	}
}
END_TEST

/* ---- telling --------------------------------------------------------- */

struct told {
	unsigned descriptors, starts, stops;
	uint32_t id[64];
};

static void
hear(void *arg, const struct notes_event *e)
{
	struct told *t = arg;
	struct format_piece p;

	t->starts += e->control == PIECE_START;
	t->stops += e->control == PIECE_STOP;
	if (e->control != PIECE_DATA)
		return;
	ck_assert_int_eq(spead_piece(e->descriptor, e->bytes, e->bytes, &p), 0);
	t->id[t->descriptors++] = e->id;
}

/* A heap with n descriptors, which are packets themselves, before its data. */
static void
send_described(uint64_t count, unsigned n, uint32_t longest)
{
	uint32_t each = 40 + 16 + 120;
	struct sent *s = bench_heap(&bench, count, n * each + 3000, n + 1);
	uint8_t raw[65536], heap[65536];
	struct cut c;

	for (uint32_t i = 0; i < s->length; i++)
		heap[i] = bench_byte(s, i);
	for (unsigned i = 0; i < n; i++) {
		struct format_piece p = { .heap = 1,
					  .length = 120,
					  .bytes = 120,
					  .flavour = BENCH_BITS };
		uint64_t item[2] = { htobe64(UINT64_C(1) << 63 |
					     UINT64_C(0x14) << BENCH_BITS |
					     (0x6000 + i)),
				     htobe64(UINT64_C(0x10) << BENCH_BITS) };

		spead_wrap(&p, item, 2, heap + i * each);
		s->item[i] = htobe64(UINT64_C(5) << BENCH_BITS | i * each);
	}
	s->item[n] = htobe64(UINT64_C(0x600A) << BENCH_BITS | n * each);
	s->data = heap;
	for (unsigned i = 0; bench_cut(s, longest, i, &c); i++)
		flow(&bench, s, longest, i, 16);
	bench_batch(&bench);
	bench_aim(&bench, 16);
	s->data = malloc(s->length);
	memcpy(s->data, heap, s->length);
	(void)raw;
}

START_TEST(descriptors_and_controls_are_told)
{
	struct told told = { 0 };

	flow_open(&bench, 64, 8, 16);
	flow_heap(&bench, bench_control(&bench, 1, PIECE_START), MTU, 16);
	send_described(2, 11, MTU);
	send_described(3, 11, JUMBO);
	flow_heap(&bench, bench_control(&bench, 4, PIECE_STOP), MTU, 16);
	flow_end(&bench);
	all_whole(&bench);
	for (unsigned i = 0; i < bench.outs; i++)
		notes_events(bench.out[i], &bench_format, hear, &told);
	ck_assert_uint_eq(told.starts, 1);
	ck_assert_uint_eq(told.stops, 1);
	ck_assert_uint_eq(told.descriptors, 22);
	for (unsigned i = 0; i < 22; i++)
		ck_assert_uint_eq(told.id[i], 0x6000 + i % 11);
	bench_close(&bench);
}
END_TEST

SUITE("heaps_room", many_items, items_that_come_late, items_that_are_repeated,
      items_that_are_more_than_was_thought, heaps_without_length,
      heaps_without_length_end_somewhere, no_block_and_on_again,
      notes_stay_off_what_landed, descriptors_and_controls_are_told)
