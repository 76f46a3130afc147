/* SPDX-License-Identifier: MIT */
/*
 * Blocks that were seen in memory, before an index has them: they count, they
 * keep their place, and what is in an index later replaces them.
 */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

static struct made_block mb;
static const struct recording_facts *f;

/* The block of a number, full, as memory has it. */
static struct index_record
seen(uint64_t number)
{
	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	return made_record(&mb.b);
}

static void
remember(const struct index_record *r)
{
	ck_assert_int_eq(recording_remember(rec, r, 1), 1);
	ck_assert_int_eq(recording_refresh(rec), 0);
}

static void
remember_number(uint64_t number)
{
	struct index_record r = seen(number);

	remember(&r);
}

/* It comes to a disk after all. */
static void
lands(uint64_t number)
{
	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, number % MADE_DISKS, &mb);
	ck_assert_int_eq(recording_refresh(rec), 0);
}

static const struct recording_block *
block(uint64_t number)
{
	size_t n;
	const struct recording_block *b = recording_blocks(rec, &n);

	ck_assert_uint_lt(number, n);
	return b + number;
}

static void
begin(unsigned blocks)
{
	made_begin(&m);
	made_blocks(&m, blocks);
	f = opened(&m, &rec);
	ck_assert_int_eq(f->state, RECORDING_LIVE);
	ck_assert_uint_eq(f->bytes, (uint64_t)blocks * MADE_BLOCK);
}

START_TEST(counts_as_there)
{
	begin(2);
	remember_number(3);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	remember_number(2);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->packets, 4 * MADE_SLOTS);
	ck_assert_uint_eq(f->chunks, 4);
	ck_assert(block(2)->remembered && block(2)->disk < 0);
	ck_assert(recording_is_awaited(rec, 2));
	ck_assert(!recording_is_awaited(rec, 1));
	ck_assert(!recording_is_awaited(rec, 4));
	ck_assert(block(3)->remembered);
	ck_assert(!block(1)->remembered);
	ck_assert_uint_eq(block(3)->offset, 3 * MADE_BLOCK);
	lands(2);
	ck_assert(!block(2)->remembered && block(2)->disk == 2);
	ck_assert(!recording_is_awaited(rec, 2));
	ck_assert(block(3)->remembered);
	lands(3);
	slots_are(&m, rec, 0, 4 * MADE_SLOTS, 0, true);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	made_end(&m, 4);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	done(&m, rec);
}
END_TEST

/* Seen again and again, in any order, and after an index has it. */
START_TEST(seen_again)
{
	struct index_record r[4];

	begin(1);
	for (unsigned i = 0; i < 4; i++)
		r[3 - i] = seen(i + 1);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(recording_remember(rec, r, 4), i ? 0 : 4);
		ck_assert_int_eq(recording_refresh(rec), 0);
		ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	}
	for (unsigned i = 1; i < 5; i++)
		lands(i);
	ck_assert_int_eq(recording_remember(rec, r, 4), 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	for (unsigned i = 0; i < 5; i++)
		ck_assert(!block(i)->remembered);
	done(&m, rec);
}
END_TEST

/* Who recorded is killed: no index has what was seen. */
START_TEST(never_comes)
{
	begin(2);
	remember_number(2);
	remember_number(4); /* nobody saw that */
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	made_end(&m, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_INTERRUPTED);
	ck_assert(!recording_is_awaited(rec, 2));
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	slots_are(&m, rec, 0, 2 * MADE_SLOTS, 0, true);
	ck_assert_uint_eq(slots_are(&m, rec, 2 * MADE_SLOTS, 3 * MADE_SLOTS,
				    2 * MADE_SLOTS, false),
			  MADE_BLOCK);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	done(&m, rec);
}
END_TEST

