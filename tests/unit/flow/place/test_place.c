/* SPDX-License-Identifier: MIT */
/*
 * The landing rules, by scripts.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/place_bench.h"

/*
 * A script is packets in the order in which they come:
 *
 *   7      packet 7, in the next pair         e7  it lies elsewhere
 *   w7     of wrong size                      c7  cut by the kernel
 *   f7     of a sender not allowed            u   without a sequence
 *   |      the batch ends                     t5  five seconds pass
 *   s      the other source's turn            -n  only n blocks are free
 *   +      they come home
 *
 * Blocks have four slots, so four packets that agree make a run; a step of
 * up to 40 is a gap.  What came out is one text, with an x for each packet:
 *
 *   run@base first(+gap) slots
 */
enum { TEXT = 2048, SLOTS = 4, BATCH = 16 };

static struct bench bench;

static const struct bench_args four = { .payload = 40,
					.slots = SLOTS,
					.parts = 1,
					.bits = 64,
					.blocks = 40,
					.max_gap = 40,
					.max_age = 2 };

/* ---- reading --------------------------------------------------------- */

static void
packet(char kind, uint64_t sequence)
{
	struct receive_packet *k = bench_packet(&bench, sequence, kind == 'e');

	if (kind == 'w')
		k->bytes -= 1 + sequence % 7;
	if (kind == 'c')
		k->flags |= RECEIVE_CUT;
	if (kind == 'f')
		k->flags |= RECEIVE_FOREIGN;
}

static void
batch(void)
{
	bench_batch(&bench);
	bench_aim(&bench, BATCH);
}

static void
step(char kind, uint64_t n)
{
	switch (kind) {
	case '|': batch(); break;
	case 'u': packet(kind, BENCH_NONE); break;
	case 't':
		batch();
		bench.now += (int64_t)n;
		placement_age(bench.placement, bench.now);
		bench_open_check(&bench);
		bench_aim(&bench, BATCH);
		break;
	case 's':
		bench_batch(&bench);
		bench.source ^= 1;
		bench_aim(&bench, BATCH);
		break;
	case '-':
		batch();
		bench_starve(&bench, (unsigned)n);
		break;
	case '+':
		batch();
		bench_feed(&bench);
		break;
	default: packet(kind, n);
	}
}

static void
play(const char *script)
{
	for (const char *at = script; *at;) {
		char kind = isdigit(*at) ? '0' : *at++;
		char *end;
		uint64_t n;

		if (kind == ' ')
			continue;
		n = strtoull(at, &end, 10);
		step(kind, n);
		at = isdigit(*at) ? end : at;
	}
}

/* ---- telling --------------------------------------------------------- */

static void
told(char *text, const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + n, TEXT - n, format, args);
	va_end(args);
}

static void
blocks_tell(char *text)
{
	*text = 0;
	for (unsigned i = 0; i < bench.outs; i++) {
		const struct block *k = bench.out[i];

		told(text, "%s%u@%llu %llu", i ? ", " : "", k->run,
		     (unsigned long long)k->base, (unsigned long long)k->first);
		if (k->gap)
			told(text, "+%llu", (unsigned long long)k->gap);
		told(text, " ");
		for (uint32_t slot = 0; slot < k->used; slot++)
			told(text, "%c", block_has(k, slot) ? 'x' : '.');
	}
}

static void
counts_tell(char *text)
{
	static const char *const key[] = {
#define X(name, word, help) word,
		DROPS(X)
#undef X
	};
	const struct counts *c = placement_counts(bench.placement);

	*text = 0;
	told(text, "%llu", (unsigned long long)c->placed);
	if (c->reordered)
		told(text, " reordered %llu", (unsigned long long)c->reordered);
	if (c->outside)
		told(text, " outside %llu", (unsigned long long)c->outside);
	for (int i = 0; i < DROP_KINDS; i++) {
		if (c->drop[i])
			told(text, " %s %llu", key[i],
			     (unsigned long long)c->drop[i]);
	}
}

static void
script_with(const struct bench_args *args, const char *script,
	    const char *blocks, const char *counts)
{
	char text[TEXT];

	bench_open(&bench, args);
	bench_aim(&bench, BATCH);
	play(script);
	bench_batch(&bench);
	placement_flush(bench.placement);
	blocks_tell(text);
	ck_assert_msg(!strcmp(text, blocks), "%s\n  made  %s\n  not   %s",
		      script, text, blocks);
	counts_tell(text);
	ck_assert_msg(!strcmp(text, counts), "%s\n  counts  %s\n  not     %s",
		      script, text, counts);
	bench_close(&bench);
}

