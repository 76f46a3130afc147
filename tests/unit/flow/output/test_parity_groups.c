/* SPDX-License-Identifier: MIT */
/* Blocks of a pool that are given to disks, and the parity that comes of it. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "flow/memory/arena.h"
#include "flow/memory/block_pool.h"
#include "flow/output/parity_groups.h"
#include "lib/suite.h"
#include "store/parity/code.h"
#include "store/parity/parity.h"

enum { SLOTS = 16, SLOT = 1024, BYTES = SLOTS * SLOT, BLOCKS = 12, GOT = 16 };

static struct arena *arena;
static struct block_pool *pool, *parity;
static struct parity_groups *groups;
static struct block_bars disks; /* that take blocks */
static struct block *put[GOT];
static unsigned got;
static unsigned subs = 1;
static uint64_t number;

static unsigned
count_disks(void *arg, struct block_bars *set)
{
	(void)arg;
	*set = disks;
	return (unsigned)__builtin_popcountll(disks.bit[0]);
}

static atomic_int putting; /* 1: put() shall wait; 2: it does */
static atomic_uint endings;

static void
count_end(void *arg)
{
	(void)arg;
	atomic_fetch_add(&endings, 1);
}

static void
take_rows(void *arg, struct block *const *b, unsigned n)
{
	(void)arg;
	if (atomic_load(&putting))
		atomic_store(&putting, 2);
	while (atomic_load(&putting))
		sched_yield();
	for (unsigned i = 0; i < n; i++) {
		ck_assert_uint_lt(got, GOT);
		put[got++] = b[i];
	}
}

/* `blocks`: of data; `of_parity`: groups that have parity at a time. */
static void
start(unsigned rows, unsigned blocks, unsigned of_parity, uint64_t set)
{
	struct block_pool_args data = { .blocks = blocks,
					.slots = SLOTS,
					.slot_bytes = SLOT,
					.subs = subs };
	struct block_pool_args extra = data;
	struct fault fault;

	extra.blocks = rows * of_parity;
	extra.subs = 1;
	extra.extra = parity_groups_extra();
	ck_assert_int_eq(
	    arena_make(&arena, block_pool_need(&data) + block_pool_need(&extra),
		       NULL, &fault),
	    0);
	ck_assert_int_eq(block_pool_borrow(arena, &pool, &data, &fault), 0);
	ck_assert_int_eq(block_pool_borrow(arena, &parity, &extra, &fault), 0);
	ck_assert_int_eq(parity_groups_make(&groups,
					    &(struct parity_groups_args){
						.rows = rows,
						.pool = parity,
						.age = NS_SECOND,
						.disks = count_disks,
						.put = take_rows,
						.ended = count_end,
					    }),
			 0);
	disks = (struct block_bars){ { set } };
	got = 0;
	number = 0;
	atomic_store(&endings, 0);
}

static void
finish(void)
{
	parity_groups_free(groups);
	for (unsigned i = 0; i < got; i++)
		block_drop(put[i]);
	/* nothing is held any more */
	ck_assert_uint_eq(block_pool_free_blocks(pool),
			  block_pool_blocks(pool));
	ck_assert_uint_eq(block_pool_free_blocks(parity),
			  block_pool_blocks(parity));
	block_pool_return(pool);
	block_pool_return(parity);
	arena_free(arena);
}

/* A block of `slots` slots, as a writer has it. */
static struct block *
block_make(unsigned slots)
{
	struct block *b = block_pool_take(pool, 0);

	ck_assert_ptr_nonnull(b);
	b->used = b->filled = slots;
	b->number = number++;
	memset(b->data, (int)(17 * b->number + 3), (size_t)slots * SLOT);
	block_close(b);
	block_seal(b);
	return b;
}

static void
give(struct block *b, unsigned disk)
{
	const struct index_record r = { .number = b->number,
					.bytes = block_bytes(b),
					.kind = INDEX_BLOCK };
	char line[32];

	snprintf(line, sizeof line, "{\"block\":%u}\n", (unsigned)b->number);
	parity_groups_add(groups, b, &r, line, disk);
}

