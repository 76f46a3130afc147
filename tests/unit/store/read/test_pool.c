/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "store/read/pool.h"
#include "lib/dice.h"
#include "lib/made_read.h"

static struct made m;
static struct recording *rec;

/* A reader against recordings that were made as daemons make them. */

#define SECOND INT64_C(1000000000)

static struct pool_reader *reader;
static struct pool_position cursor;

static void
reader_opens(bool verify, uint64_t memory)
{
	const struct pool_reader_args a = { .memory = memory,
					    .verify = verify };

	opened(&m, &rec);
	ck_assert_int_eq(pool_reader_open(&reader, rec, &a), 0);
	pool_position_begin(&cursor, reader, -1, POOL_ANY_ORDER);
}

static void
reader_done(void)
{
	pool_position_end(&cursor);
	pool_reader_close(reader);
	done(&m, rec);
}

static struct pool_stretch
get(uint64_t number, uint64_t at, uint64_t bytes)
{
	struct pool_stretch v;

	ck_assert_int_eq(pool_get(&cursor, number, at, bytes, &v,
				  clock_steady() + 60 * SECOND),
			 0);
	ck_assert_uint_eq(v.at, at);
	return v;
}

/* A view has the slots that were sent, from this one of the block on. */
static void
view_is(const struct pool_stretch *v, uint64_t number)
{
	uint64_t first = number * MADE_SLOTS;
	uint8_t frame[MADE_PAYLOAD];

	ck_assert_int_eq(v->err, 0);
	for (uint64_t at = 0; at < v->bytes; at++) {
		uint64_t place = v->at + at;

		if (!at || place % MADE_PAYLOAD == 0)
			made_frame(&m, first + place / MADE_PAYLOAD, frame);
		ck_assert_uint_eq(v->data[at], frame[place % MADE_PAYLOAD]);
	}
}

static void
make(unsigned blocks)
{
	made_begin(&m);
	made_blocks(&m, blocks);
	made_end(&m, blocks);
}

START_TEST(test_all_in_turn)
{
	enum { BLOCKS = 40 };
	struct pool_reader_facts facts;
	struct pool_stretch v;

	make(BLOCKS);
	reader_opens(false, 1);
	cursor.sequential = true;
	for (unsigned i = 0; i < BLOCKS; i++) {
		v = get(i, 0, 0);
		ck_assert_uint_eq(v.bytes, MADE_BLOCK);
		view_is(&v, i);
		pool_put(reader, &v);
		ck_assert_int_eq(pool_get(&cursor, i, MADE_BLOCK, 0, &v, 0),
				 -ENODATA);
	}
	ck_assert_int_eq(pool_get(&cursor, BLOCKS, 0, 0, &v, 0), -ENODATA);
	/* Nothing was read twice. */
	pool_reader_facts(reader, &facts);
	ck_assert_uint_eq(facts.bytes, BLOCKS * MADE_BLOCK);
	ck_assert_uint_eq(facts.hang, 0);
	reader_done();
}
END_TEST

/* Who jumps gets what he asks for; who reads on, what follows. */
START_TEST(test_anywhere)
{
	static const struct {
		uint64_t number, at, bytes;
	} reads[] = {
		{ 17, 1000, 100 }, { 3, 0, 1 },		 { 3, 1, 4000 },
		{ 3, 4001, 95 },   { 4, 0, MADE_BLOCK }, { 5, 0, 10 },
		{ 5, 10, 0 },	   { 0, 4095, 1 },	 { 19, 2048, 5 },
		{ 19, 2048, 5 },
	};
	struct pool_stretch v;

	make(20);
	reader_opens(false, 1);
	for (unsigned i = 0; i < sizeof reads / sizeof *reads; i++) {
		v = get(reads[i].number, reads[i].at, reads[i].bytes);
		if (reads[i].bytes)
			ck_assert_uint_eq(v.bytes, reads[i].bytes);
		view_is(&v, reads[i].number);
		pool_put(reader, &v);
	}
	reader_done();
}
END_TEST

/* As many ways as there are buffers, and more. */
START_TEST(test_many_cursors)
{
	enum { WAYS = 7 };
	struct pool_position w[WAYS];
	struct pool_stretch v;

	make(30);
	reader_opens(false, 1);
	for (unsigned i = 0; i < WAYS; i++)
		pool_position_begin(&w[i], reader, -1, POOL_ANY_ORDER);
	for (unsigned i = 0; i < 24; i++) {
		for (unsigned k = 0; k < WAYS; k++) {
			ck_assert_int_eq(pool_get(&w[k], i + k, 0, 0, &v,
						  clock_steady() + 60 * SECOND),
					 0);
			view_is(&v, i + k);
			pool_put(reader, &v);
		}
	}
	for (unsigned i = 0; i < WAYS; i++)
		pool_position_end(&w[i]);
	reader_done();
}
END_TEST

