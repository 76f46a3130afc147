/* SPDX-License-Identifier: MIT */
/* Ranges against a map of bytes. */
#include "flow/heaps/ranges.h"

#include <string.h>

#include "lib/dice.h"
#include "lib/suite.h"

enum { BYTES = 2000, ROUNDS = 2000 };

static struct range memory[NOTES_RANGES];
static bool came[BYTES];

static struct ranges
ranges_of(uint32_t most, uint64_t length, uint32_t header)
{
	memset(came, 0, sizeof came);
	return (struct ranges){
		.at = memory, .most = most, .length = length, .header = header
	};
}

static unsigned
runs_of_map(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BYTES; i++)
		n += came[i] && (!i || !came[i - 1]);
	return n;
}

static bool
any(uint32_t from, uint32_t to)
{
	while (from < to && !came[from])
		from++;
	return from < to;
}

static void
check(const struct ranges *r)
{
	uint64_t bytes = 0;
	bool good = r->n == runs_of_map();

	for (uint32_t i = 0; i < r->n; i++) {
		const struct range *at = &r->at[i];

		good = good && at->from < at->to &&
		       (!i || at[-1].to < at->from) &&
		       !any(i ? at[-1].to : 0, at->from);
		for (uint32_t b = at->from; b < at->to; b++)
			good = good && came[b];
		bytes += at->to - at->from;
	}
	good = good && bytes == r->bytes;
	good = good && (!r->n || !any(ranges_end(r), BYTES));
	ck_assert(good);
}

START_TEST(as_a_map_of_bytes)
{
	struct dice dice = { 1 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ranges r = ranges_of(1 + dice_roll(&dice, 60), 0, 0);

		for (unsigned i = 0; i < 60; i++) {
			uint32_t from = dice_roll(&dice, BYTES - 60);
			uint32_t to = from + 1 + dice_roll(&dice, 60);
			bool dup = any(from, to);
			enum ranges_answer a = ranges_add(&r, from, to);

			ck_assert(dup == (a == RANGES_DUPLICATE));
			if (a == RANGES_NEW)
				memset(came + from, 1, to - from);
			else if (a == RANGES_FULL)
				ck_assert_uint_eq(r.n, r.most);
		}
		check(&r);
	}
}
END_TEST

/* Pieces of a grid, in any order: what is missing is what did not come. */
START_TEST(missing_pieces)
{
	struct dice dice = { 2 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t piece = 10 + dice_roll(&dice, 90), n = 0;
		uint32_t length = BYTES - dice_roll(&dice, 300);
		struct ranges r = ranges_of(NOTES_RANGES, length, 0);
		unsigned order[BYTES / 10], all = 0;

		for (uint32_t at = 0; at < length; at += piece)
			order[all] = all, all++;
		dice_shuffle(&dice, order, all);
		for (unsigned i = 0; i < all; i++) {
			uint32_t from = order[i] * piece, to = from + piece;

			if (to > length)
				to = length;
			if (dice_chance(&dice, 20)) {
				n++;
				continue;
			}
			ck_assert(ranges_add(&r, from, to) == RANGES_NEW);
			memset(came + from, 1, to - from);
		}
		check(&r);
		ck_assert_uint_ge(ranges_missing(&r, piece) + 1, n);
		ck_assert_uint_le(ranges_missing(&r, piece), n);
	}
}
END_TEST

/* Between ranges there is room for the headers that they will need. */
START_TEST(headers_fit_between)
{
	struct dice dice = { 3 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct ranges r = ranges_of(NOTES_RANGES, BYTES, 40);
		unsigned full = 0;

		r.beside = dice_roll(&dice, 3) * 40;
		for (unsigned i = 0; i < 200; i++) {
			uint32_t from = dice_roll(&dice, BYTES - 20);
			uint32_t to = from + 1 + dice_roll(&dice, 20);

			full += ranges_add(&r, from, to) == RANGES_FULL;
			ck_assert(!r.n ||
				  (r.n - 1) * 40 <= BYTES - r.bytes + r.beside);
		}
		ck_assert_uint_gt(full, 0);
	}
}
END_TEST

SUITE("ranges", as_a_map_of_bytes, missing_pieces, headers_fit_between)
