/* SPDX-License-Identifier: MIT */
/*
 * Heaps in a row: each in the order that networks may give them, and byte by
 * byte what was sent.
 */
#include "heap_bench.h"

static struct bench bench;

enum { MTU = 1472, JUMBO = 8968 };

/* Everything of every heap came out once, each heap as one packet. */
static void
all_whole(const struct bench *b)
{
	ck_assert_uint_eq(bench_lost_all(b), 0);
	for (unsigned i = 0; i < b->sents; i++) {
		ck_assert_uint_eq(b->sent[i].times, 1);
		ck_assert_uint_eq(b->sent[i].items_out, b->sent[i].items);
	}
	ck_assert_uint_eq(b->missing, 0);
	ck_assert_uint_eq(bench_dropped(b), 0);
}

START_TEST(in_order)
{
	static const uint32_t batch[] = { 1, 7, 64, 128 };
	const struct counts *c;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t learned;

		flow_open(&bench, 400, 12, batch[i]);
		for (unsigned n = 1; n <= 3; n++)
			flow_heap(&bench, bench_heap(&bench, n, 60000, 17),
				  JUMBO, batch[i]);
		bench_batch(&bench);
		bench_aim(&bench, batch[i]);
		learned = place_counts(bench.place)->moved;
		for (unsigned n = 4; n <= 60; n++) {
			flow_heap(&bench, bench_heap(&bench, n, 60000, 17),
				  JUMBO, batch[i]);
			while (bench.outs)
				bench_home(&bench);
		}
		c = flow_end(&bench);
		all_whole(&bench);
		ck_assert_uint_eq(c->heaps, 60);
		ck_assert_uint_eq(c->heaps_incomplete, 0);
		ck_assert_uint_eq(c->runs, 1);
		/* Nothing is copied once it is known what heaps are like. */
		ck_assert_uint_eq(c->moved, learned);
		bench_close(&bench);
	}
}
END_TEST

/* ---- order ----------------------------------------------------------- */

/* Of each heap the n-th packet comes first, or last. */
static void
one_out_of_place(uint32_t longest, unsigned which, bool first)
{
	flow_open(&bench, 64, 12, 16);
	for (unsigned count = 1; count <= 12; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);
		unsigned n = bench_cuts(s, longest);

		if (first)
			flow(&bench, s, longest, which, 16);
		for (unsigned i = 0; i < n; i++) {
			if (i != which)
				flow(&bench, s, longest, i, 16);
		}
		if (!first)
			flow(&bench, s, longest, which, 16);
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}

START_TEST(one_piece_is_out_of_place)
{
	for (unsigned which = 0; which < 6; which++) {
		one_out_of_place(JUMBO, which, true);
		one_out_of_place(JUMBO, which, false);
		one_out_of_place(MTU, which, true);
		one_out_of_place(MTU, which, false);
	}
}
END_TEST