/* Gives a whole block to a disk, which writes it at once. */
static void
written_by(unsigned disk)
{
	struct block *b = block_make(SLOTS);

	give(b, disk);
	block_drop(b);
	parity_groups_relieve(groups);
}

/* Ends all groups as the event loop and a writer do it. */
static void
end(void)
{
	parity_groups_end(groups);
	parity_groups_look(groups, clock_steady());
	ck_assert(parity_groups_end(groups));
}

/* What the parity block number i says of its group. */
static struct parity_record
said(unsigned i)
{
	struct parity_record p;

	ck_assert_uint_lt(i, got);
	ck_assert_int_eq(
	    parity_unpack(&p, put[i]->data + put[i]->parity->bytes), 0);
	ck_assert_uint_eq(p.bytes, put[i]->parity->bytes);
	ck_assert_uint_eq(put[i]->bytes, p.bytes + parity_tail_bytes(&p));
	return p;
}

/* One disk is kept for the parity, the others each give a member. */
START_TEST(all_disks_but_one)
{
	struct parity_record p;
	uint8_t xor = 0;

	start(1, BLOCKS, 4, 0x3f);
	for (unsigned i = 0; i < 5; i++)
		xor ^= (uint8_t)(17 * i + 3);
	/* disk 0 begins a group, whose parity is for disk 1 */
	written_by(0);
	for (unsigned disk = 2; disk < 5; disk++)
		written_by(disk);
	ck_assert_uint_eq(got, 0);
	written_by(5);
	ck_assert_uint_eq(got, 1);
	p = said(0);
	ck_assert_uint_eq(p.group, 0);
	ck_assert_uint_eq(p.members, 5);
	ck_assert_uint_eq(p.bytes, BYTES);
	for (unsigned i = 0; i < BYTES; i++)
		ck_assert_uint_eq(put[0]->data[i], xor);
	ck_assert_uint_eq(put[0]->parity->bars.bit[0], 0x3d);
	ck_assert_ptr_nonnull(strstr(put[0]->parity->lines, "{\"block\":4}\n"));
	ck_assert_uint_eq(parity_groups_counts(groups).members, 5);
	finish();
}
END_TEST

/* Disks take turns with the parity. */
START_TEST(in_turns)
{
	uint64_t seen = 0;

	start(1, BLOCKS, 8, 0xf);
	for (unsigned round = 0; round < 6; round++) {
		for (unsigned disk = 0; disk < 4; disk++)
			written_by(disk);
	}
	ck_assert_uint_ge(got, 6);
	for (unsigned i = 0; i < got; i++)
		seen |= ~put[i]->parity->bars.bit[0] & 0xf;
	ck_assert_uint_eq(seen, 0xf);
	finish();
}
END_TEST

/* A short member, the end, and two rows. */
START_TEST(ends_early)
{
	struct block *b;

	start(2, BLOCKS, 4, 0x3f);
	b = block_make(3);
	give(b, 0);
	block_drop(b);
	written_by(3);
	parity_groups_look(groups, clock_steady());
	ck_assert_uint_eq(got, 0);
	parity_groups_look(groups, clock_steady() + 2 * NS_SECOND);
	ck_assert_uint_eq(got, 2);
	for (unsigned r = 0; r < 2; r++) {
		ck_assert_uint_eq(said(r).row, r);
		ck_assert_uint_eq(said(r).rows, 2);
		ck_assert_uint_eq(said(r).members, 2);
		ck_assert_uint_eq(put[r]->parity->bars.bit[0], 9);
	}
	ck_assert_uint_eq(put[0]->data[3 * SLOT - 1], 3 ^ 20);
	ck_assert_uint_eq(put[0]->data[3 * SLOT], 20);
	ck_assert_uint_eq(put[1]->data[3 * SLOT], put[1]->data[BYTES - 1]);
	/* A disk gives a block back: it is in its group already. */
	b = block_make(1);
	give(b, 0);
	give(b, 1);
	block_drop(b);
	/* the event loop computes nothing */
	ck_assert(!parity_groups_end(groups));
	ck_assert_uint_eq(got, 2);
	end();
	ck_assert_uint_eq(got, 4);
	ck_assert_uint_eq(said(2).members, 1);
	ck_assert_uint_eq(put[2]->parity->bars.bit[0], 3);
	b = block_make(1);
	give(b, 0);
	ck_assert_uint_eq(b->grouped, 0);
	block_drop(b);
	ck_assert_uint_eq(parity_groups_counts(groups).unprotected, 0);
	finish();
}
END_TEST

