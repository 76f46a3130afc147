/* SPDX-License-Identifier: MIT */
/*
 * When the packets of a block came: each as its stamp says, where it has one.
 */
#include "lib/place_bench.h"

enum { SLOTS = 64, UTC = 1000000 };

static struct bench bench;

static void
open_bench(void)
{
	static const struct bench_args args = { .payload = 40,
						.slots = SLOTS,
						.parts = 1,
						.bits = 64,
						.blocks = 12,
						.max_gap = 4 * SLOTS,
						.max_age = 1000000 };

	bench_open(&bench, &args);
	bench.now = UTC;
}

/* In batches of eight, which are read at UTC + 100 each; packet i of all came
 * at UTC + i. */
static void
come(uint64_t first, unsigned n, bool stamped)
{
	while (n) {
		unsigned some = n < 8 ? n : 8;

		bench_aim(&bench, some);
		for (unsigned i = 0; i < some; i++, first++)
			bench_packet(&bench, first, false)->arrived =
			    stamped ? UTC + (int64_t)first : 0;
		bench.now += 100;
		bench_batch(&bench);
		n -= some;
	}
}

static void
is_from(unsigned i, int64_t first, int64_t last)
{
	ck_assert_uint_lt(i, bench.outs);
	ck_assert_int_eq(bench.out[i]->first_ns, UTC + first);
	ck_assert_int_eq(bench.out[i]->last_ns, UTC + last);
}

/* The first 32 are parked until they are enough for a run; that is later. */
START_TEST(a_block_begins_when_its_first_packet_came)
{
	open_bench();
	come(0, 2 * SLOTS + 5, true);
	placement_flush(bench.placement);
	is_from(0, 0, SLOTS - 1);
	is_from(1, SLOTS, 2 * SLOTS - 1);
	is_from(2, 2 * SLOTS, 2 * SLOTS + 4);
	bench_close(&bench);
}
END_TEST

START_TEST(else_when_it_was_read)
{
	open_bench();
	come(0, 2 * SLOTS, false);
	placement_flush(bench.placement);
	is_from(0, 100, 800);
	is_from(1, 900, 1600);
	bench_close(&bench);
}
END_TEST

/* A second cable, whose queue is a little behind. */
START_TEST(the_last_is_the_latest)
{
	open_bench();
	come(0, 40, true);
	bench_aim(&bench, 2);
	bench_packet(&bench, 41, false)->arrived = UTC + 500;
	bench_packet(&bench, 40, true)->arrived = UTC + 450;
	bench_batch(&bench);
	placement_flush(bench.placement);
	is_from(0, 0, 500);
	bench_close(&bench);
}
END_TEST

SUITE("place_arrival", a_block_begins_when_its_first_packet_came,
      else_when_it_was_read, the_last_is_the_latest)