/* It was lost, as who records says, and he goes on. */
START_TEST(lost)
{
	struct index_record r;

	begin(2);
	remember_number(2);
	r = seen(4);
	ck_assert(recording_is_awaited(rec, 2));
	recording_settle(rec, 4);
	remember(&r);
	ck_assert(!recording_is_awaited(rec, 2));
	ck_assert(recording_is_awaited(rec, 4));
	ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	ck_assert_uint_eq(f->absent, 1);
	made_end(&m, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	slots_are(&m, rec, 3 * MADE_SLOTS, 5 * MADE_SLOTS, 3 * MADE_SLOTS,
		  false);
	done(&m, rec);
}
END_TEST

/* How long a stretch is of which nothing is known, only the next block says:
 * until it is there, the file ends before that. */
START_TEST(ends_in_known)
{
	begin(2);
	recording_settle(rec, 4);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	made_block(&m, &mb, 4, 2 * MADE_SLOTS + 10, MADE_SLOTS);
	made_write(&m, 0, &mb);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	slots_are(&m, rec, 2 * MADE_SLOTS, 2 * MADE_SLOTS + 10, 2 * MADE_SLOTS,
		  false);
	slots_are(&m, rec, 2 * MADE_SLOTS + 10, 3 * MADE_SLOTS,
		  2 * MADE_SLOTS + 10, true);
	done(&m, rec);
}
END_TEST

/* What was visible keeps its place; what was not is as an index says. */
START_TEST(another_record)
{
	struct index_record r;

	begin(2);
	remember_number(2);
	r = seen(4);
	remember(&r);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, 10);
	made_write(&m, 2, &mb);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 4, 4 * MADE_SLOTS, 10);
	made_write(&m, 1, &mb);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	ck_assert(block(2)->remembered && !block(4)->remembered);
	slots_are(&m, rec, 2 * MADE_SLOTS, 3 * MADE_SLOTS, 2 * MADE_SLOTS,
		  false);
	slots_are(&m, rec, 3 * MADE_SLOTS, 4 * MADE_SLOTS + 10, 3 * MADE_SLOTS,
		  true);
	done(&m, rec);
}
END_TEST

static void
see_hole(void *arg, uint64_t at, uint64_t count)
{
	*(uint64_t *)arg = 1000 * at + count;
}

START_TEST(gaps_and_holes)
{
	struct index_record r;
	uint64_t hole = 0;

	begin(1);
	made_block(&m, &mb, 2, 3 * MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 7);
	r = made_record(&mb.b);
	remember(&r);
	ck_assert_uint_eq(f->bytes, MADE_BLOCK);
	r = index_gap(&r, 2 * MADE_SLOTS);
	remember(&r);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert_uint_eq(f->gaps, 1);
	ck_assert_uint_eq(f->missing, 2 * MADE_SLOTS + 1);
	slots_are(&m, rec, MADE_SLOTS, 3 * MADE_SLOTS, MADE_SLOTS, false);
	/* Which one it is, is not known yet. */
	ck_assert_int_eq(recording_holes(rec, 2, see_hole, &hole), -EAGAIN);
	ck_assert_int_eq(recording_holes(rec, 1, see_hole, &hole), 0);
	ck_assert_uint_eq(hole, 2 * MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_index(&m, 0, &r);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert(!block(1)->remembered && !block(2)->remembered);
	ck_assert_int_eq(recording_holes(rec, 2, see_hole, &hole), 0);
	ck_assert_uint_eq(hole, 7001);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	done(&m, rec);
}
END_TEST

START_TEST(substreams)
{
	struct index_record r[4];

	m.subs = 2;
	made_begin(&m);
	f = opened(&m, &rec);
	for (uint64_t i = 0; i < 4; i++) {
		r[i] = seen(i);
		r[i].sub = i % 2;
		r[i].first = i / 2 * MADE_SLOTS;
	}
	ck_assert_int_eq(recording_remember(rec, r, 3), 3);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->sub[0].bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->sub[1].bytes, MADE_BLOCK);
	r[3].first += 5; /* what was lost before it is filled */
	remember(&r[3]);
	ck_assert_uint_eq(f->sub[1].bytes, 2 * MADE_BLOCK + 5 * MADE_PAYLOAD);
	ck_assert_uint_eq(block(3)->offset, MADE_BLOCK + 5 * MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

/* Of rows a chunk that is short or not there is left out, but not one whose
 * place was seen. */
START_TEST(rows)
{
	struct index_record r;
	uint8_t byte;

	m.store = HEAP_ROW;
	begin(0);
	r = seen(0);
	remember(&r);
	remember_number(1);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert_uint_eq(f->left_out, 0);
	made_chunk(&m, 0, &mb);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000001"), 99),
			 0);
	made_index(&m, 0,
		   &(struct index_record){ .number = 1,
					   .first = r.bytes / 64,
					   .bytes = r.bytes,
					   .present = r.present,
					   .kind = INDEX_BLOCK });
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	made_end(&m, 0);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK);
	ck_assert_int_eq(recording_read(rec, &byte, 1, 0, NULL), -EIO);
	done(&m, rec);
}
END_TEST

