/* SPDX-License-Identifier: MIT */
/*
 * One stream for several places.  A packet's bytes follow from its thread and
 * sequence, so that whatever comes out of a place is seen to be its own.
 */
#include "flow/receive/split.h"

#include <string.h>

#include "base/crc32c.h"
#include "base/log.h"
#include "lib/dice.h"
#include "flow/memory/checksums.h"
#include "flow/slots/slots.h"
#include "flow/memory/arena.h"
#include "lib/suite.h"

enum {
	MOST = 8, /* places */
	PREFIX = 8,
	PAYLOAD = 40,
	SLOTS = 64,
	BLOCKS = 6 * MOST,
	BATCH = 64,
	BAD = 0x7fffffff, /* a thread in a header that is none */
};

static struct arena *arena;
static struct block_pool *pool;
static struct scratch *scratch;
static struct placement *placement[MOST];
static unsigned placements;
static struct split *split;
static uint32_t key[MOST];
static uint64_t came[MOST];
static struct format_shape shape = { .prefix = PREFIX,
				     .payload = PAYLOAD,
				     .sequence = SEQUENCE_LE64,
				     .sequence_bits = 64,
				     .parts = 1 };
static const struct geometry geometry = { .payload = PAYLOAD,
					  .parts = 1,
					  .quantum = 1,
					  .slots = SLOTS,
					  .block_bytes = SLOTS * PAYLOAD };

static struct receive_pair pair[RECEIVE_BATCH];
static struct receive_batch batch = { .pair = pair };
static uint8_t elsewhere[RECEIVE_BATCH][PREFIX + PAYLOAD];

/* The sequence is in the prefix, the thread in the payload. */
static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_VALID };
	if (format_counter_read(s, prefix, payload, &p->sequence))
		p->has |= FORMAT_SEQUENCE;
	p->thread = read_le32(payload);
	p->station = p->thread + 1000;
	if (p->thread != BAD)
		p->has |= FORMAT_READABLE;
}

static const struct format_ops format = { .parse = parse };

static void
packet_make(uint8_t *prefix, uint8_t *payload, uint32_t thread,
	    uint64_t sequence)
{
	write_le64(prefix, sequence);
	write_le32(payload, thread);
	for (unsigned i = 4; i < PAYLOAD; i++)
		payload[i] = (uint8_t)(thread * 31 + sequence * 7 + i);
}

static void
out(void *arg, struct block *b)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	uint8_t prefix[PREFIX], want[PAYLOAD];

	for (uint32_t slot = 0; slot < b->used; slot++) {
		if (!block_has(b, slot))
			continue;
		packet_make(prefix, want, key[i], b->base + b->first + slot);
		if (memcmp(block_slot(b, slot), want, PAYLOAD))
			ck_abort_msg("slot %u of place %u is not its own", slot,
				     i);
		came[i]++;
	}
	checksums_seal(b);
	ck_assert_uint_eq(b->crc, crc32c(0, b->data, block_bytes(b)));
	block_seal(b);
	block_drop(b);
}

static void
split_open(unsigned n, bool station)
{
	struct block_pool_args blocks = { .blocks = BLOCKS,
					  .slots = SLOTS,
					  .slot_bytes = PAYLOAD,
					  .subs = n,
					  .quantum = 1000 };
	struct split_args args = { .format = &format,
				   .shape = &shape,
				   .station = station,
				   .key = key,
				   .placement = placement,
				   .placements = n,
				   .sources = 1 };
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(arena_make(&arena, 2 << 20, NULL, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &blocks, &fault), 0);
	ck_assert_int_eq(scratch_make(&scratch, PAYLOAD, PREFIX), 0);
	for (uintptr_t i = 0; i < n; i++) {
		struct placement_args a = { .format = &format,
					    .shape = &shape,
					    .geometry = &geometry,
					    .pool = pool,
					    .scratch = scratch,
					    .sub = (uint16_t)i,
					    .max_gap = 1000 * PAYLOAD,
					    .max_age = 1000,
					    .out = out,
					    .arg = (void *)i };

		ck_assert_int_eq(slots_make(&placement[i], &a), 0);
		came[i] = 0;
	}
	placements = n;
	args.scratch = scratch;
	ck_assert_int_eq(split_make(&split, &args), 0);
}