/* Blocks become few: none is held any longer than its disk needs it. */
START_TEST(holds_nothing_that_is_needed)
{
	struct block *b[BLOCKS];
	struct block *last;

	start(1, 4, 4, 0x3f);
	for (unsigned i = 0; i < 3; i++) {
		b[i] = block_make(SLOTS);
		give(b[i], i + (i > 0));
	}
	ck_assert_uint_eq(block_pool_free_blocks(pool), 1);
	for (unsigned i = 0; i < 3; i++) {
		block_drop(b[i]);
		parity_groups_relieve(groups);
	}
	ck_assert_uint_eq(block_pool_free_blocks(pool), 4);
	end();
	ck_assert_uint_eq(got, 1);
	last = put[0];
	ck_assert_uint_eq(last->data[7], 3 ^ 20 ^ 37);
	ck_assert_uint_eq(said(0).crc, crc32c(0, last->data, BYTES));
	finish();
}
END_TEST

/* Blocks that are held when they become few are freed by the next that any disk
 * takes, not only by one of theirs. */
START_TEST(holds_nothing_for_long)
{
	struct block *b[7];

	start(1, BLOCKS, 4, 0x3f);
	for (unsigned i = 0; i < 3; i++)
		written_by(i + (i > 0));
	/* there is room: all are held */
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS - 3);
	for (unsigned i = 0; i < 7; i++)
		b[i] = block_make(SLOTS);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 2);
	give(b[6], 0);
	ck_assert_uint_eq(block_pool_free_blocks(pool), 5);
	for (unsigned i = 0; i < 7; i++)
		block_drop(b[i]);
	finish();
}
END_TEST

/* Five substreams that have two blocks each: what is held would be refused to
 * one that needs it. */
START_TEST(guaranteed_blocks_are_not_held)
{
	struct block *b;

	subs = 5;
	start(1, BLOCKS, 4, 0x3f);
	subs = 1;
	written_by(0);
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	b = block_make(SLOTS);
	block_drop(b);
	end();
	ck_assert_uint_eq(got, 1);
	finish();
}
END_TEST

/* No parity block is free: a group waits for one, and if blocks are few it is
 * given up. */
START_TEST(parity_runs_short)
{
	struct block *b[BLOCKS];
	unsigned n;

	start(1, BLOCKS, 1, 7);
	for (unsigned disk = 0; disk < 3; disk++)
		written_by(disk);
	for (unsigned disk = 0; disk < 3; disk++)
		written_by(disk);
	ck_assert_uint_eq(got, 1);
	ck_assert_uint_lt(block_pool_free_blocks(pool), BLOCKS);
	block_drop(put[--got]);
	parity_groups_look(groups, clock_steady());
	ck_assert_uint_eq(got, 1);
	ck_assert_uint_eq(parity_groups_counts(groups).unprotected, 0);
	parity_groups_look(groups, clock_steady() + 2 * NS_SECOND);
	n = block_pool_free_blocks(pool);
	ck_assert_uint_lt(n, BLOCKS);
	for (unsigned i = 0; i < n; i++)
		b[i] = block_make(SLOTS);
	parity_groups_look(groups, clock_steady());
	for (unsigned i = 0; i < n; i++)
		block_drop(b[i]);
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	ck_assert_uint_gt(parity_groups_counts(groups).unprotected, 0);
	finish();
}
END_TEST

