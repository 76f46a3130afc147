/* SPDX-License-Identifier: MIT */
/*
 * Moves against the simplest model there is: copy every packet aside, then
 * each to its slot.  A table of slots with guard bytes between them; some
 * are landings, some are slots elsewhere, some are where packets lie that
 * landed in no slot at all.
 */
#include "flow/place/moves.h"

#include <string.h>

#include "dice.h"
#include "suite.h"

enum {
	BYTES = 24,
	GUARD = 8,
	STEP = BYTES + GUARD,
	LANDINGS = RECEIVE_BATCH,
	SLOTS = 2 * LANDINGS,		/* landings, then slots elsewhere */
	PLACES = SLOTS + RECEIVE_BATCH, /* then spare memory */
	ROUNDS = 4000,
};

struct table {
	uint8_t memory[PLACES * STEP + GUARD];
	uint8_t want[PLACES * STEP + GUARD];
	uint8_t scratch[STEP + GUARD];
	uint64_t key[LANDINGS];
	unsigned keys;
	struct moves moves;
};

static uint8_t *
place_at(uint8_t *memory, unsigned i)
{
	return memory + GUARD + i * STEP;
}

static void
table_open(struct table *t, unsigned keys, uint64_t first, unsigned stride)
{
	for (unsigned i = 0; i < sizeof t->memory; i++)
		t->memory[i] = (uint8_t)(i * 31 + i / 251);
	memcpy(t->want, t->memory, sizeof t->want);
	memset(t->scratch, 0xa5, sizeof t->scratch);
	t->keys = keys;
	for (unsigned i = 0; i < keys; i++)
		t->key[i] = first + (uint64_t)i * stride;
	t->moves.bytes = BYTES;
	t->moves.scratch = t->scratch + GUARD;
	moves_start(&t->moves, t->key, keys);
}

/* The packet at place `from` belongs at place `to`. */
static void
table_move(struct table *t, unsigned from, unsigned to)
{
	int at = from < t->keys ? (int)from : MOVES_NOWHERE;
	uint64_t key = to < t->keys ? t->key[to] : 1000000 + to;

	memcpy(place_at(t->want, to), place_at(t->memory, from), BYTES);
	moves_add(&t->moves, place_at(t->memory, from), at,
		  place_at(t->memory, to), key);
}

/* Every target is as in the model; all that nobody named is untouched.  One
 * assertion for all of them: each costs a system call. */
static void
table_check(struct table *t, const bool *target)
{
	bool good = t->moves.n == 0;

	for (unsigned i = 0; i < PLACES; i++) {
		uint8_t *is = place_at(t->memory, i);
		uint8_t *want = place_at(t->want, i);

		if (target[i])
			good = good && !memcmp(is, want, BYTES);
		good = good && !memcmp(is + BYTES, want + BYTES, GUARD);
	}
	for (unsigned i = 0; i < GUARD; i++)
		good = good && t->scratch[i] == 0xa5 &&
		       t->scratch[GUARD + BYTES + i] == 0xa5;
	ck_assert(good);
}

/* A permutation of the landings: where[i] is where the packet in i belongs. */
static void
permute(const unsigned *where, unsigned n)
{
	static struct table t;
	bool target[PLACES] = { false };

	table_open(&t, n, 40, 1);
	for (unsigned i = 0; i < n; i++) {
		if (where[i] == i)
			continue;
		table_move(&t, i, where[i]);
		target[where[i]] = true;
	}
	moves_settle(&t.moves);
	table_check(&t, target);
}

START_TEST(rings_close)
{
	unsigned where[LANDINGS];

	for (unsigned n = 1; n <= LANDINGS; n++) {
		for (unsigned i = 0; i < n; i++)
			where[i] = (i + 1) % n;
		permute(where, n);
		for (unsigned i = 0; i < n; i++)
			where[i] = (i + n - 1) % n;
		permute(where, n);
		for (unsigned i = 0; i < n; i++)
			where[i] = n - 1 - i;
		permute(where, n);
	}
}
END_TEST

START_TEST(permutations_of_every_kind)
{
	struct dice dice = { 1 };
	unsigned where[LANDINGS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned n = 1 + dice_roll(&dice, LANDINGS);

		for (unsigned i = 0; i < n; i++)
			where[i] = i;
		dice_shuffle(&dice, where, n);
		permute(where, n);
	}
}
END_TEST

/* Packets anywhere go to slots anywhere, some of them landings. */
START_TEST(packets_from_anywhere_to_anywhere)
{
	static struct table t;
	struct dice dice = { 2 };
	unsigned from[PLACES], to[SLOTS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool target[PLACES] = { false };
		unsigned keys = dice_roll(&dice, LANDINGS + 1);
		unsigned n = dice_roll(&dice, RECEIVE_BATCH + 1);
		unsigned froms = 0, tos = 0;

		table_open(&t, keys, dice_bits(&dice) >> 8,
			   1 + dice_roll(&dice, 3));
		/* Only landings and spare memory have packets to move. */
		for (unsigned i = 0; i < PLACES; i++) {
			if (i < keys || i >= SLOTS)
				from[froms++] = i;
		}
		for (unsigned i = 0; i < SLOTS; i++)
			to[tos++] = i;
		dice_shuffle(&dice, from, froms);
		dice_shuffle(&dice, to, tos);
		for (unsigned i = 0; i < n; i++) {
			if (from[i] == to[i])
				continue;
			table_move(&t, from[i], to[i]);
			target[to[i]] = true;
		}
		moves_settle(&t.moves);
		table_check(&t, target);
	}
}
END_TEST

/* Losses and swaps, as networks make them: everything shifts. */
START_TEST(shifts_by_loss)
{
	static struct table t;
	struct dice dice = { 3 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		bool target[PLACES] = { false };
		unsigned slot = 0;

		table_open(&t, LANDINGS, 7, 1);
		for (unsigned i = 0; i < LANDINGS; i++, slot++) {
			slot += dice_chance(&dice, 10);
			if (slot >= SLOTS)
				break;
			if (slot == i)
				continue;
			table_move(&t, i, slot);
			target[slot] = true;
		}
		moves_settle(&t.moves);
		table_check(&t, target);
	}
}
END_TEST

/* A run began: keys of the old run mean nothing to where packets go now,
 * but a landing of it may still be waited for. */
START_TEST(outside_is_outside_whatever_the_key)
{
	static struct table t;
	bool target[PLACES] = { false };

	table_open(&t, 4, 0, 1);
	table_move(&t, 3, 2);
	target[2] = true;
	for (unsigned i = 0; i < 3; i++) {
		memcpy(place_at(t.want, SLOTS - 1 - i), place_at(t.memory, i),
		       BYTES);
		moves_add_outside(&t.moves, place_at(t.memory, i), (int)i,
				  place_at(t.memory, SLOTS - 1 - i));
		target[SLOTS - 1 - i] = true;
	}
	moves_settle(&t.moves);
	table_check(&t, target);
}
END_TEST

START_TEST(nothing_is_no_work)
{
	static struct table t;
	bool target[PLACES] = { false };

	table_open(&t, 0, 0, 1);
	moves_settle(&t.moves);
	table_check(&t, target);
}
END_TEST

SUITE("moves", nothing_is_no_work, rings_close, permutations_of_every_kind,
      packets_from_anywhere_to_anywhere, shifts_by_loss,
      outside_is_outside_whatever_the_key)