static void
keys_set(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		key[i] = i * 16 + 3;
}

static void
turn_begin(unsigned pairs)
{
	scratch->used = 0;
	batch.pairs = pairs;
	batch.packets = 0;
	split_aim(split, 0, pair, pairs);
	for (unsigned i = 0; i < pairs; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (pair[i].payload == pair[k].payload ||
			    pair[i].prefix == pair[k].prefix)
				ck_abort_msg("pair %u is pair %u", i, k);
		}
	}
}

static struct receive_packet *
packet(uint32_t thread, uint64_t sequence, bool away)
{
	unsigned i = batch.packets++;
	struct receive_packet *k = &batch.packet[i];

	*k = (struct receive_packet){ .prefix = elsewhere[i],
				      .payload = elsewhere[i] + PREFIX,
				      .prefix_bytes = PREFIX,
				      .bytes = PREFIX + PAYLOAD };
	if (!away && i < batch.pairs) {
		k->prefix = pair[i].prefix;
		k->payload = pair[i].payload;
	}
	packet_make(k->prefix, k->payload, thread, sequence);
	return k;
}

static void
turn_end(void)
{
	const struct split_batch b = { .packet = batch.packet,
				       .packets = batch.packets,
				       .now_ns = 5,
				       .now = 5 };
	unsigned n;

	split_batch(split, &b, &n);
}

static uint64_t
sum(enum drop why)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < placements; i++)
		n += placement_counts(placement[i])->drop[why];
	return n;
}

static uint64_t
moved(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < placements; i++)
		n += placement_counts(placement[i])->moved;
	return n;
}

/* Everything is out, and each packet in one place. */
static void
flush(void)
{
	for (unsigned i = 0; i < placements; i++) {
		const struct counts *c = placement_counts(placement[i]);
		uint64_t dropped = 0;

		placement_flush(placement[i]);
		for (int k = 0; k < DROP_KINDS; k++)
			dropped += c->drop[k];
		ck_assert_uint_eq(c->datagrams, c->placed + dropped);
		ck_assert_uint_eq(c->placed, came[i]);
	}
}

static void
split_close(void)
{
	split_free(split);
	for (unsigned i = 0; i < placements; i++)
		placement_free(placement[i]);
	scratch_free(scratch);
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	block_pool_return(pool);
	arena_free(arena);
}

/* Bursts of each place in turn; n batches. */
static void
in_turn(unsigned burst, unsigned n)
{
	uint64_t next[MOST] = { 0 };
	unsigned at = 0, left = burst;

	while (n--) {
		turn_begin(BATCH);
		for (unsigned i = 0; i < BATCH; i++) {
			packet(key[at], 100 + next[at]++, false);
			if (--left)
				continue;
			left = burst;
			at = (at + 1) % placements;
		}
		turn_end();
	}
}

START_TEST(threads_in_turn_move_nothing)
{
	for (unsigned n = 1; n <= MOST; n++) {
		keys_set(n);
		split_open(n, false);
		in_turn(1, 200);
		ck_assert_uint_eq(sum(DROP_DUPLICATE), 0);
		/* Those that were parked, and the batches around them. */
		ck_assert_uint_le(moved(), n * 32 + 2 * BATCH);
		flush();
		for (unsigned i = 0; i < n; i++)
			ck_assert_uint_ge(came[i], 200 * BATCH / n);
		split_close();
	}
}
END_TEST

