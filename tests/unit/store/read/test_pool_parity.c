/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/clock.h"
#include "store/read/pool.h"
#include "store/read/pool_priv.h"
#include "lib/made_parity.h"
#include "lib/made_read.h"

/*
 * A pool that computes blocks from parity: members on disks 0 and 1, and their
 * parity on disk 2.  Disks that hang are in test_pool_hang.c.
 */
#define SECOND INT64_C(1000000000)

enum { BLOCKS = 12 };

static struct made m;
static struct recording *rec;
static struct pool *pool;
static struct pool_reader *reader;
static struct pool_position cursor;
static struct pool_reader_facts facts;

static void
make(void)
{
	static struct made_block mb;

	m.parity = 1;
	m.quantum = 512;
	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		made_run(&m, i, 0, MADE_BASE);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		made_block(&m, &mb, i, i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % 2, &mb);
		if (i % 2)
			made_parity(&m, i - 1, 2, (unsigned[]){ 2 }, NULL);
	}
	made_end(&m, BLOCKS);
}

static void
reader_opens(bool verify)
{
	const struct pool_reader_args a = { .memory = 1,
					    .verify = verify,
					    .pool = pool };

	opened(&m, &rec);
	ck_assert_int_eq(pool_reader_open(&reader, rec, &a), 0);
	pool_position_begin(&cursor, reader, -1, POOL_SEQUENTIAL);
}

static void
reader_done(void)
{
	pool_reader_facts(reader, &facts);
	pool_position_end(&cursor);
	pool_reader_close(reader);
	recording_close(rec);
}

static const char *
chunk(uint64_t number)
{
	static char file[LAYOUT_FILE];

	return layout_chunk(file, MADE_NAME, number);
}

static struct pool_stretch
get(uint64_t number, uint64_t at, uint64_t bytes)
{
	struct pool_stretch v;

	ck_assert_int_eq(pool_get(&cursor, number, at, bytes, &v,
				  clock_steady() + 60 * SECOND),
			 0);
	return v;
}

/* Reads a whole block; returns how many of its bytes are not as sent. */
static unsigned
wrong(uint64_t number)
{
	static struct made_block mb;
	struct pool_stretch v = get(number, 0, 0);
	unsigned n = 0;

	made_block(&m, &mb, number, number * MADE_SLOTS, MADE_SLOTS);
	ck_assert_int_eq(v.err, 0);
	ck_assert_uint_eq(v.bytes, MADE_BLOCK);
	for (unsigned i = 0; i < MADE_BLOCK; i++)
		n += v.data[i] != mb.data[i];
	pool_put(reader, &v);
	return n;
}

START_TEST(test_a_disk_is_away)
{
	make();
	for (unsigned gone = 0; gone < MADE_DISKS; gone++) {
		made_hide(&m, gone);
		reader_opens(gone == 0);
		for (uint64_t i = 0; i < BLOCKS; i++)
			ck_assert_uint_eq(wrong(i), 0);
		reader_done();
		ck_assert_uint_eq(facts.healed, gone == 2 ? 0 : BLOCKS / 2);
		ck_assert_uint_eq(facts.damaged, 0);
		made_show(&m, gone);
	}
	made_finish(&m);
}
END_TEST

/* A bit that turned, a chunk that is short, and one that is gone. */
START_TEST(test_damaged)
{
	make();
	made_spoil(&m, 0, chunk(2), 1000);
	ck_assert_int_eq(truncate(made_path(&m, 1, chunk(5)), 100), 0);
	ck_assert_int_eq(unlink(made_path(&m, 0, chunk(8))), 0);
	reader_opens(false);
	for (uint64_t i = 0; i < BLOCKS; i++)
		ck_assert_uint_eq(wrong(i), 0);
	reader_done();
	ck_assert_uint_eq(facts.healed, 3);
	ck_assert_uint_eq(facts.damaged, 0);
	made_finish(&m);
}
END_TEST