/* What was given stays as it is; then there is no buffer for more. */
START_TEST(test_buffers_are_bounded)
{
	struct pool_stretch v[POOL_LEAST], more;

	make(20);
	reader_opens(false, 1);
	cursor.sequential = true;
	for (unsigned i = 0; i < POOL_LEAST; i++)
		v[i] = get(i, 0, 0);
	ck_assert_int_eq(pool_get(&cursor, POOL_LEAST, 0, 0, &more,
				  clock_steady() + SECOND / 20),
			 -ETIMEDOUT);
	for (unsigned i = 0; i < POOL_LEAST; i++)
		view_is(&v[i], i);
	pool_put(reader, &v[1]);
	more = get(POOL_LEAST, 0, 0);
	view_is(&more, POOL_LEAST);
	pool_put(reader, &more);
	view_is(&v[0], 0);
	for (unsigned i = 0; i < POOL_LEAST; i++)
		pool_put(reader, &v[i]);
	reader_done();
}
END_TEST

/* Who does not wait is told when there is news. */
START_TEST(test_told)
{
	struct pool_reader_args a = { .memory = 1 };
	struct pool_stretch v;
	uint64_t times;
	unsigned waits = 0;
	int err;

	make(9);
	opened(&m, &rec);
	a.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	ck_assert_int_eq(pool_reader_open(&reader, rec, &a), 0);
	pool_position_begin(&cursor, reader, -1, POOL_ANY_ORDER);
	for (unsigned i = 0; i < 9; i++) {
		while ((err = pool_get(&cursor, i, 0, 0, &v, 0)) ==
		       -ETIMEDOUT) {
			ck_assert_int_eq(read(a.timer, &times, sizeof times),
					 sizeof times);
			waits++;
		}
		ck_assert_int_eq(err, 0);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	ck_assert_uint_gt(waits, 0);
	close(a.timer);
	reader_done();
}
END_TEST

static void
flip(unsigned disk, const char *file, off_t at)
{
	int fd = open(made_path(&m, disk, file), O_RDWR);
	uint8_t byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* A chunk that is gone, one that is short, none at all on a disk. */
START_TEST(test_damage)
{
	struct pool_stretch v;

	make(9);
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".00000003")), 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, 1, MADE_NAME ".00000004"), 1000), 0);
	ck_assert_int_eq(unlink(made_path(&m, 2, MADE_NAME ".00000005")), 0);
	ck_assert_int_eq(mkfifo(made_path(&m, 2, MADE_NAME ".00000005"), 0600),
			 0);
	reader_opens(false, 0);
	cursor.sequential = true;
	for (unsigned i = 0; i < 9; i++) {
		v = get(i, 0, 0);
		if (i == 3 || i == 5) {
			ck_assert_int_eq(v.err, -ENOENT);
			ck_assert_uint_eq(v.bytes, MADE_BLOCK);
		} else {
			ck_assert_uint_eq(v.bytes, i == 4 ? 1000 : MADE_BLOCK);
			view_is(&v, i);
		}
		pool_put(reader, &v);
		if (i != 4)
			continue;
		v = get(i, 1000, 0);
		ck_assert_int_eq(v.err, -ENODATA);
		ck_assert_uint_eq(v.bytes, MADE_BLOCK - 1000);
		ck_assert_ptr_null(v.data);
		pool_put(reader, &v);
	}
	reader_done();
}
END_TEST

/* Of a flipped byte its quantum is bad, and nothing else. */
START_TEST(test_flipped)
{
	struct pool_stretch v;

	m.quantum = 512;
	make(6);
	flip(1, MADE_NAME ".00000004", 1030);
	reader_opens(true, 0);
	for (unsigned i = 0; i < 6; i++) {
		v = get(i, 0, 0);
		ck_assert_uint_eq(v.bytes, i == 4 ? 1024 : MADE_BLOCK);
		view_is(&v, i);
		pool_put(reader, &v);
	}
	v = get(4, 1024, 0);
	ck_assert_int_eq(v.err, -EBADMSG);
	ck_assert_uint_eq(v.bytes, 512);
	pool_put(reader, &v);
	v = get(4, 1536, 0);
	ck_assert_uint_eq(v.bytes, MADE_BLOCK - 1536);
	view_is(&v, 4);
	pool_put(reader, &v);
	reader_done();
}
END_TEST