START_TEST(heaps_in_turns)
{
	for (unsigned way = 2; way <= 7; way++) {
		flow_open(&bench, 256, 8, 64);
		for (unsigned count = 0; count < 21; count += way) {
			struct sent *s[7];

			for (unsigned i = 0; i < way; i++)
				s[i] = bench_heap(&bench, count + i, 30000, 5);
			for (unsigned n = 0; n < bench_cuts(s[0], MTU); n++) {
				for (unsigned i = 0; i < way; i++)
					flow(&bench, s[i], MTU, n, 64);
			}
		}
		flow_end(&bench);
		all_whole(&bench);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(two_senders_with_the_same_counts)
{
	flow_open(&bench, 256, 8, 32);
	for (unsigned count = 0; count < 20; count++) {
		struct sent *a = bench_heap(&bench, count, 20000, 5);
		struct sent *b = bench_heap(&bench, count, 20000, 5);

		b->sender = 7;
		for (unsigned n = 0; n < bench_cuts(a, MTU); n++) {
			flow(&bench, a, MTU, n, 32);
			flow(&bench, b, MTU, n, 32);
		}
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* Sizes that change from heap to heap: every prediction is wrong. */
START_TEST(no_two_heaps_alike)
{
	flow_open(&bench, 256, 8, 50);
	for (unsigned count = 1; count < 60; count++)
		flow_heap(&bench,
			  bench_heap(&bench, count, count * 7919 % 40000 + 1,
				     count * 31 % 90),
			  count % 3 ? MTU : JUMBO, 50);
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

/* ---- loss ------------------------------------------------------------ */

START_TEST(what_is_lost_is_counted)
{
	const struct counts *c;
	unsigned at = 0, lost = 0;

	flow_open(&bench, 64, 40, 32);
	for (unsigned count = 1; count <= 60; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);
		unsigned n = bench_cuts(s, MTU);

		for (unsigned i = 0; i < n; i++) {
			if (count > 8 && ++at % 13 == 0)
				lost++;
			else
				flow(&bench, s, MTU, i, 32);
		}
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench.missing, lost);
	ck_assert_uint_eq(c->heaps, 60);
	ck_assert_uint_eq(c->heaps_incomplete, 52);
	bench_close(&bench);
}
END_TEST

START_TEST(whole_heaps_that_are_lost_are_counted)
{
	unsigned lost = 0, step = 3;

	flow_open(&bench, 64, 40, 32);
	for (unsigned n = 1; n <= 60; n++) {
		struct sent *s = bench_heap(&bench, 100 + n * step, 60000, 17);

		if (n > 10 && n % 7 < 2)
			lost += bench_cuts(s, MTU);
		else
			flow_heap(&bench, s, MTU, 32);
	}
	flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench.missing, lost);
	bench_close(&bench);
}
END_TEST

/* More holes than a heap may have: dropped, never stored wrong. */
START_TEST(too_many_holes)
{
	struct sent *s;

	flow_open(&bench, 256, 8, 32);
	s = bench_heap(&bench, 1, 200000, 0);
	for (uint32_t at = 0; at + 20 < 200000; at += 22) {
		if (bench.packets == 32) {
			bench_batch(&bench);
			bench_aim(&bench, 32);
		}
		bench_piece(&bench, s, at, 20, 0, 0, false);
	}
	flow_end(&bench);
	ck_assert_uint_gt(bench_drop(&bench, DROP_FRAGMENTED), 0);
	ck_assert_uint_gt(bench.filled, 0);
	bench_close(&bench);
}
END_TEST

START_TEST(heaps_that_never_complete)
{
	const struct counts *c;

	flow_open(&bench, 64, 40, 32);
	for (unsigned count = 1; count <= 100; count++) {
		struct sent *s = bench_heap(&bench, count, 60000, 17);

		flow(&bench, s, MTU, count % 3, 32);
		flow(&bench, s, MTU, 20 + count % 3, 32);
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(c->heaps_incomplete, 100);
	/* What is stored has no holes. */
	ck_assert_uint_lt(bench.block_bytes, 100 * (2 * MTU + 17 * 8));
	bench_close(&bench);
}
END_TEST

START_TEST(time_finishes_heaps_and_blocks)
{
	struct sent *s, *t;

	flow_open(&bench, 64, 8, 32);
	s = bench_heap(&bench, 1, 60000, 3);
	flow(&bench, s, MTU, 0, 32);
	bench_batch(&bench);
	bench.now += 1999;
	place_age(bench.place, bench.now);
	ck_assert_uint_eq(bench.outs, 0);
	bench.now++;
	place_age(bench.place, bench.now);
	ck_assert_uint_eq(bench.outs, 1);
	/* The rest of it is late. */
	bench_aim(&bench, 32);
	flow(&bench, s, MTU, 1, 32);
	t = bench_heap(&bench, 2, 60000, 3);
	flow(&bench, t, MTU, 0, 32);
	bench_batch(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_LATE), 1);
	/* A heap of which something comes is not cut short. */
	for (unsigned n = 1; n < bench_cuts(t, MTU); n++) {
		bench.now += 1000;
		place_age(bench.place, bench.now);
		bench_aim(&bench, 32);
		flow(&bench, t, MTU, n, 32);
		bench_batch(&bench);
	}
	ck_assert_uint_eq(bench_lost(t), 0);
	ck_assert_uint_eq(t->times, 1);
	ck_assert_uint_eq(bench.outs, 2); /* and its block was old */
	bench_close(&bench);
}
END_TEST

/* ---- twice ----------------------------------------------------------- */

START_TEST(duplicates_are_dropped)
{
	const struct counts *c;

	flow_open(&bench, 64, 40, 31);
	for (unsigned count = 1; count <= 40; count++) {
		struct sent *s = bench_heap(&bench, count, 30000, 17);

		for (unsigned n = 0; n < bench_cuts(s, MTU); n++) {
			flow(&bench, s, MTU, n, 31);
			flow(&bench, s, MTU, n, 31);
		}
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), c->datagrams / 2);
	ck_assert_uint_eq(c->runs, 1);
	bench_close(&bench);
}
END_TEST

/* A second cable that is a heap and a half behind. */
START_TEST(duplicates_of_finished_heaps)
{
	struct sent *s[41];
	const struct counts *c;

	flow_open(&bench, 64, 40, 64);
	for (unsigned count = 1; count <= 40; count++) {
		s[count] = bench_heap(&bench, count, 30000, 17);
		for (unsigned n = 0; n < bench_cuts(s[count], MTU); n++) {
			flow(&bench, s[count], MTU, n, 64);
			if (count > 2)
				flow(&bench, s[count - (n < 11) - 1], MTU,
				     (n + 11) % 22, 64);
		}
	}
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 38 * 22);
	ck_assert_uint_eq(c->runs, 1);
	bench_close(&bench);
}
END_TEST

/* The last packet comes twice, and nothing after it. */
START_TEST(a_late_echo_is_no_run)
{
	struct sent *s;

	flow_open(&bench, 64, 40, 64);
	for (unsigned count = 1; count <= 4; count++) {
		s = bench_heap(&bench, count, 1000, 3);
		flow_heap(&bench, s, MTU, 64);
	}
	flow_heap(&bench, s, MTU, 64);
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 1);
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	bench_close(&bench);
}
END_TEST

