/* SPDX-License-Identifier: MIT */
/*
 * For plugins that can make their sender wait: sequences that come beside
 * the packets, pairs aimed where the next of them belong, and `room`, within
 * which no packet is ever dropped for want of memory.
 */
#include "lib/dice.h"
#include "lib/place_bench.h"

enum { SLOTS = 4, BATCH = 16 };

static struct bench bench;

static unsigned
aim(unsigned n)
{
	return bench_aim(&bench, n);
}

static void
expect(uint64_t sequence)
{
	placement_expect(bench.placement, &bench.prediction[0], sequence);
}

/* n packets from `sequence` on, all of them elsewhere. */
static void
come(uint64_t sequence, unsigned n)
{
	while (n--) {
		struct receive_packet *k = bench_packet(&bench, sequence, true);

		k->flags |= RECEIVE_SEQUENCE;
		k->sequence = sequence++;
	}
	bench_batch(&bench);
}

static void
open_arrival(void)
{
	static const struct bench_args args = { .payload = 40,
						.slots = SLOTS,
						.parts = 1,
						.bits = 64,
						.blocks = 40,
						.max_gap = 40,
						.max_age = 2,
						.arrival = true };

	bench_open(&bench, &args);
}

START_TEST(a_sequence_beside_goes_before_the_formats)
{
	open_arrival();
	aim(BATCH);
	come(104, 4);
	aim(BATCH);
	come(112, 4);
	aim(BATCH);
	come(108, 4);
	placement_flush(bench.placement);
	ck_assert_uint_eq(bench.outs, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(bench.out[i]->base, 104);
		ck_assert_uint_eq(bench.out[i]->filled, SLOTS);
	}
	bench_close(&bench);
}
END_TEST

START_TEST(there_is_room_before_the_first_packet)
{
	open_arrival();
	ck_assert_uint_eq(aim(BATCH), BATCH);
	bench_starve(&bench, 4); /* one is for those that are parked */
	ck_assert_uint_eq(aim(BATCH), 2 * SLOTS);
	bench_starve(&bench, 1);
	ck_assert_uint_eq(aim(BATCH), 0);
	bench_feed(&bench);
	ck_assert_uint_eq(aim(BATCH), BATCH);
	bench_close(&bench);
}
END_TEST

START_TEST(pairs_are_where_the_next_belongs)
{
	const struct window *w;

	open_arrival();
	w = &bench_slots(&bench)->window;
	aim(BATCH);
	come(0, 4);
	expect(6);
	ck_assert_uint_eq(aim(BATCH), 6); /* to the end of the third block */
	ck_assert_ptr_eq(bench.pair[0].payload, block_slot(w->open[1], 2));
	bench_starve(&bench, 0);
	ck_assert_uint_eq(aim(BATCH), 6);
	come(6, 6); /* the first block closes */
	expect(12);
	ck_assert_uint_eq(aim(BATCH), 0);
	expect(4); /* its place is there already */
	ck_assert_uint_eq(aim(BATCH), 2);
	/* Far away, and another run: in blocks that are free. */
	bench_feed(&bench);
	bench_starve(&bench, 2);
	expect(30); /* slot 2 of a block */
	ck_assert_uint_eq(aim(BATCH), 6);
	/* What waits there takes a block of its own, of more than two. */
	expect(1000);
	ck_assert_uint_eq(aim(BATCH), 0);
	bench_feed(&bench);
	bench_starve(&bench, 3);
	ck_assert_uint_eq(aim(BATCH), 4);
	bench_starve(&bench, 0);
	expect(30);
	ck_assert_uint_eq(aim(BATCH), 0);
	expect(1000);
	ck_assert_uint_eq(aim(BATCH), 0);
	bench_close(&bench);
}
END_TEST

/* Gaps, runs and late ones, while blocks come and go: whoever keeps to the
 * room loses nothing for want of memory. */
START_TEST(room_is_room)
{
	struct dice d = { 7 };
	uint64_t next = 1 << 20, run = next, told = 0;

	open_arrival();
	expect(next);
	for (int i = 0; i < 100000; i++) {
		unsigned room = aim(1 + dice_roll(&d, BATCH));

		if (room > bench.pairs)
			ck_abort_msg("room for %u of %u", room, bench.pairs);
		told += room;
		if (room)
			come(next, room);
		next += room;
		if (next > run + SLOTS && dice_roll(&d, 8) == 0)
			next += dice_roll(&d, 39);
		if (dice_roll(&d, 100) == 0)
			run = next += 1 << 20;
		expect(next);
		if (dice_roll(&d, 3) == 0)
			bench_starve(&bench, dice_roll(&d, 4));
		if (dice_roll(&d, 3) == 0)
			bench_feed(&bench);
		while (bench.outs > 30 || (bench.outs && dice_roll(&d, 2)))
			bench_home(&bench);
	}
	ck_assert_uint_gt(told, 100000);
	ck_assert_uint_eq(
	    placement_counts(bench.placement)->drop[DROP_NO_BUFFER], 0);
	bench_close(&bench);
}
END_TEST

SUITE("place_room", a_sequence_beside_goes_before_the_formats,
      there_is_room_before_the_first_packet, pairs_are_where_the_next_belongs,
      room_is_room)
