/* SPDX-License-Identifier: MIT */
/*
 * Relocation against the simplest model there is: copy all bytes aside, then
 * each to where it belongs.
 *
 * Packets: a table of slots with guard bytes between them; some are landings,
 * some are slots elsewhere, some are where packets lie that landed in no slot
 * at all.  Pieces of any length lie and belong anywhere in one piece of memory,
 * over each other as it comes.
 */
#include "flow/place/relocate.h"

#include <string.h>

#include "lib/dice.h"
#include "lib/suite.h"

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
	unsigned keys;
	struct relocate moves;
};

static uint8_t *
place_at(uint8_t *memory, unsigned i)
{
	return memory + GUARD + i * STEP;
}

static void
table_open(struct table *t, unsigned keys)
{
	for (unsigned i = 0; i < sizeof t->memory; i++)
		t->memory[i] = (uint8_t)(i * 31 + i / 251);
	memcpy(t->want, t->memory, sizeof t->want);
	memset(t->scratch, 0xa5, sizeof t->scratch);
	t->keys = keys;
	t->moves.aside = t->scratch + GUARD;
	t->moves.aside_bytes = BYTES;
	relocate_start(&t->moves);
}

/* The packet at place `from` belongs at place `to`. */
static void
table_move(struct table *t, unsigned from, unsigned to)
{
	memcpy(place_at(t->want, to), place_at(t->memory, from), BYTES);
	relocate_add(&t->moves, place_at(t->memory, from),
		     place_at(t->memory, to), BYTES);
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

	table_open(&t, n);
	for (unsigned i = 0; i < n; i++) {
		if (where[i] == i)
			continue;
		table_move(&t, i, where[i]);
		target[where[i]] = true;
	}
	relocate_settle(&t.moves);
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

		table_open(&t, keys);
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
		relocate_settle(&t.moves);
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

		table_open(&t, LANDINGS);
		for (unsigned i = 0; i < LANDINGS; i++, slot++) {
			slot += dice_chance(&dice, 10);
			if (slot >= SLOTS)
				break;
			if (slot == i)
				continue;
			table_move(&t, i, slot);
			target[slot] = true;
		}
		relocate_settle(&t.moves);
		table_check(&t, target);
	}
}
END_TEST

/* A run began: some packets go to fresh slots, and a landing of the old run may
 * still be waited for. */
START_TEST(some_go_outside)
{
	static struct table t;
	bool target[PLACES] = { false };

	table_open(&t, 4);
	table_move(&t, 3, 2);
	target[2] = true;
	for (unsigned i = 0; i < 3; i++) {
		table_move(&t, i, SLOTS - 1 - i);
		target[SLOTS - 1 - i] = true;
	}
	relocate_settle(&t.moves);
	table_check(&t, target);
}
END_TEST

START_TEST(nothing_is_no_work)
{
	static struct table t;
	bool target[PLACES] = { false };

	table_open(&t, 0);
	relocate_settle(&t.moves);
	table_check(&t, target);
}
END_TEST

/* ---- pieces of any length --------------------------------------------- */

enum { MEMORY = 4096, TIMES = 20000, PIECES = 40 };

struct piece {
	uint32_t from, to, bytes;
};

static uint8_t memory[MEMORY], wanted[MEMORY], aside[RECEIVE_BATCH << 16];
static bool written[MEMORY];
static struct relocate pieces = { .aside = aside, .aside_bytes = sizeof aside };

static void
start(void)
{
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = (uint8_t)(i * 31 + i / 251);
	memcpy(wanted, memory, MEMORY);
	memset(written, 0, sizeof written);
	relocate_start(&pieces);
}

static void
settle(const struct piece *p, unsigned n)
{
	uint8_t before[MEMORY];
	bool good = true;

	memcpy(before, memory, MEMORY);
	for (unsigned i = 0; i < n; i++) {
		memcpy(wanted + p[i].to, before + p[i].from, p[i].bytes);
		memset(written + p[i].to, 1, p[i].bytes);
		relocate_add(&pieces, memory + p[i].from, memory + p[i].to,
			     p[i].bytes);
	}
	relocate_settle(&pieces);
	for (unsigned i = 0; i < MEMORY; i++)
		good = good && (!written[i] || memory[i] == wanted[i]);
	ck_assert(good);
	ck_assert_uint_eq(pieces.n, 0);
}

/* Apart from each other, as they come: lengths and holes by chance. */
static unsigned
lay(struct dice *dice, uint32_t *at, const uint32_t *bytes, unsigned n,
    uint32_t hole)
{
	uint32_t end = dice_roll(dice, hole);

	for (unsigned i = 0; i < n; i++) {
		if (end + bytes[i] > MEMORY)
			return i;
		at[i] = end;
		end += bytes[i] + dice_roll(dice, hole);
	}
	return n;
}

START_TEST(anything_anywhere)
{
	struct dice dice = { 1 };

	for (unsigned round = 0; round < TIMES; round++) {
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
START_TEST(rings_of_pieces)
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
	kept = relocate_aside(&pieces, memory + 300, 50);
	settle(&(struct piece){ 50, 300, 40 }, 1);
	settle(&(struct piece){ 500, 480, 60 }, 1);
	ck_assert_uint_eq(kept[7], (uint8_t)(307 * 31 + 307 / 251));
	start();
	settle((struct piece[]){ a, b }, 2);
}
END_TEST

/* Packets that waited for a long echo to end, on top of a batch that all lies
 * elsewhere: the most moves that packets make at once. */
START_TEST(an_echo_ends_in_a_full_batch)
{
	enum { MOST = 255 + RECEIVE_BATCH };
	static uint8_t packets[MOST * BYTES], want[MOST * BYTES];
	static struct relocate r;
	uint8_t room[BYTES];

	r.aside = room;
	r.aside_bytes = sizeof room;
	relocate_start(&r);
	for (unsigned i = 0; i < sizeof packets; i++)
		packets[i] = (uint8_t)(i * 31 + i / 251);
	for (unsigned i = 0; i < MOST; i++) {
		unsigned to = (i + 1) % MOST;

		memcpy(want + to * BYTES, packets + i * BYTES, BYTES);
		relocate_add(&r, packets + i * BYTES, packets + to * BYTES,
			     BYTES);
	}
	relocate_settle(&r);
	ck_assert_mem_eq(packets, want, sizeof want);
}
END_TEST

SUITE("relocate", nothing_is_no_work, rings_close, permutations_of_every_kind,
      packets_from_anywhere_to_anywhere, shifts_by_loss, some_go_outside,
      rings_of_pieces, large_for_small, settled_in_parts, anything_anywhere,
      an_echo_ends_in_a_full_batch)
