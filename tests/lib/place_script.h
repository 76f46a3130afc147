/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_PLACE_SCRIPT_H
#define SPATE_TESTS_PLACE_SCRIPT_H

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
		placement_age(bench.place, bench.now);
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
	const struct counts *c = placement_counts(bench.place);

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
	placement_flush(bench.place);
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

#endif