/* ---- restarts -------------------------------------------------------- */

/* heaps of packets, twice the same counts; returns the runs. */
static uint64_t
restart(unsigned heaps, uint32_t length, bool control, unsigned batch)
{
	uint64_t runs;

	flow_open(&bench, 64, 60, batch);
	for (unsigned pass = 0; pass < 3; pass++) {
		if (control)
			flow_heap(&bench, bench_control(&bench, 1, PIECE_START),
				  MTU, batch);
		for (unsigned i = 0; i < heaps; i++)
			flow_heap(&bench, bench_heap(&bench, 2 + i, length, 17),
				  MTU, batch);
		if (control)
			flow_heap(&bench,
				  bench_control(&bench, 2 + heaps, PIECE_STOP),
				  MTU, batch);
		bench_batch(&bench);
		bench.now += 2000;
		bench_aim(&bench, batch);
	}
	flow_end(&bench);
	all_whole(&bench);
	runs = place_counts(bench.place)->runs;
	bench_close(&bench);
	return runs;
}

START_TEST(a_sender_begins_anew)
{
	ck_assert_uint_eq(restart(3, 60000, false, 32), 3);
	ck_assert_uint_eq(restart(3, 60000, false, 1), 3);
	ck_assert_uint_eq(restart(40, 1000, false, 32), 3);
	ck_assert_uint_eq(restart(200, 3000, false, 32), 3);
	ck_assert_uint_eq(restart(8, 12000, true, 32), 3);
	ck_assert_uint_eq(restart(2, 60000, true, 1), 3);
	ck_assert_uint_eq(restart(2, 1000, true, 7), 3);
	/* What is forgotten is new. */
	ck_assert_uint_eq(restart(600, 1000, false, 32), 1);
}
END_TEST