/* Without sums of quanta there is that of the block. */
START_TEST(test_flipped_without_sums)
{
	struct pool_stretch v;

	m.quantum = 512;
	make(6);
	flip(1, MADE_NAME ".00000004", 1030);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(unlink(made_path(&m, i, MADE_NAME ".sums")),
				 0);
	reader_opens(true, 0);
	for (unsigned i = 0; i < 6; i++) {
		v = get(i, 0, 0);
		ck_assert_int_eq(v.err, i == 4 ? -EBADMSG : 0);
		ck_assert_uint_eq(v.bytes, MADE_BLOCK);
		pool_put(reader, &v);
	}
	reader_done();
}
END_TEST

/* Who does not ask for checks gets it as it is. */
START_TEST(test_flipped_unasked)
{
	struct pool_stretch v;

	m.quantum = 512;
	make(6);
	flip(1, MADE_NAME ".00000004", 1030);
	reader_opens(false, 0);
	v = get(4, 0, 0);
	ck_assert_int_eq(v.err, 0);
	ck_assert_uint_eq(v.bytes, MADE_BLOCK);
	pool_put(reader, &v);
	reader_done();
}
END_TEST

/* Closed in the midst of it, as often as not with requests in flight. */
START_TEST(test_closed_early)
{
	struct pool_stretch v;

	make(30);
	for (unsigned i = 0; i < 30; i++) {
		const struct pool_reader_args a = { .memory = 64 << 20 };

		opened(&m, &rec);
		ck_assert_int_eq(pool_reader_open(&reader, rec, &a), 0);
		pool_position_begin(&cursor, reader, -1, POOL_ANY_ORDER);
		cursor.sequential = true;
		if (i % 3)
			pool_get(&cursor, i, 0, 0, &v, 0);
		else
			v = get(i, 0, 0);
		if (i % 3 == 0)
			pool_put(reader, &v);
		pool_position_end(&cursor);
		pool_reader_close(reader);
		recording_close(rec);
	}
	made_finish(&m);
}
END_TEST

/* ---- many ------------------------------------------------------------------ */

static void
half(uint64_t number, uint64_t at)
{
	enum { STEP = 512 };
	struct pool_stretch v;

	for (uint64_t end = at + MADE_BLOCK / 2; at < end; at += STEP) {
		v = get(number, at, STEP);
		ck_assert_uint_eq(v.bytes, STEP);
		view_is(&v, number);
		pool_put(reader, &v);
	}
}

/* With a managed cursor, small requests that overtake each other find what they
 * need, however far it looks ahead; and nothing is read twice. */
START_TEST(test_told_how_far)
{
	enum { BLOCKS = 40 };
	struct pool_reader_facts facts;
	struct pool_stretch v;

	make(BLOCKS);
	reader_opens(false, 1);
	cursor.managed = true;
	cursor.sub = 0;
	half(0, 0);
	pool_position_set_ahead(&cursor, 1 << 30);
	for (unsigned i = 1; i < BLOCKS; i++) {
		half(i, 0);
		half(i - 1, MADE_BLOCK / 2);
	}
	pool_reader_facts(reader, &facts);
	ck_assert_uint_le(facts.bytes, BLOCKS * MADE_BLOCK);
	/* Who jumps gets what he asks for, in pages. */
	pool_position_set_ahead(&cursor, 0);
	v = get(3, 100, 50);
	view_is(&v, 3);
	pool_put(reader, &v);
	pool_reader_facts(reader, &facts);
	ck_assert_uint_le(facts.bytes, (BLOCKS + 1) * MADE_BLOCK);
	reader_done();
}
END_TEST

enum { THREADS = 12, TURNS = 150, MANY = 30 };

static atomic_uint wrong;

struct one {
	pthread_t thread;
	struct pool_position *cursor;
	struct dice dice;
};

static bool
is_sent(const struct pool_stretch *v, uint64_t number)
{
	uint8_t frame[MADE_PAYLOAD];

	for (uint64_t at = 0; at < v->bytes && !v->err; at++) {
		uint64_t place = v->at + at;

		if (!at || place % MADE_PAYLOAD == 0)
			made_frame(&m,
				   number * MADE_SLOTS + place / MADE_PAYLOAD,
				   frame);
		if (v->data[at] != frame[place % MADE_PAYLOAD])
			return false;
	}
	return !v->err && v->bytes;
}