/* What parity does not mend is given as it is, and counted by quanta; with
 * `verify` it is refused. */
START_TEST(test_damaged_beyond_parity)
{
	struct pool_stretch v;

	make();
	made_spoil(&m, 0, chunk(2), 1000);
	made_spoil(&m, 0, chunk(2), 3000);
	made_spoil(&m, 1, chunk(3), 0);
	reader_opens(false);
	for (uint64_t i = 0; i < BLOCKS; i++)
		ck_assert_uint_eq(wrong(i), i == 2 ? 2 : i == 3 ? 1 : 0);
	reader_done();
	ck_assert_uint_eq(facts.healed, 0);
	ck_assert_uint_eq(facts.damaged, 3 * 512);
	/* Without the checksums of quanta all of the block is. */
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".sums")), 0);
	reader_opens(false);
	ck_assert_uint_eq(wrong(2), 2);
	ck_assert_uint_eq(wrong(3), 1);
	reader_done();
	ck_assert_uint_eq(facts.damaged, MADE_BLOCK + 512);
	reader_opens(true);
	v = get(2, 0, 0);
	ck_assert_int_eq(v.err, -EBADMSG);
	pool_put(reader, &v);
	reader_done();
	ck_assert_uint_eq(facts.damaged, 0);
	made_finish(&m);
}
END_TEST

/* Returns when computing a block failed; 0: never. */
static int64_t
failed_at(uint64_t number)
{
	int64_t at = 0;

	pthread_mutex_lock(&reader->pool->lock);
	for (struct pool_chunk *c = reader->chunk; c; c = c->next) {
		if (c->record.number == number)
			at = c->failed_at;
	}
	pthread_mutex_unlock(&reader->pool->lock);
	return at;
}

/* A block that cannot be computed is not tried for each piece. */
START_TEST(test_tried_once)
{
	struct pool_stretch v;
	int64_t at;

	make();
	ck_assert_int_eq(unlink(made_path(&m, 0, chunk(2))), 0);
	ck_assert_int_eq(unlink(made_path(&m, 1, chunk(3))), 0);
	reader_opens(false);
	v = get(2, 0, 100);
	ck_assert_int_eq(v.err, -ENOENT);
	pool_put(reader, &v);
	at = failed_at(2);
	ck_assert_int_gt(at, 0);
	v = get(2, 100, 100);
	ck_assert_int_eq(v.err, -ENOENT);
	pool_put(reader, &v);
	ck_assert_int_eq(failed_at(2), at);
	reader_done();
	made_finish(&m);
}
END_TEST

/* Returns how many chunks keep computed data. */
static unsigned
kept(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&reader->pool->lock);
	for (struct pool_chunk *c = reader->chunk; c; c = c->next)
		n += !c->unread && c->healed;
	pthread_mutex_unlock(&reader->pool->lock);
	return n;
}

/* Pieces stay in buffers for readers that come later, and what was computed for
 * them does not. */
START_TEST(test_computed_data_are_few)
{
	const struct pool_args a = { .disks = MADE_DISKS,
				     .memory = UINT64_C(64) << 20 };
	struct pool_position other;

	make();
	made_hide(&m, 0);
	ck_assert_int_eq(pool_make(&pool, &a), 0);
	reader_opens(false);
	pool_position_begin(&other, reader, -1, POOL_ANY_ORDER);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint64_t i = 0; i < BLOCKS; i++)
			ck_assert_uint_eq(wrong(i), 0);
		ck_assert_uint_eq(kept(), POOL_HEALERS);
	}
	/* The second turn found all in buffers. */
	pool_reader_facts(reader, &facts);
	ck_assert_uint_eq(facts.healed, BLOCKS / 2);
	pool_position_end(&other);
	reader_done();
	pool_leave(pool);
	pool = NULL;
	made_show(&m, 0);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("pool_parity", NULL, test_a_disk_is_away, test_damaged,
	      test_damaged_beyond_parity, test_tried_once,
	      test_computed_data_are_few)
