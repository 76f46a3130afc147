/* SPDX-License-Identifier: MIT */
/*
 * Heaps that come twice, counters that begin anew, and what no sender should
 * do.
 */
#include "lib/heap_bench.h"

static struct bench bench;

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

/* Whole heaps in a row come once more, all at once, and then the stream goes
 * on: they begin no run. */
START_TEST(a_burst_of_duplicates_is_no_run)
{
	struct sent *s[41];
	const struct counts *c;
	uint64_t twice = 0;

	flow_open(&bench, 64, 40, 64);
	for (unsigned count = 1; count <= 40; count++) {
		s[count] = bench_heap(&bench, count, 30000, 17);
		flow_heap(&bench, s[count], MTU, 64);
		for (unsigned i = 8; i && count % 20 == 0 && count > i; i--) {
			flow_heap(&bench, s[count - i], MTU, 64);
			twice += bench_cuts(s[1], MTU);
		}
	}
	flow_heap(&bench, bench_heap(&bench, 41, 30000, 17), MTU, 64);
	c = flow_end(&bench);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	ck_assert_uint_eq(bench_drop(&bench, DROP_DUPLICATE), twice);
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
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
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
	runs = placement_counts(bench.placement)->runs;
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
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 2);
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
	ck_assert_uint_eq(placement_counts(bench.placement)->runs, 1);
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

static bool
is_too_large(uint32_t length)
{
	bool is;

	flow_open(&bench, 64, 8, 128);
	flow(&bench, bench_heap(&bench, 1, length, 0), JUMBO, 0, 128);
	flow_end(&bench);
	is = bench_drop(&bench, DROP_TOO_LARGE);
	bench_close(&bench);
	return is;
}

/* The largest heap that fits does, and one byte more does not. */
START_TEST(heaps_as_large_as_a_block)
{
	uint32_t most = 64 * 4096 - NOTES_PAGE - sizeof(struct notes_head) -
			(40 + sizeof(struct note));
	uint32_t fits = most - 2000;

	for (uint32_t step = 50; step; step = step > 1 ? 1 : 0) {
		while (fits < most && !is_too_large(fits + step))
			fits += step;
	}
	ck_assert(!is_too_large(fits));
	ck_assert_uint_lt(fits, most);
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

/* ---- a recording that begins anywhere -------------------------------- */

enum { CUT_HEAPS = 12, NEVER = 1 << 20 };

/* Heaps of which the first k packets came before the recording began; of those
 * that follow, packet `without` is lost, and packet `late` changes places with
 * the next one.  Only what did not come is missing, from the first heap on of
 * which any did. */
static void
cut(uint32_t length, bool sized, unsigned k, unsigned without, unsigned late,
    unsigned batch)
{
	unsigned came[CUT_HEAPS] = { 0 }, missing = 0, packets, at = 0;
	const struct counts *c;
	bool any = false;

	flow_open(&bench, 64, 24, batch);
	for (unsigned i = 0; i < CUT_HEAPS; i++)
		bench_heap(&bench, 1000 + 3 * i, length, 3)->sized = sized;
	packets = bench_cuts(&bench.sent[0], MTU);
	for (unsigned i = k; i < CUT_HEAPS * packets; i++, at++) {
		unsigned n = at == late ? i + 1 : at == late + 1 ? i - 1 : i;

		if (at == without)
			continue;
		flow(&bench, &bench.sent[n / packets], MTU, n % packets, batch);
		came[n / packets]++;
	}
	c = flow_end(&bench);
	for (unsigned i = 0; i < CUT_HEAPS; i++) {
		any |= came[i] > 0;
		missing += any ? packets - came[i] : 0;
	}
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	ck_assert_uint_eq(bench_lost_all(&bench), 0);
	if (sized)
		ck_assert_uint_eq(bench.missing + c->outside, missing);
	bench_close(&bench);
}

/* A heap of unknown length gets little more than what came of it when the next
 * one begins. */
START_TEST(a_recording_of_heaps_without_length_begins_anywhere)
{
	for (unsigned k = 0; k < 8; k++) {
		for (unsigned i = 0; i < 18; i++) {
			cut(12000, false, k, i, NEVER, 16);
			cut(12000, false, k, NEVER, i, 16);
		}
	}
}
END_TEST

START_TEST(a_recording_begins_anywhere)
{
	static const uint32_t length[] = { 1000, 2000, 12000 };

	for (unsigned l = 0; l < 3; l++) {
		unsigned n = length[l] / (MTU - 40) + 1;

		for (unsigned k = 0; k < n; k++) {
			cut(length[l], true, k, NEVER, NEVER, 16);
			for (unsigned i = 0; i <= n; i++) {
				cut(length[l], true, k, i, NEVER, 16);
				cut(length[l], true, k, NEVER, i, 1);
				cut(length[l], true, k, NEVER, i, 16);
			}
		}
	}
}
END_TEST

SUITE("heaps_run", duplicates_are_dropped, duplicates_of_finished_heaps,
      a_burst_of_duplicates_is_no_run, a_late_echo_is_no_run,
      a_sender_begins_anew, a_short_restart_costs_few,
      a_short_restart_at_the_end_is_one, a_start_that_came_twice_is_one,
      garbage_is_counted, heaps_as_large_as_a_block, empty_packets_and_heaps,
      a_recording_begins_anywhere,
      a_recording_of_heaps_without_length_begins_anywhere)