static void
script(const char *text, const char *blocks, const char *counts)
{
	script_with(&four, text, blocks, counts);
}

#define EIGHT "0 1 2 3 4 5 6 7 | "

START_TEST(in_order)
{
	script("", "", "0");
	script(EIGHT "8 9 10 11 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x", "13");
	script("100 101 102 103 104 105 106 107 108 109 | 110 | 111",
	       "0@100 0 xxxx, 0@100 4 xxxx, 0@100 8 xxxx", "12");
}
END_TEST

START_TEST(few_packets_are_a_run_at_the_end)
{
	script("5", "0@5 0 x", "1");
	script("5 8 6", "0@5 0 xx.x", "3 reordered 1");
}
END_TEST

START_TEST(swaps)
{
	script(EIGHT "9 8 11 10 | 13 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 xx",
	       "14 reordered 3");
	script(EIGHT "11 10 9 8", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 reordered 3");
	script(EIGHT "9 10 11 8 | 13 14 15 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 xxxx",
	       "16 reordered 2");
	script(EIGHT "e9 8 e11 10", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 reordered 2");
}
END_TEST

START_TEST(losses_shift_what_follows)
{
	script(EIGHT "9 10 11 12 | 14 15",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 .xxx, 0@0 12 x.xx", "14");
	script(EIGHT "8 10 12 14 | 9 11 13 15",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 xxxx",
	       "16 reordered 3");
	script(EIGHT "8 | 11 | 9 | 10", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 reordered 2");
}
END_TEST

START_TEST(duplicates)
{
	script(EIGHT "7 8 8 9 | 8 9 9 10", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxx",
	       "11 duplicate 5");
	script(EIGHT "9 9 8 8 | 10 9 8", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxx",
	       "11 reordered 1 duplicate 4");
	script("3 3 4 3", "0@3 0 xx", "2 duplicate 2");
}
END_TEST

START_TEST(the_window_slides)
{
	/* 12 is for the second block after the first: 0 closes; 3 is late. */
	script("0 1 2 4 5 6 7 8 | 12 3 9 10 11",
	       "0@0 0 xxx., 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x",
	       "12 reordered 3 late 1");
	script("0 1 2 4 5 6 7 8 | 3 9 12 10 11",
	       "0@0 0 xxx., 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x",
	       "12 reordered 2 late 1");
	script("0 1 2 4 5 6 7 | 3 | 8 | 9", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx",
	       "10 reordered 1");
}
END_TEST

START_TEST(steps_forward_are_gaps)
{
	/* 8 + 40 is the farthest. */
	script(EIGHT "48 | 49 47",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 44+36 ...x, 0@0 48 xx",
	       "11 reordered 1");
	script(EIGHT "22 23 20 | 16",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 16+8 x..., 0@0 20 x.xx",
	       "12 reordered 2");
	script(EIGHT "10 20 | 40 50 60",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 ..x., 0@0 20+8 x..., "
	       "0@0 40+16 x..., 0@0 48+4 ..x., 0@0 60+8 x",
	       "13");
	script(EIGHT "18 8", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 16+8 ..x",
	       "9 late 1");
}
END_TEST

/* Two alike are needed at the end, so a single one is out of the window. */
START_TEST(farther_is_no_gap)
{
	script(EIGHT "49 | 8", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 x",
	       "9 out_of_window 1");
	script(EIGHT "18446744073709551614 9223372036854775808 | 8",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 x", "9 out_of_window 2");
}
END_TEST

START_TEST(jumps_begin_a_run)
{
	script(EIGHT "8 1000 1001 1002 1003 | 1004 1005 1006 1007 1008",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 x, 1@1000 0 xxxx, 1@1000 4 xxxx, "
	       "1@1000 8 x",
	       "18");
	script(EIGHT "1099511627776 1099511627778 1099511627777",
	       "0@0 0 xxxx, 0@0 4 xxxx, 1@1099511627776 0 xxx",
	       "11 reordered 1");
}
END_TEST

START_TEST(a_restart_begins_a_run)
{
	script("100 101 102 103 104 105 106 107 | 108 0 1 2 3 4 5 6 7 8 9",
	       "0@100 0 xxxx, 0@100 4 xxxx, 0@100 8 x, 1@0 0 xxxx, 1@0 4 xxxx, "
	       "1@0 8 xx",
	       "19");
	/* Its packets may be swapped, and the old run may not be over. */
	script("100 101 102 103 104 105 106 107 | 1 0 3 108 2 5 4 7 6 9 8",
	       "0@100 0 xxxx, 0@100 4 xxxx, 0@100 8 x, 1@0 0 xxxx, 1@0 4 xxxx, "
	       "1@0 8 xx",
	       "19 reordered 5");
}
END_TEST

/* In one batch: the run ends, another begins, and that one ends too. */
START_TEST(runs_within_a_batch)
{
	script(EIGHT "9 8 1001 1000 1002 1003 1004 1005 1006 1007 8 1009 1008 "
		     "1010",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx, 1@1000 0 xxxx, "
	       "1@1000 4 xxxx, 1@1000 8 xxx",
	       "21 reordered 3 out_of_window 1");
}
END_TEST

START_TEST(garbage_opens_no_run)
{
	script("7777777 | 0 1 2 3 4 5 6 7 | 8 9",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx", "10 out_of_window 1");
	script(EIGHT "5555555 8 9 | 7777777 10 | 8888888 8888888 11",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 duplicate 1 out_of_window 3");
	/* Nor does time make one of it. */
	script(EIGHT "5555555 t5 8 t5 9",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 x, "
	       "0@0 9 x",
	       "10 out_of_window 1");
	script("5555555 t5 0 1 2 3 4 5 6 7", "0@0 0 xxxx, 0@0 4 xxxx",
	       "8 out_of_window 1");
}
END_TEST

START_TEST(sizes_and_senders)
{
	script(EIGHT "w8 8 9 w9 10 | c11 11 f12 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x",
	       "13 foreign 1 wrong_size 3");
	/* The slot in which a wrong one lies is waited for by a right one. */
	script(EIGHT "w1 w2 w3 8 9 10 | u 11 u 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x",
	       "13 wrong_size 3 unreadable 2");
	script(EIGHT "c8 c9 c10 11", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 ...x",
	       "9 wrong_size 3");
}
END_TEST

START_TEST(sheared_trains_lie_elsewhere)
{
	script(EIGHT "e8 w9 e9 w9 e9 e10 e12 e11",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 x",
	       "13 reordered 1 wrong_size 2 duplicate 1");
	script(EIGHT "e15 e14 13 12 e11 10 e9 8",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 xxxx",
	       "16 reordered 7");
}
END_TEST

START_TEST(age_closes_short)
{
	script(EIGHT "8 9 t5 10 11 12",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx, 0@0 10 xxx", "13");
	/* Nothing is lost when it goes on a little later, and less is short. */
	script(EIGHT "8 t1 9 t1 10",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx, "
	       "0@0 10 x",
	       "11");
	script(EIGHT "9 t5 8 10", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 .x, 0@0 10 x",
	       "10 late 1");
	/* Each block ages by itself. */
	script(EIGHT "t1 8 t1 9", "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx", "10");
	/* Then a gap: the next is counted from where the short one ended. */
	script(EIGHT "8 9 t5 31",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx, "
	       "0@0 30+20 .x",
	       "11");
}
END_TEST

START_TEST(no_free_block)
{
	/* Three are there already; 12 closes the first, though it has no
	 * place itself. */
	script(EIGHT "-0 8 9 10 11 12 | 7 13",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 outside 2 late 1 no_buffer 2");
	/* There is none before the run begins, or never. */
	script("-0 | 0 1 2 3 4 5 6 | + 9 10 11 12 13", "0@9 0 xxxx, 0@9 4 x",
	       "5 outside 9 no_buffer 7");
	script("-0 | 9999 0 1 2 3 4 5 6 | + 9 10 11 12 13",
	       "0@9 0 xxxx, 0@9 4 x", "5 outside 8 no_buffer 8");
	script("-0 | 0 1 2 3 4 5 6", "", "0 outside 7 no_buffer 7");
	/* Behind the last block, and before the first of the next run. */
	script(EIGHT "-0 8 9 10 11 12 | 13 17 19 31",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx",
	       "12 outside 20 no_buffer 5");
	script(EIGHT "-0 8 9 10 11 12 | 13 19 + 21 22",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 20+8 .xx",
	       "14 no_buffer 3");
	script("0 1 2 4 5 6 7 8 | -0 13 14 + 15 16 17",
	       "0@0 0 xxx., 0@0 4 xxxx, 0@0 8 x..., 0@0 12 .xxx, 0@0 16 xx",
	       "13");
}
END_TEST

START_TEST(two_sources)
{
	script(EIGHT "8 10 s 9 11 s 12 14 s 13 15",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xxxx, 0@0 12 xxxx",
	       "16 reordered 2");
	/* One has begun the next run, the other has not. */
	script(EIGHT "8 s 9 s 1000 1001 1002 1003 1004 1005 1006 1007 s 10 s "
		     "1008 s 1009",
	       "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 xx, 1@1000 0 xxxx, "
	       "1@1000 4 xxxx, 1@1000 8 xx",
	       "20 out_of_window 1");
}
END_TEST

START_TEST(counters_of_32_bits_wrap)
{
	struct bench_args args = four;

	args.bits = 32;
	script_with(&args,
		    "4294967290 4294967291 4294967292 4294967293 4294967294 "
		    "0 1 2 | 4 3",
		    "0@4294967290 0 xxxx, 0@4294967290 4 x.xx, "
		    "0@4294967290 8 xxx",
		    "10 reordered 1");
}
END_TEST

/* Half a counter after its begin, what is late is still known as such. */
START_TEST(late_is_late_on_the_far_side)
{
	struct bench_args args = four;

	args.bits = 32;
	args.max_gap = 1ull << 30;
	script_with(&args,
		    EIGHT "1000000000 2000000000 3000000000 3000000020 | "
			  "2999999000",
		    "0@0 0 xxxx, 0@0 4 xxxx, 0@0 1000000000+999999992 x..., "
		    "0@0 2000000000+999999996 x..., "
		    "0@0 3000000000+999999996 x..., 0@0 3000000020+16 x",
		    "12 late 1");
}
END_TEST

START_TEST(frames_of_two_parts)
{
	struct bench_args args = four;

	args.parts = 2;
	/* A run begins with a frame, and no frame straddles a short end. */
	script_with(&args, "101 102 103 104 105 106 107 108 | 109 110 t5 111",
		    "0@102 0 xxxx, 0@102 4 xxxx, 0@102 8 xx",
		    "10 before_start 1");
	/* Whole frames before it are closed, and it stays. */
	script_with(&args,
		    "101 102 103 104 105 106 107 108 | 109 110 111 112 t5 113",
		    "0@102 0 xxxx, 0@102 4 xxxx, 0@102 8 xx, 0@102 10 xx",
		    "12 before_start 1");
	script_with(&args, "7", "", "0 before_start 1");
	script_with(&args, "102 103 104 105 106 107 108 109 | 112 t5 115",
		    "0@102 0 xxxx, 0@102 4 xxxx, 0@102 10+2 x..x", "10");
}
END_TEST

/* n packets from `first` on, in batches of eight. */
static void
row(char *text, uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		text += sprintf(text, "%llu %s", (unsigned long long)first + i,
				i % 8 == 7 ? "| " : "");
}

START_TEST(a_restart_in_the_window_begins_a_run)
{
	static const char x16[] = "xxxxxxxxxxxxxxxx";
	struct bench_args args = four;
	char text[TEXT], made[TEXT];

	args.slots = 64;
	args.max_gap = 400;
	/* Forty packets, and the same forty again: not one is a duplicate. */
	row(text, 0, 40);
	row(text + strlen(text), 0, 40);
	snprintf(made, sizeof made, "0@0 0 %s%sxxxxxxxx, 1@0 0 %s%sxxxxxxxx",
		 x16, x16, x16, x16);
	script_with(&args, text, made, "80");
	/* One that falls into a hole of the first pass is of the second. */
	row(text, 0, 20);
	row(text + strlen(text), 21, 40);
	row(text + strlen(text), 0, 40);
	snprintf(made, sizeof made,
		 "0@0 0 %sxxxx.%s%sxxxxxxxxxxxx, 1@0 0 %s%sxxxxxxxx", x16,
		 x16 + 4, x16, x16, x16);
	script_with(&args, text, made, "100");
	/* A second cable, a little later: the stream goes on. */
	row(text, 0, 40);
	row(text + strlen(text), 10, 30);
	row(text + strlen(text), 40, 8);
	snprintf(made, sizeof made, "0@0 0 %s%s%s", x16, x16, x16);
	script_with(&args, text, made, "48 duplicate 30");
	/* Late ones among its duplicates find their holes. */
	row(text, 0, 40);
	row(text + strlen(text), 42, 4);
	row(text + strlen(text), 36, 7);
	row(text + strlen(text), 46, 2);
	snprintf(made, sizeof made, "0@0 0 %s%s%s", x16, x16, x16);
	script_with(&args, text, made, "48 reordered 2 duplicate 5");
}
END_TEST

/* In batches of 16, and looks at the counts. */
static void
come(uint64_t first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (i % BATCH == 0)
			batch();
		bench_packet(&bench, first + i, false);
	}
	batch();
}

static void
wide_open(uint32_t slots)
{
	struct bench_args args = four;

	args.slots = slots;
	args.max_gap = 4000;
	bench_open(&bench, &args);
	bench_aim(&bench, BATCH);
}

/* However many come before the stream goes on, they are no other run. */
START_TEST(a_burst_of_late_packets_begins_no_run)
{
	static const unsigned bursts[] = { 31, 32, 33, 64, 200, 255 };
	const struct counts *c;
	uint64_t late = 0, next = 2000;

	wide_open(400);
	c = placement_counts(bench.placement);
	come(0, 100);
	come(400, 1600);
	for (unsigned i = 0; i < 6; i++) {
		come(100, bursts[i]); /* of a hole that was closed */
		late += bursts[i];
		for (unsigned k = 0; k < 40; k++)
			come(next++, 1);
		ck_assert_uint_eq(c->runs, 1);
		ck_assert_uint_eq(c->drop[DROP_LATE], late);
	}
	/* Nor where it ends with some. */
	come(100, 20);
	placement_flush(bench.placement);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->drop[DROP_LATE], late + 20);
	bench_close(&bench);
}
END_TEST

/* The same with the late ones and the stream in turn. */
START_TEST(late_packets_in_turn_with_the_stream_begin_no_run)
{
	const struct counts *c;

	wide_open(400);
	c = placement_counts(bench.placement);
	come(0, 2000);
	for (unsigned i = 0; i < 50; i++) {
		come(40 * i, 40);
		come(2000 + i, 1);
	}
	ck_assert_uint_eq(c->runs, 1);
	placement_flush(bench.placement);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->placed, 2050);
	ck_assert_uint_eq(c->drop[DROP_LATE] + c->drop[DROP_DUPLICATE], 2000);
	bench_close(&bench);
}
END_TEST

/* No packet of a counter that was restarted is lost, wherever that goes on
 * from, and though the last of the old ones come among its first. */
START_TEST(a_restart_far_back_loses_nothing)
{
	static const uint64_t from[] = { 0, 700, 1999, 1ull << 50 };
	const struct counts *c;

	for (unsigned i = 0; i < 4; i++) {
		wide_open(400);
		c = placement_counts(bench.placement);
		come(1000, 2000);
		come(from[i], 5);
		come(3000, 2);
		come(from[i] + 5, 1000);
		placement_flush(bench.placement);
		ck_assert_uint_eq(c->runs, 2);
		ck_assert_uint_eq(c->placed, 3007);
		bench_close(&bench);
	}
}
END_TEST

/* Nor if it was restarted soon after the run began, and is soon back where that
 * came to. */
START_TEST(a_restart_soon_loses_nothing)
{
	static const unsigned first[] = { 45, 100, 250, 330 };
	const struct counts *c;

	for (unsigned i = 0; i < 4; i++) {
		wide_open(400);
		c = placement_counts(bench.placement);
		come(0, first[i]);
		come(0, 1000);
		placement_flush(bench.placement);
		ck_assert_uint_eq(c->runs, 2);
		ck_assert_uint_eq(c->placed, first[i] + 1000);
		bench_close(&bench);
	}
}
END_TEST

/* A restart that is slow, or stops again, is one when its time has come. */
START_TEST(a_restart_that_stops_is_a_run)
{
	const struct counts *c;

	wide_open(400);
	c = placement_counts(bench.placement);
	come(1000, 2000);
	come(0, 40);
	bench.now += 3;
	placement_age(bench.placement, bench.now);
	ck_assert_uint_eq(c->runs, 2);
	ck_assert_uint_eq(c->placed, 2040);
	bench_close(&bench);
}
END_TEST

/* One of two cables lags by more than the window: it is late, not another
 * run, as long as it goes on itself. */
START_TEST(a_source_that_lags_begins_no_run)
{
	const struct counts *c;

	wide_open(400);
	c = placement_counts(bench.placement);
	come(0, 40);
	bench.source = 1;
	come(40, 40);
	bench.source = 0;
	come(80, 2000);
	bench.source = 1;
	come(80, 1000);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->drop[DROP_LATE], 1000);
	/* But a restart of both is one. */
	come(0, 300);
	bench.source = 0;
	come(300, 100);
	placement_flush(bench.placement);
	ck_assert_uint_eq(c->runs, 2);
	ck_assert_uint_eq(c->placed, 2480);
	bench_close(&bench);
}
END_TEST

START_TEST(packets_without_a_sequence_follow_each_other)
{
	struct bench_args args = four;
	char text[TEXT];

	args.arrival = true;
	bench_open(&bench, &args);
	for (int i = 0; i < 3; i++) {
		bench_aim(&bench, BATCH);
		for (int n = 0; n < 3; n++)
			bench_packet(&bench, 3 * i + n, n == 1);
		bench_packet(&bench, 7, false)->bytes = 3;
		bench_batch(&bench);
	}
	placement_flush(bench.placement);
	blocks_tell(text);
	ck_assert_str_eq(text, "0@0 0 xxxx, 0@0 4 xxxx, 0@0 8 x");
	counts_tell(text);
	ck_assert_str_eq(text, "9 wrong_size 3");
	bench_close(&bench);
}
END_TEST

/* Frames of which the first k parts came before the recording began; of the
 * packets that follow, `without` is lost, and `late` changes places with the
 * next one.  The run begins with the first frame whose first part came, and
 * nothing else is dropped. */
static void
cut(uint32_t parts, unsigned k, unsigned without, unsigned late, unsigned batch)
{
	enum { PACKETS = 200 };
	struct bench_args args = { .payload = 40,
				   .slots = 80,
				   .parts = parts,
				   .bits = 64,
				   .blocks = 12,
				   .max_gap = 400,
				   .max_age = 1000 };
	uint64_t first = 1000 * parts + k, base = (first + parts - 1) / parts;
	const struct counts *c;

	base *= parts;
	base += base == first + without ? parts : 0;
	bench_open(&bench, &args);
	c = placement_counts(bench.placement);
	for (unsigned i = 0; i < PACKETS;) {
		bench_aim(&bench, batch);
		for (; bench.packets < batch && i < PACKETS; i++) {
			unsigned n = i == late	     ? i + 1
				     : i == late + 1 ? i - 1
						     : i;

			if (i != without)
				bench_packet(&bench, first + n, false);
		}
		bench_batch(&bench);
		while (bench.outs)
			bench_home(&bench);
	}
	placement_flush(bench.placement);
	ck_assert_uint_eq(c->runs, 1);
	ck_assert_uint_eq(c->drop[DROP_BEFORE_START],
			  base - first - (first + without < base));
	ck_assert_uint_eq(c->placed,
			  first + PACKETS - base -
			      (first + without >= base && without < PACKETS));
	ck_assert_uint_eq(bench.lost + c->outside,
			  first + without > base && without < PACKETS);
	bench_close(&bench);
}

START_TEST(a_recording_begins_anywhere)
{
	static const uint32_t parts[] = { 1, 2, 8, 40 };

	for (unsigned p = 0; p < 4; p++) {
		for (unsigned k = 0; k < parts[p]; k += 1 + parts[p] / 9) {
			for (unsigned i = 0; i < 50; i += 1 + (p == 3)) {
				cut(parts[p], k, i, 1000, BATCH);
				cut(parts[p], k, 1000, i, BATCH);
				cut(parts[p], k, 1000, i, 1);
			}
		}
	}
}
END_TEST

SUITE("place", in_order, few_packets_are_a_run_at_the_end, swaps,
      losses_shift_what_follows, duplicates, the_window_slides,
      steps_forward_are_gaps, farther_is_no_gap, jumps_begin_a_run,
      a_restart_begins_a_run, runs_within_a_batch, garbage_opens_no_run,
      sizes_and_senders, sheared_trains_lie_elsewhere, age_closes_short,
      no_free_block, two_sources, counters_of_32_bits_wrap,
      late_is_late_on_the_far_side, frames_of_two_parts,
      a_restart_in_the_window_begins_a_run,
      a_burst_of_late_packets_begins_no_run,
      late_packets_in_turn_with_the_stream_begin_no_run,
      a_restart_far_back_loses_nothing, a_restart_soon_loses_nothing,
      a_restart_that_stops_is_a_run, a_source_that_lags_begins_no_run,
      packets_without_a_sequence_follow_each_other, a_recording_begins_anywhere)