static void *
read_some(void *arg)
{
	struct one *o = arg;
	struct pool_stretch v;

	for (unsigned i = 0; i < TURNS; i++) {
		uint64_t number = dice_chance(&o->dice, 30)
				      ? dice_roll(&o->dice, MANY)
				      : i % MANY;

		if (pool_get(o->cursor, number, dice_roll(&o->dice, MADE_BLOCK),
			     1 + dice_roll(&o->dice, MADE_BLOCK), &v,
			     clock_steady() + 60 * SECOND)) {
			wrong++;
			continue;
		}
		wrong += !is_sent(&v, number);
		pool_put(o->cursor->reader, &v);
	}
	return NULL;
}

/* Readers of a pool, cursors of a reader, threads of a cursor: all at once,
 * with the fewest buffers that there can be. */
START_TEST(test_threads)
{
	enum { READERS = 3, WAYS = 2 };
	struct pool_args a = { .disks = MADE_DISKS, .memory = 1 };
	const struct pool_reader_args args = { 0 };
	struct pool_reader_args shared = args;
	struct pool_position w[READERS][WAYS];
	struct pool_reader *r[READERS];
	struct one one[THREADS];

	make(MANY);
	opened(&m, &rec);
	ck_assert_int_eq(pool_make(&shared.pool, &a), 0);
	for (unsigned i = 0; i < READERS; i++) {
		ck_assert_int_eq(pool_reader_open(&r[i], rec, &shared), 0);
		for (unsigned k = 0; k < WAYS; k++)
			pool_position_begin(&w[i][k], r[i], 0, POOL_ANY_ORDER);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		one[i].cursor = &w[i % READERS][i / READERS % WAYS];
		one[i].dice.state = i;
		ck_assert_int_eq(
		    pthread_create(&one[i].thread, NULL, read_some, &one[i]),
		    0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(one[i].thread, NULL);
	for (unsigned i = 0; i < READERS * WAYS; i++)
		pool_position_end(&w[i / WAYS][i % WAYS]);
	for (unsigned i = 0; i < READERS; i++)
		pool_reader_close(r[i]);
	pool_leave(shared.pool);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	done(&m, rec);
}
END_TEST

/* ---- the daemon's memory ------------------------------------------------------ */

/* Copies bytes of block 1, which are not those on its disk. */
static bool
copy_one(void *arg, const char *name, uint64_t number, uint64_t at,
	 uint64_t bytes, void *to)
{
	unsigned *asked = arg;

	ck_assert_str_eq(name, MADE_NAME);
	ck_assert_uint_le(at + bytes, MADE_BLOCK);
	++*asked;
	if (number != 1)
		return false;
	memset(to, 'm', bytes);
	return true;
}

static struct pool_stretch
get_live(uint64_t number, uint64_t at, uint64_t bytes, void *own)
{
	struct pool_stretch v;

	ck_assert_int_eq(pool_get_live(&cursor, number, at, bytes, own, &v,
				       clock_steady() + 60 * SECOND),
			 0);
	ck_assert_int_eq(v.err, 0);
	ck_assert_uint_eq(v.at, at);
	ck_assert_uint_eq(v.bytes, bytes);
	return v;
}

START_TEST(test_memory_first)
{
	static uint8_t own[MADE_BLOCK];
	struct pool_reader_facts facts;
	unsigned asked = 0;
	const struct pool_reader_args a = { .live = { &asked, copy_one } };
	struct pool_stretch v;

	make(3);
	opened(&m, &rec);
	ck_assert_int_eq(pool_reader_open(&reader, rec, &a), 0);
	pool_position_begin(&cursor, reader, -1, POOL_ANY_ORDER);
	v = get_live(0, 0, MADE_BLOCK, own);
	ck_assert_ptr_ne(v.data, own);
	view_is(&v, 0);
	pool_put(reader, &v);
	v = get_live(1, 100, 1000, own);
	ck_assert_ptr_eq(v.data, own);
	ck_assert(own[0] == 'm' && own[999] == 'm' && !own[1000]);
	pool_put(reader, &v);
	ck_assert_uint_eq(asked, 2);
	v = get(1, 0, 0);
	view_is(&v, 1);
	pool_put(reader, &v);
	ck_assert_uint_eq(asked, 2);
	pool_reader_facts(reader, &facts);
	ck_assert_uint_eq(facts.live_bytes, 1000);
	reader_done();
}
END_TEST

SUITE_THREADS("pool", NULL, test_all_in_turn, test_anywhere, test_many_cursors,
	      test_threads, test_told_how_far, test_buffers_are_bounded,
	      test_told, test_damage, test_flipped, test_flipped_without_sums,
	      test_flipped_unasked, test_closed_early, test_memory_first)
