/* SPDX-License-Identifier: MIT */
/*
 * Packets of a stream whose frames per second are not known yet: they tell
 * second and frame, and have no sequence before the shape has `fps`.
 *
 * A packet's bytes follow from its sequence, and so the format here looks its
 * sequence up by its bytes.
 */
#include "lib/place_bench.h"

#include "lib/dice.h"

enum {
	FPS = 100,
	FIRST_SEQUENCE = 1000 * FPS,
	MOST = 3000,
	SLOTS = 50,
	EACH = 10,
};

static struct bench bench;
static struct dice dice;

static bool
is_packet(const uint8_t *payload, uint64_t sequence)
{
	return noise_is(sequence, 0, payload, bench.geometry.payload);
}

static void
timed_parse(const struct format_shape *s, const void *prefix,
	    const void *payload, struct format_packet *p)
{
	uint64_t n = FIRST_SEQUENCE;

	(void)prefix;
	*p = (struct format_packet){ 0 };
	while (n < FIRST_SEQUENCE + MOST && !is_packet(payload, n))
		n++;
	if (n == FIRST_SEQUENCE + MOST)
		return;
	p->has = FORMAT_READABLE | FORMAT_VALID | FORMAT_TIME;
	p->second = (int64_t)n / FPS;
	p->frame = n % FPS;
	p->sequence = n;
	p->has |= s->fps ? FORMAT_SEQUENCE : 0;
}

static const struct format_ops timed_format = { .parse = timed_parse };

static void
open_with(unsigned blocks)
{
	const struct bench_args args = { .payload = 64,
					 .slots = SLOTS,
					 .parts = 1,
					 .bits = 64,
					 .blocks = blocks,
					 .max_gap = 10 * SLOTS,
					 .max_age = 1000 };

	bench_open(&bench, &args);
	bench.shape.sequence = SEQUENCE_TIME;
	bench.shape.threads_n = 1;
	((struct slots *)bench.placement)->a.format = &timed_format;
}

/* Blocks that came out are written at once, but `keep` of them. */
static void
write_out(unsigned keep)
{
	while (bench.outs > keep)
		bench_home(&bench);
}

/* Packets from..to, some lost, some swapped, `away` percent beside the pairs;
 * how many. */
static unsigned
send(unsigned from, unsigned to, unsigned lost, unsigned swapped, unsigned away)
{
	unsigned sent = 0;

	while (from < to) {
		unsigned n = to - from < EACH ? to - from : EACH;

		bench_aim(&bench, EACH);
		for (unsigned i = 0; i < n; i++) {
			unsigned at = from + i;

			if (at % 7 == 1 && i && dice_chance(&dice, swapped))
				at--; /* comes again: a duplicate */
			if (dice_chance(&dice, lost))
				continue;
			bench_packet(&bench, FIRST_SEQUENCE + at,
				     dice_chance(&dice, away));
			sent++;
		}
		bench.now += 10;
		bench_batch(&bench);
		write_out(0);
		from += n;
	}
	return sent;
}

static const struct counts *
counts(void)
{
	return placement_counts(bench.placement);
}

START_TEST(all_are_kept)
{
	open_with(40);
	send(7, 507, 0, 0, 0);
	ck_assert_uint_eq(counts()->placed, 0);
	bench.shape.fps = FPS;
	send(507, 1007, 0, 0, 0);
	ck_assert_ptr_null(bench_slots(&bench)->held);
	placement_flush(bench.placement);
	ck_assert_uint_eq(counts()->placed, 1000);
	ck_assert_uint_eq(counts()->runs, 1);
	ck_assert_uint_eq(bench.next, 1000);
	/* What comes after it has caught up lands in its slots. */
	ck_assert_uint_le(counts()->moved, 500 + 500 / 3 + 2 * EACH);
	bench_close(&bench);
}
END_TEST