START_TEST(too_few_disks)
{
	start(2, BLOCKS, 4, 3);
	written_by(0);
	written_by(1);
	end();
	ck_assert_uint_eq(got, 0);
	ck_assert_uint_eq(parity_groups_counts(groups).unprotected, 2);
	finish();
}
END_TEST

/* A disk that joins late has its turn once, not until it has as many as the
 * others. */
START_TEST(late_disks_take_turns)
{
	unsigned late = 0;

	start(1, BLOCKS, GOT, 7);
	for (unsigned round = 0; round < 60; round++) {
		written_by(round % 3);
		while (got)
			block_drop(put[--got]);
	}
	disks.bit[0] = 0xf;
	/* it is slow, and has not begun a block yet */
	for (unsigned round = 0; round < 24; round++)
		written_by(round % 3);
	end();
	for (unsigned i = 0; i < got; i++)
		late += put[i]->parity->bars.bit[0] == 7;
	ck_assert_uint_gt(got, 7);
	ck_assert_uint_lt(late, got / 2);
	finish();
}
END_TEST

/* A group without a parity block to fold into: it closes, and does not spoil
 * blocks that come later. */
START_TEST(a_failed_group_closes)
{
	struct block *row, *b[3];

	start(1, 4, 1, 0x3f);
	row = block_pool_take(parity, 0);
	for (unsigned i = 0; i < 3; i++) {
		b[i] = block_make(SLOTS);
		give(b[i], i + (i > 0));
	}
	for (unsigned i = 0; i < 3; i++)
		block_drop(b[i]);
	parity_groups_relieve(groups);
	ck_assert_uint_eq(parity_groups_counts(groups).unprotected, 3);
	block_pool_put(row);
	written_by(4);
	end();
	ck_assert_uint_eq(got, 1);
	ck_assert_uint_eq(said(0).members, 1);
	finish();
}
END_TEST

/* Nobody takes blocks: what is held is freed without being encoded. */
START_TEST(given_up)
{
	start(1, BLOCKS, 4, 0x3f);
	written_by(0);
	written_by(2);
	ck_assert_uint_lt(block_pool_free_blocks(pool), BLOCKS);
	parity_groups_give_up(groups);
	ck_assert_uint_eq(block_pool_free_blocks(pool), BLOCKS);
	ck_assert_uint_eq(parity_groups_counts(groups).unprotected, 2);
	ck_assert(parity_groups_end(groups));
	ck_assert_uint_eq(got, 0);
	finish();
}
END_TEST

/* ---- two threads --------------------------------------------------------- */

static void *
look_once(void *arg)
{
	(void)arg;
	parity_groups_look(groups, clock_steady());
	return NULL;
}

/* A writer that is slow to put the last parity blocks: the end waits for it, and
 * finds them in flight then. */
START_TEST(the_end_waits_for_a_slow_writer)
{
	pthread_t writer;

	start(1, BLOCKS, 4, 0x3f);
	written_by(0);
	atomic_store(&putting, 1);
	ck_assert(!parity_groups_end(groups));
	ck_assert_int_eq(pthread_create(&writer, NULL, look_once, NULL), 0);
	while (atomic_load(&putting) != 2)
		sched_yield();
	/* it is in no list any more, and nothing is in flight */
	ck_assert(!parity_groups_end(groups));
	ck_assert_uint_eq(atomic_load(&endings), 0);
	atomic_store(&putting, 0);
	while (!parity_groups_end(groups))
		sched_yield();
	ck_assert_uint_eq(got, 1);
	pthread_join(writer, NULL);
	ck_assert_uint_eq(atomic_load(&endings), 1);
	finish();
}
END_TEST

SUITE_THREADS("parity_groups", NULL, all_disks_but_one, in_turns, ends_early,
	      holds_nothing_that_is_needed, holds_nothing_for_long,
	      guaranteed_blocks_are_not_held, parity_runs_short, too_few_disks,
	      late_disks_take_turns, a_failed_group_closes, given_up,
	      the_end_waits_for_a_slow_writer)