/* The disks end one after the other: what the last of them has is waited
 * for. */
START_TEST(ends_disk_by_disk)
{
	struct index_record end = { .kind = INDEX_END, .number = 4 };

	begin(3);
	ck_assert_int_eq(folder_close(m.folder[0], &end, NULL), 0);
	m.folder[0] = NULL;
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_LIVE);
	ck_assert_uint_eq(f->bytes, 3 * MADE_BLOCK);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 4);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_int_eq(f->state, RECORDING_COMPLETE);
	slots_are(&m, rec, 0, 4 * MADE_SLOTS, 0, true);
	done(&m, rec);
}
END_TEST

/* Two that take turns: what one saw is gone when the other looks. */
START_TEST(in_turns)
{
	struct recording *other;
	struct index_record r;

	begin(2);
	ck_assert_int_eq(recording_open(&other, &m.disks, MADE_NAME, &fault),
			 0);
	remember_number(2);
	r = seen(4);
	remember(&r);
	lands(2);
	remember_number(3);
	ck_assert_uint_eq(f->bytes, 5 * MADE_BLOCK);
	/* 2 is in an index by now, but that may be on a disk that hangs. */
	ck_assert_int_eq(recording_remember_all(other, rec), 3);
	ck_assert_int_eq(recording_refresh(other), 0);
	ck_assert_uint_eq(recording_facts(other)->bytes, 5 * MADE_BLOCK);
	ck_assert(!recording_is_awaited(other, 2));
	ck_assert(recording_is_awaited(other, 3));
	ck_assert_int_eq(recording_remember_all(rec, other), 0);
	ck_assert_int_eq(recording_remember_all(other, rec), 0);
	r = seen(6);
	ck_assert_int_eq(recording_remember(rec, &r, 1), 1);
	ck_assert_int_eq(recording_remember_all(other, rec), 1);
	/* It is killed: what nobody saw is not there. */
	remember_number(5);
	ck_assert_uint_eq(f->bytes, 7 * MADE_BLOCK);
	r = seen(8);
	ck_assert_int_eq(recording_remember(rec, &r, 1), 1);
	made_end(&m, 0);
	ck_assert_int_eq(recording_remember_all(other, rec), 2);
	ck_assert_int_eq(recording_refresh(other), 0);
	ck_assert_int_eq(recording_facts(other)->state, RECORDING_INTERRUPTED);
	ck_assert_uint_eq(recording_facts(other)->bytes, 7 * MADE_BLOCK);
	recording_close(other);
	done(&m, rec);
}
END_TEST

/* The other one is opened when it is killed already. */
START_TEST(shown_before)
{
	struct recording *other;
	struct index_record r;

	begin(2);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, 10);
	r = made_record(&mb.b);
	remember(&r);
	made_end(&m, 0);
	ck_assert_int_eq(recording_open(&other, &m.disks, MADE_NAME, &fault),
			 0);
	ck_assert_uint_eq(recording_facts(other)->bytes, 2 * MADE_BLOCK);
	ck_assert_int_eq(recording_remember_all(other, rec), 1);
	ck_assert_int_eq(recording_refresh(other), 0);
	ck_assert_uint_eq(recording_facts(other)->bytes,
			  2 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	recording_close(other);
	done(&m, rec);
}
END_TEST

/* That a block was lost was known before, and is not any more: who said so is
 * gone. */
START_TEST(settled_before)
{
	struct recording *other;

	begin(2);
	ck_assert_int_eq(recording_open(&other, &m.disks, MADE_NAME, &fault),
			 0);
	lands(3);
	recording_settle(rec, 3);
	ck_assert_int_eq(recording_refresh(rec), 0);
	ck_assert_uint_eq(f->bytes, 4 * MADE_BLOCK);
	ck_assert_int_ge(recording_remember_all(other, rec), 0);
	ck_assert_int_eq(recording_refresh(other), 0);
	ck_assert_uint_eq(recording_facts(other)->bytes, 4 * MADE_BLOCK);
	recording_close(other);
	done(&m, rec);
}
END_TEST

SUITE("remember", counts_as_there, seen_again, never_comes, lost, ends_in_known,
      another_record, gaps_and_holes, substreams, rows, ends_disk_by_disk,
      in_turns, shown_before, settled_before)