/* Their slots follow from their sequence, not from their number. */
START_TEST(losses_are_holes)
{
	for (unsigned away = 0; away <= 100; away += 50) {
		unsigned sent;

		dice = (struct dice){ 1 };
		open_with(40);
		sent = send(0, 600, 5, 0, away);
		bench.shape.fps = FPS;
		sent += send(600, 900, 5, 0, away);
		placement_flush(bench.placement);
		ck_assert_uint_eq(counts()->placed, sent);
		ck_assert_uint_eq(counts()->runs, 1);
		ck_assert_uint_ge(bench.next, 890);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(duplicates_are_dropped_once)
{
	unsigned sent;

	dice = (struct dice){ 1 };
	open_with(40);
	sent = send(0, 700, 0, 60, 20);
	bench.shape.fps = FPS;
	sent += send(700, 900, 0, 60, 20);
	placement_flush(bench.placement);
	ck_assert_uint_eq(counts()->placed + counts()->drop[DROP_DUPLICATE],
			  sent);
	ck_assert_uint_gt(counts()->drop[DROP_DUPLICATE], 30);
	bench_close(&bench);
}
END_TEST

/* Nobody knows the order: it is that of arrival. */
static void
arrival_out(void *arg, struct block *k)
{
	struct bench *b = arg;

	BENCH_MUST(k->state == BLOCK_CLOSED && !k->base && !k->gap);
	BENCH_MUST(k->used == k->filled && k->filled == bench_bits(k));
	BENCH_MUST(k->first == (b->any ? b->next : 0) && k->first == b->filled);
	for (uint32_t i = 0; i < k->used; i++)
		bench_slot_check(b, k, i, FIRST_SEQUENCE + k->first + i);
	b->any = true;
	b->run = k->run;
	b->next = k->first + k->used;
	b->filled += k->filled;
	b->out[b->outs++] = k;
}

START_TEST(the_end_may_come_first)
{
	open_with(40);
	((struct slots *)bench.placement)->a.out = arrival_out;
	send(0, 320, 0, 0, 0);
	send(320, 640, 0, 0, 100);
	placement_flush(bench.placement);
	ck_assert_uint_eq(counts()->placed, 640);
	ck_assert_uint_eq(bench.filled, 640);
	ck_assert_uint_eq(counts()->runs, 1);
	bench_close(&bench);
}
END_TEST

START_TEST(it_may_take_too_long)
{
	open_with(40);
	((struct slots *)bench.placement)->a.out = arrival_out;
	send(0, 120, 0, 0, 0);
	placement_age(bench.placement, bench.now + SLOTS_HELD_LONGEST / 2);
	ck_assert_uint_eq(counts()->placed, 0);
	bench.now += SLOTS_HELD_LONGEST;
	placement_age(bench.placement, bench.now);
	ck_assert_uint_eq(counts()->placed, 120);
	write_out(0);
	send(120, 200, 0, 0, 0);
	placement_flush(bench.placement);
	ck_assert_uint_eq(counts()->placed, 200);
	ck_assert_uint_eq(counts()->runs, 1);
	bench_close(&bench);
}
END_TEST

/* However few blocks there are, none is lost. */
START_TEST(memory_may_be_short)
{
	for (unsigned blocks = 2; blocks < 9; blocks++) {
		open_with(blocks);
		((struct slots *)bench.placement)->a.out = arrival_out;
		send(0, 1000, 0, 0, blocks % 2 * 100);
		placement_flush(bench.placement);
		ck_assert_uint_eq(counts()->placed, 1000);
		bench_close(&bench);
	}
}
END_TEST

/* The same when it is learned at last: a run as it came, and one in order. */
START_TEST(memory_may_be_short_until_it_is_learned)
{
	for (unsigned blocks = 3; blocks < 9; blocks++) {
		open_with(blocks);
		((struct slots *)bench.placement)->a.out = arrival_out;
		send(0, 1000, 0, 0, 0);
		((struct slots *)bench.placement)->a.out = bench_out;
		bench.shape.fps = FPS;
		send(1000, 2000, 0, 0, 0);
		placement_flush(bench.placement);
		ck_assert_uint_eq(counts()->placed, 2000);
		ck_assert_uint_eq(counts()->runs, 2);
		bench_close(&bench);
	}
}
END_TEST

START_TEST(what_is_no_packet_is_not_held)
{
	open_with(40);
	bench_aim(&bench, EACH);
	bench_packet(&bench, FIRST_SEQUENCE + MOST, false);
	bench_packet(&bench, FIRST_SEQUENCE, false)->bytes = 3;
	bench_packet(&bench, FIRST_SEQUENCE, false)->flags = RECEIVE_FOREIGN;
	bench_packet(&bench, FIRST_SEQUENCE + 1, false);
	bench_batch(&bench);
	ck_assert_uint_eq(counts()->drop[DROP_UNREADABLE], 1);
	ck_assert_uint_eq(counts()->drop[DROP_WRONG_SIZE], 1);
	ck_assert_uint_eq(counts()->drop[DROP_FOREIGN], 1);
	bench.shape.fps = FPS;
	send(2, 200, 0, 0, 0);
	placement_flush(bench.placement);
	ck_assert_uint_eq(counts()->placed, 199);
	bench_close(&bench);
}
END_TEST

/* ---- with a counter, blocks wait for what makes times of frames ------- */

static _Atomic uint32_t fps;

static void
open_counted(unsigned blocks)
{
	open_with(blocks);
	bench.shape.sequence = SEQUENCE_LE64;
	((struct slots *)bench.placement)->a.format = &bench_format;
	((struct slots *)bench.placement)->a.fps = &fps;
	atomic_store(&fps, LEARN_WAIT);
}

/* As send(), and what comes out stays. */
static void
send_counted(unsigned from, unsigned to)
{
	for (; from < to; from += EACH) {
		bench_aim(&bench, EACH);
		for (unsigned i = 0; i < EACH; i++)
			bench_packet(&bench, from + i, false);
		bench.now += 10;
		bench_batch(&bench);
	}
}

static void
told(uint32_t number)
{
	ck_assert_uint_gt(bench.outs, 0);
	for (unsigned i = 0; i < bench.outs; i++)
		ck_assert_uint_eq(bench.out[i]->fps, number);
}

START_TEST(blocks_wait_for_the_frames_per_second)
{
	open_counted(40);
	send_counted(0, 400);
	ck_assert_uint_eq(bench.outs, 0);
	ck_assert_uint_ge(counts()->placed, 400 - CANDIDATE_AGREE);
	atomic_store(&fps, 8000);
	send_counted(400, 500);
	ck_assert_uint_ge(bench.outs, 9);
	told(8000);
	bench_close(&bench);
}
END_TEST

START_TEST(they_do_not_wait_for_ever)
{
	open_counted(40);
	send_counted(0, 200);
	bench.now += SLOTS_WAITS;
	send_counted(200, 210);
	ck_assert_uint_ge(bench.outs, 3);
	told(0);
	bench_close(&bench);
}
END_TEST

START_TEST(they_do_not_wait_without_memory)
{
	open_counted(8);
	for (unsigned n = 0; n < 1000; n += EACH) {
		send_counted(n, n + EACH);
		write_out(1);
	}
	ck_assert_uint_ge(counts()->placed, 1000 - CANDIDATE_AGREE);
	ck_assert_uint_eq(bench_dropped(&bench), 0);
	bench_close(&bench);
}
END_TEST

START_TEST(they_do_not_wait_at_the_end)
{
	open_counted(40);
	send_counted(0, 200);
	ck_assert_uint_eq(bench.outs, 0);
	placement_flush(bench.placement);
	ck_assert_uint_eq(bench.outs, 4);
	told(0);
	bench_close(&bench);
}
END_TEST

SUITE("place_held", all_are_kept, losses_are_holes, duplicates_are_dropped_once,
      the_end_may_come_first, it_may_take_too_long, memory_may_be_short,
      memory_may_be_short_until_it_is_learned, what_is_no_packet_is_not_held,
      blocks_wait_for_the_frames_per_second, they_do_not_wait_for_ever,
      they_do_not_wait_without_memory, they_do_not_wait_at_the_end)