/* So few packets that the counter is where it was before anyone can tell. */
START_TEST(a_short_restart_costs_few)
{
	flow_open(&bench, 64, 60, 16);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < 30 + pass; i++)
			flow_heap(&bench, bench_heap(&bench, 2 + i, 1000, 17),
				  MTU, 16);
	}
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 30);
	ck_assert_uint_eq(bench_lost_all(&bench), 30 * 1000);
	bench_close(&bench);
}
END_TEST

/* Nor did anything come after it that says otherwise. */
START_TEST(a_short_restart_at_the_end_is_one)
{
	flow_open(&bench, 64, 60, 16);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < 3; i++)
			flow_heap(&bench, bench_heap(&bench, 2 + i, 4000, 3),
				  MTU, 16);
	}
	flow_end(&bench);
	all_whole(&bench);
	ck_assert_uint_eq(place_counts(bench.place)->runs, 2);
	bench_close(&bench);
}
END_TEST

START_TEST(a_start_that_came_twice_is_one)
{
	struct sent *start;

	flow_open(&bench, 64, 60, 16);
	start = bench_control(&bench, 1, PIECE_START);
	flow_heap(&bench, start, MTU, 16);
	flow_heap(&bench, start, MTU, 16);
	flow_heap(&bench, bench_heap(&bench, 2, 30000, 17), MTU, 16);
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 1);
	ck_assert_uint_eq(place_counts(bench.place)->runs, 1);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	bench_close(&bench);
}
END_TEST

/* ---- what no sender should do ---------------------------------------- */

static void
raw_piece(struct format_piece p)
{
	uint8_t raw[2048] = { 0 };
	uint32_t n;

	p.flavour = BENCH_BITS;
	n = spead_wrap(&p, NULL, 0, raw);
	bench_raw(&bench, raw, n + p.bytes, false);
}

START_TEST(garbage_is_counted)
{
	uint64_t huge = (UINT64_C(1) << 48) - 1;
	uint8_t raw[100];

	flow_open(&bench, 64, 8, 32);
	memset(raw, 0x53, sizeof raw);
	bench_raw(&bench, raw, 100, false);
	bench_raw(&bench, raw, 1, false);
	bench_raw(&bench, raw, 0, false);
	raw_piece((struct format_piece){
	    .heap = 1, .length = 100, .offset = 50, .bytes = 51 });
	ck_assert_uint_eq(
	    (bench_batch(&bench), bench_drop(&bench, DROP_MALFORMED)), 4);
	bench_aim(&bench, 32);
	raw_piece((struct format_piece){
	    .heap = 1, .length = huge, .offset = 50, .bytes = 51 });
	raw_piece((struct format_piece){
	    .heap = 2, .length = huge, .offset = huge - 51, .bytes = 51 });
	raw_piece((struct format_piece){
	    .heap = 2, .offset = huge - 51, .bytes = 51 });
	raw_piece((struct format_piece){ .heap = huge, .length = 64 * 4096 });
	bench_batch(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_TOO_LARGE), 4);
	bench_aim(&bench, 32);
	/* A piece that does not agree with its heap. */
	flow(&bench, bench_heap(&bench, 5, 9000, 0), MTU, 0, 32);
	raw_piece((struct format_piece){
	    .heap = 5, .length = 9001, .offset = 8000, .bytes = 10 });
	raw_piece(
	    (struct format_piece){ .heap = 5, .offset = 8000, .bytes = 10 });
	bench_packet_flags(&bench, RECEIVE_FOREIGN);
	bench_packet_flags(&bench, RECEIVE_CUT);
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_MALFORMED), 6);
	ck_assert_uint_eq(bench_drop(&bench, DROP_FOREIGN), 1);
	ck_assert_uint_eq(bench_drop(&bench, DROP_WRONG_SIZE), 1);
	ck_assert_uint_eq(bench.filled, 1);
	bench_close(&bench);
}
END_TEST