START_TEST(bursts_in_turn_move_nothing)
{
	keys_set(4);
	split_open(4, false);
	in_turn(3, 200);
	ck_assert_uint_le(moved(), 4 * 32 + 2 * BATCH);
	flush();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_ge(came[i], 200 * BATCH / 4 - 3);
	split_close();
}
END_TEST

START_TEST(by_station)
{
	keys_set(3);
	for (unsigned i = 0; i < 3; i++)
		key[i] += 1000;
	split_open(3, true);
	turn_begin(BATCH);
	for (unsigned i = 0; i < BATCH; i++)
		packet(i % 4 * 16 + 3, 100 + i / 4, false);
	turn_end();
	ck_assert_uint_eq(placement_counts(placement[1])->datagrams, BATCH / 4);
	ck_assert_uint_eq(sum(DROP_UNSPLIT), BATCH / 4);
	for (unsigned i = 0; i < 3; i++)
		key[i] -= 1000; /* as the packets have it */
	flush();
	split_close();
}
END_TEST

/* All that is nobody's is counted with the first. */
START_TEST(what_is_nobodys)
{
	keys_set(2);
	split_open(2, false);
	turn_begin(BATCH);
	for (unsigned i = 0; i < 40; i++)
		packet(key[i % 2], i / 2, i % 5 == 0);
	packet(key[1], 20, false)->bytes--;
	packet(key[1], 21, false)->flags = RECEIVE_CUT;
	packet(key[1], 22, false)->flags = RECEIVE_FOREIGN;
	packet(BAD, 23, false);
	packet(1, 24, false);
	packet(17, 25, false);
	turn_end();
	ck_assert_uint_eq(placement_counts(placement[0])->drop[DROP_WRONG_SIZE],
			  2);
	ck_assert_uint_eq(placement_counts(placement[0])->drop[DROP_FOREIGN],
			  1);
	ck_assert_uint_eq(placement_counts(placement[0])->drop[DROP_UNREADABLE],
			  1);
	ck_assert_uint_eq(placement_counts(placement[0])->drop[DROP_UNSPLIT],
			  2);
	ck_assert_uint_eq(placement_counts(placement[1])->datagrams, 20);
	flush();
	ck_assert_uint_eq(came[0] + came[1], 40);
	split_close();
}
END_TEST

/* Losses, swaps, strangers, restarts and packets that lie elsewhere: nothing
 * is ever where it does not belong. */
static void
storm(unsigned n, uint64_t seed)
{
	struct dice d = { seed };
	uint64_t next[MOST] = { 0 }, told = 0, datagrams = 0;
	unsigned at = 0;

	keys_set(n);
	split_open(n, false);
	for (unsigned round = 0; round < 300; round++) {
		unsigned many = dice_roll(&d, RECEIVE_BATCH) + 1;

		turn_begin(dice_roll(&d, RECEIVE_BATCH) + 1);
		while (batch.packets < many) {
			at = dice_chance(&d, 90) ? (at + 1) % n
						 : dice_roll(&d, n);
			next[at] += dice_chance(&d, 3);
			if (dice_roll(&d, 3000) == 0)
				next[at] = dice_roll(&d, 1 << 20);
			told++;
			packet(dice_chance(&d, 2) ? 9999 : key[at],
			       next[at] - dice_chance(&d, 5) * 3,
			       dice_chance(&d, 5));
			next[at]++;
		}
		turn_end();
	}
	flush();
	for (unsigned i = 0; i < n; i++)
		datagrams += placement_counts(placement[i])->datagrams;
	ck_assert_uint_eq(datagrams, told);
	split_close();
}

START_TEST(whatever_comes_each_has_its_own)
{
	for (unsigned n = 1; n <= MOST; n++) {
		for (uint64_t seed = 1; seed < 8; seed++)
			storm(n, seed * 100 + n);
	}
}
END_TEST

SUITE("split", threads_in_turn_move_nothing, bursts_in_turn_move_nothing,
      by_station, what_is_nobodys, whatever_comes_each_has_its_own)
