/* SPDX-License-Identifier: MIT */
/*
 * Shifts against the simplest model there is: copy all bytes aside, then each
 * to where it belongs.  Pieces of any length lie and belong anywhere in one
 * piece of memory, over each other as it comes.
 */
#include "flow/place/shifts.h"

#include <string.h>

#include "dice.h"
#include "suite.h"

enum { BYTES = 4096, ROUNDS = 20000, PIECES = 40 };

struct piece {
	uint32_t from, to, bytes;
};

static uint8_t memory[BYTES], want[BYTES], aside[SHIFTS_ASIDE];
static bool target[BYTES];
static struct shifts shifts = { .aside = aside };

static void
start(void)
{
	for (unsigned i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)(i * 31 + i / 251);
	memcpy(want, memory, BYTES);
	memset(target, 0, sizeof target);
	shifts_start(&shifts);
}

static void
settle(const struct piece *p, unsigned n)
{
	uint8_t before[BYTES];
	bool good = true;

	memcpy(before, memory, BYTES);
	for (unsigned i = 0; i < n; i++) {
		memcpy(want + p[i].to, before + p[i].from, p[i].bytes);
		memset(target + p[i].to, 1, p[i].bytes);
		shifts_add(&shifts, memory + p[i].from, memory + p[i].to,
			   p[i].bytes);
	}
	shifts_settle(&shifts);
	for (unsigned i = 0; i < BYTES; i++)
		good = good && (!target[i] || memory[i] == want[i]);
	ck_assert(good);
	ck_assert_uint_eq(shifts.n, 0);
}

/* Apart from each other, as they come: lengths and holes by chance. */
static unsigned
lay(struct dice *dice, uint32_t *at, const uint32_t *bytes, unsigned n,
    uint32_t hole)
{
	uint32_t end = dice_roll(dice, hole);

	for (unsigned i = 0; i < n; i++) {
		if (end + bytes[i] > BYTES)
			return i;
		at[i] = end;
		end += bytes[i] + dice_roll(dice, hole);
	}
	return n;
}

START_TEST(anything_anywhere)
{
	struct dice dice = { 1 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t bytes[PIECES], from[PIECES], to[PIECES];
		unsigned order[PIECES], n = 1 + dice_roll(&dice, PIECES), m;
		struct piece p[PIECES];
		uint32_t turned[PIECES];

		for (unsigned i = 0; i < n; i++)
			bytes[i] = 1 + dice_roll(&dice, 200);
		n = lay(&dice, from, bytes, n, 30);
		for (unsigned i = 0; i < n; i++)
			order[i] = i;
		if (round % 2) /* else they keep their order */
			dice_shuffle(&dice, order, n);
		for (unsigned i = 0; i < n; i++)
			turned[i] = bytes[order[i]];
		m = lay(&dice, to, turned, n, 30);
		for (unsigned i = 0; i < m; i++)
			p[i] =
			    (struct piece){ from[order[i]], to[i], turned[i] };
		start();
		settle(p, m);
	}
}
END_TEST

/* Everything waits for everything: equal pieces, turned by one. */
START_TEST(rings)
{
	for (unsigned n = 2; n <= PIECES; n++) {
		struct piece p[PIECES];

		for (unsigned i = 0; i < n; i++)
			p[i] = (struct piece){ i * 50, (i + 1) % n * 50, 50 };
		start();
		settle(p, n);
	}
}
END_TEST

/* A large piece goes where many small ones lie, and they where it does. */
START_TEST(large_for_small)
{
	struct piece p[PIECES + 1];

	for (unsigned i = 0; i < PIECES; i++)
		p[i] = (struct piece){ i * 10, 1000 + i * 10, 10 };
	p[PIECES] = (struct piece){ 1000, 0, PIECES * 10 };
	start();
	settle(p, PIECES + 1);
}
END_TEST

/* What was taken aside stays there for the batch. */
START_TEST(settled_in_parts)
{
	uint8_t *kept;
	struct piece a = { 0, 100, 80 }, b = { 100, 0, 80 };

	start();
	kept = shifts_aside(&shifts, memory + 300, 50);
	settle(&(struct piece){ 50, 300, 40 }, 1);
	settle(&(struct piece){ 500, 480, 60 }, 1);
	ck_assert_uint_eq(kept[7], (uint8_t)(307 * 31 + 307 / 251));
	start();
	settle((struct piece[]){ a, b }, 2);
}
END_TEST

SUITE("shifts", rings, large_for_small, settled_in_parts, anything_anywhere)