/* The largest heap that fits does, and one byte more does not. */
START_TEST(heaps_as_large_as_a_block)
{
	uint32_t most = 64 * 4096 - NOTES_PAGE - sizeof(struct notes_head) -
			(40 + sizeof(struct note));
	uint32_t fits = 0;

	for (uint32_t length = most - 2000; length <= most; length++) {
		flow_open(&bench, 64, 8, 128);
		flow(&bench, bench_heap(&bench, 1, length, 0), JUMBO, 0, 128);
		flow_end(&bench);
		if (bench_drop(&bench, DROP_TOO_LARGE))
			length = most;
		else
			fits = length;
		bench_close(&bench);
	}
	ck_assert_uint_gt(fits, 0);
	flow_open(&bench, 64, 8, 16);
	for (unsigned count = 1; count < 20; count++) {
		flow_heap(&bench, bench_heap(&bench, count, fits, 0), JUMBO,
			  16);
		while (bench.outs)
			bench_home(&bench);
	}
	flow_end(&bench);
	all_whole(&bench);
	bench_close(&bench);
}
END_TEST

START_TEST(empty_packets_and_heaps)
{
	struct sent *s;

	flow_open(&bench, 64, 8, 32);
	/* Items alone, of a heap that says it is empty, and of one that says
	 * nothing. */
	s = bench_heap(&bench, 1, 0, 5);
	s->sized = false;
	bench_piece(&bench, s, 0, 0, 0, 5, false);
	s = bench_heap(&bench, 2, 3000, 5);
	bench_piece(&bench, s, 0, 0, 0, 5, false); /* no data yet */
	bench_piece(&bench, s, 0, 0, 0, 5, false); /* again */
	bench_piece(&bench, s, 0, 1000, 0, 0, false);
	bench_piece(&bench, s, 3000, 0, 0, 0, false); /* behind all of it */
	bench_piece(&bench, s, 2000, 1000, 0, 0, false);
	bench_piece(&bench, s, 1000, 1000, 0, 0, false);
	flow_end(&bench);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), 2);
	ck_assert_uint_eq(bench_dropped(&bench), 2);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench.sent[0].items_out, 5);
	ck_assert_uint_eq(bench.sent[1].items_out, 5);
	ck_assert_uint_eq(bench.sent[1].times, 1);
	bench_close(&bench);
}
END_TEST

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
		ck_assert_uint_eq(place_counts(bench.place)->heaps_incomplete,
				  0);
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
	ck_assert_uint_eq(dropped, place_counts(bench.place)->datagrams);
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
		notes_tell(bench.out[i], &bench_format, hear, &told);
	ck_assert_uint_eq(told.starts, 1);
	ck_assert_uint_eq(told.stops, 1);
	ck_assert_uint_eq(told.descriptors, 22);
	for (unsigned i = 0; i < 22; i++)
		ck_assert_uint_eq(told.id[i], 0x6000 + i % 11);
	bench_close(&bench);
}
END_TEST

SUITE("heaps", in_order, one_piece_is_out_of_place, heaps_in_turns,
      two_senders_with_the_same_counts, no_two_heaps_alike,
      what_is_lost_is_counted, whole_heaps_that_are_lost_are_counted,
      too_many_holes, heaps_that_never_complete, time_finishes_heaps_and_blocks,
      duplicates_are_dropped, duplicates_of_finished_heaps,
      a_late_echo_is_no_run, a_sender_begins_anew, a_short_restart_costs_few,
      a_short_restart_at_the_end_is_one, a_start_that_came_twice_is_one,
      garbage_is_counted, heaps_as_large_as_a_block, empty_packets_and_heaps,
      many_items, items_that_come_late, items_that_are_repeated,
      items_that_are_more_than_was_thought, notes_stay_off_what_landed,
      heaps_without_length, heaps_without_length_end_somewhere,
      no_block_and_on_again, descriptors_and_controls_are_told)
