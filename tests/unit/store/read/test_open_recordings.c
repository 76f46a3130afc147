/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "lib/made_open.h"

static struct made m;
static struct open_recordings *set;
static struct open_recording *op;
static struct fault fault;

/* Recordings that are open: found again, made anew, growing. */

enum { BLOCKS = 9 };

static void
begin(unsigned blocks, bool ended, const struct open_recordings_args *a)
{
	made_begin(&m);
	made_blocks(&m, blocks);
	if (ended)
		made_end(&m, blocks);
	set_opens(&m, &set, &op, a);
}

static struct open_recordings_use
use(void)
{
	struct open_recordings_use u;

	open_recordings_use(set, &u);
	return u;
}

/* All by one name have the same, until nobody has it any more. */
START_TEST(test_found_again)
{
	struct open_recording *other;
	struct cursor *rd;

	begin(BLOCKS, true, &(struct open_recordings_args){ 0 });
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &other, &fault), 0);
	ck_assert_ptr_eq(op, other);
	open_recording_put(other);
	ck_assert_uint_eq(use().open, 1);
	ck_assert_uint_eq(use().idle, 0);
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	ck_assert_uint_gt(use().cache_bytes, 0);
	cursor_close(rd);
	open_recording_put(op);
	ck_assert_uint_eq(use().idle, 1);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &op, &fault), 0);
	ck_assert_uint_eq(use().open, 1);
	ck_assert_uint_eq(use().idle, 0);
	open_recording_put(op);
	/* In the end it is closed, and no memory is left to it. */
	while (use().open)
		usleep(10000);
	ck_assert_uint_eq(use().cache_bytes, 0);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &op, &fault), 0);
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

START_TEST(test_not_there)
{
	struct open_recording *other;

	begin(BLOCKS, true, &(struct open_recordings_args){ 0 });
	ck_assert_int_eq(open_recording_get(set, "none", &other, &fault),
			 -ENOENT);
	ck_assert_str_eq(fault.code, "not-found");
	ck_assert_int_eq(open_recording_get(set, "../rec", &other, &fault),
			 -ENOENT);
	while (use().open > 1)
		usleep(1000);
	set_done(&m, set, op);
}
END_TEST

/* Those that nobody has are few, however many were opened. */
START_TEST(test_few_idle)
{
	char from[300], to[300], name[64];
	struct open_recording *other;

	begin(BLOCKS, true, &(struct open_recordings_args){ 0 });
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "copy%u", i);
		snprintf(from, sizeof from, "%s/" MADE_NAME,
			 m.disks.disk[0].path);
		snprintf(to, sizeof to, "%s/%s", m.disks.disk[0].path, name);
		ck_assert_int_eq(mkdir(to, 0755), 0);
		for (unsigned k = 0; k < 2; k++) {
			const char *end = k ? "index" : "meta.jsonl";

			snprintf(from, sizeof from,
				 "%s/" MADE_NAME "/" MADE_NAME ".%s",
				 m.disks.disk[0].path, end);
			snprintf(to, sizeof to, "%s/%s/%s.%s",
				 m.disks.disk[0].path, name, name, end);
			ck_assert_int_eq(link(from, to), 0);
		}
		ck_assert_int_eq(open_recording_get(set, name, &other, &fault),
				 0);
		open_recording_put(other);
	}
	while (use().open > 17)
		usleep(1000);
	ck_assert_uint_le(use().idle, 16);
	set_done(&m, set, op);
}
END_TEST

/* What was open stays so, and the name is another's. */
START_TEST(test_made_anew)
{
	char path[300], old[300];
	struct open_recording_facts facts;
	struct open_recording *again;
	struct cursor *rd;

	begin(BLOCKS, true, &(struct open_recordings_args){ 0 });
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 0, 3 * MADE_BLOCK));
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		snprintf(path, sizeof path, "%s/" MADE_NAME,
			 m.disks.disk[i].path);
		snprintf(old, sizeof old, "%s/old", m.disks.disk[i].path);
		ck_assert_int_eq(rename(path, old), 0);
	}
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &again, &fault),
			 -ENOENT);
	/* What is read by way of its folder is there. */
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	open_recording_facts(op, &facts);
	ck_assert(facts.removed);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(folder_create(&m.folder[i], &m.disks.disk[i],
					       MADE_NAME, m.head),
				 0);
	made_blocks(&m, 3);
	made_end(&m, 3);
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &again, &fault), 0);
	ck_assert_ptr_ne(op, again);
	open_recording_facts(again, &facts);
	ck_assert_uint_eq(facts.bytes, 3 * MADE_BLOCK);
	ck_assert(!facts.removed);
	open_recording_put(again);
	ck_assert(is_sent(&m, rd, 0, BLOCKS * MADE_BLOCK));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* Its chunks are deleted, one by one, while somebody reads: what is open goes
 * on, and the rest is filled. */
START_TEST(test_deleted)
{
	static uint8_t is[BLOCKS * MADE_BLOCK];
	struct cursor *rd;
	char file[64];

	begin(BLOCKS, true, &(struct open_recordings_args){ 0 });
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 3 * MADE_BLOCK, 100));
	for (unsigned i = 0; i < BLOCKS; i++) {
		snprintf(file, sizeof file, MADE_NAME ".%08u", i);
		ck_assert_int_eq(unlink(made_path(&m, i % MADE_DISKS, file)),
				 0);
	}
	ck_assert(is_sent(&m, rd, 3 * MADE_BLOCK, MADE_BLOCK));
	ck_assert_int_eq(read_bytes(rd, 0, is, sizeof is), sizeof is);
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* ---- growing ------------------------------------------------------------------ */

START_TEST(test_grows)
{
	static struct made_block mb;
	struct open_recording_facts facts;
	struct cursor *rd;
	uint8_t byte;

	begin(BLOCKS, false, &(struct open_recordings_args){ .cache = 1 });
	rd = reading(op, &whole);
	open_recording_facts(op, &facts);
	ck_assert_int_eq(facts.state, RECORDING_LIVE);
	ck_assert_uint_eq(cursor_bytes(rd), BLOCKS * MADE_BLOCK);
	ck_assert_int_eq(read_bytes(rd, BLOCKS * MADE_BLOCK, &byte, 1), 0);
	for (unsigned i = BLOCKS; i < BLOCKS + 20; i++) {
		made_block(&m, &mb, i, (uint64_t)i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % MADE_DISKS, &mb);
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		while (cursor_bytes(rd) < (i + 1) * MADE_BLOCK) {
			usleep(1000);
			ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		}
		ck_assert(
		    is_sent(&m, rd, (i - 1) * MADE_BLOCK, 2 * MADE_BLOCK));
	}
	made_end(&m, BLOCKS + 20);
	do {
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		open_recording_facts(op, &facts);
	} while (facts.state != RECORDING_COMPLETE);
	ck_assert(is_sent(&m, rd, 0, (BLOCKS + 20) * MADE_BLOCK));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* Many read, and look again, while it grows. */
enum { READERS = 8, GROWS = 60 };

static atomic_uint wrong;

static void *
follow(void *arg)
{
	struct cursor *rd = arg;
	uint64_t at = 0, end = (BLOCKS + GROWS) * MADE_BLOCK;

	while (at < end) {
		uint64_t there = cursor_bytes(rd);
		size_t n = there - at < 30000 ? (size_t)(there - at) : 30000;

		if (n)
			wrong += !is_sent(&m, rd, at, n);
		else
			open_recording_refresh(op, 1000000);
		at += n;
	}
	return NULL;
}

START_TEST(test_followed)
{
	static struct made_block mb;
	pthread_t thread[READERS];
	struct cursor *rd[READERS];

	begin(BLOCKS, false, &(struct open_recordings_args){ .cache = 1 });
	for (unsigned i = 0; i < READERS; i++) {
		rd[i] = reading(op, &whole);
		ck_assert_int_eq(
		    pthread_create(&thread[i], NULL, follow, rd[i]), 0);
	}
	for (unsigned i = BLOCKS; i < BLOCKS + GROWS; i++) {
		made_block(&m, &mb, i, (uint64_t)i * MADE_SLOTS, MADE_SLOTS);
		made_write(&m, i % MADE_DISKS, &mb);
		usleep(2000);
	}
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	for (unsigned i = 0; i < READERS; i++)
		cursor_close(rd[i]);
	set_done(&m, set, op);
}
END_TEST

/* ---- from memory ------------------------------------------------------------------ */

static bool
copy(void *arg, const char *name, uint64_t number, uint64_t at, uint64_t bytes,
     void *to)
{
	atomic_uint *asked = arg;

	++*asked;
	if (strcmp(name, MADE_NAME) != 0 || number % 2)
		return false;
	made_bytes(&m, number * MADE_BLOCK + at, to, bytes);
	return true;
}

static int
look(void *arg, struct recording *rec, int64_t disks_ns)
{
	(void)arg;
	(void)disks_ns;
	return recording_facts(rec)->state == RECORDING_LIVE ? 0 : -EINVAL;
}

START_TEST(test_from_memory)
{
	const struct view_choice strip = { .thread = -1, .strip = 8 };
	atomic_uint asked = 0;
	struct open_recording_counts counts;
	struct cursor *rd;
	uint8_t is[56], frame[MADE_PAYLOAD];

	begin(
	    BLOCKS, false,
	    &(struct open_recordings_args){ .hooks = { &asked, copy, look } });
	for (unsigned i = 0; i < BLOCKS; i += 2) {
		char file[64];

		snprintf(file, sizeof file, MADE_NAME ".%08u", i);
		ck_assert_int_eq(unlink(made_path(&m, i % MADE_DISKS, file)),
				 0);
	}
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 100, BLOCKS * MADE_BLOCK - 100));
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.live_bytes, 5 * MADE_BLOCK - 100);
	ck_assert_uint_gt(atomic_load(&asked), 0);
	cursor_close(rd);
	rd = reading(op, &strip);
	ck_assert_int_eq(read_bytes(rd, 2 * 56, is, 56), 56);
	made_frame(&m, 2, frame);
	ck_assert_mem_eq(is, frame + 8, 56);
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* ---- on its way to a disk ---------------------------------------------------------- */

static struct made_block coming;

static int
look_ahead(void *arg, struct recording *rec, int64_t disks_ns)
{
	const struct index_record r = made_record(&coming.b);
	int n = recording_remember(rec, &r, 1);

	(void)arg;
	(void)disks_ns;
	return n > 0 ? recording_refresh(rec) : n;
}

static bool
copy_none(void *arg, const char *name, uint64_t number, uint64_t at,
	  uint64_t bytes, void *to)
{
	(void)name;
	(void)at;
	(void)bytes;
	(void)to;
	if (number == BLOCKS)
		atomic_store((atomic_bool *)arg, true);
	return false;
}

static void *
read_coming(void *arg)
{
	wrong += !is_sent(&m, arg, 0, (BLOCKS + 1) * MADE_BLOCK);
	return NULL;
}

/* A block that was in memory, and is on no disk yet, is waited for. */
START_TEST(test_awaited)
{
	atomic_bool asked = false;
	struct cursor *rd;
	pthread_t thread;

	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_block(&m, &coming, BLOCKS, (uint64_t)BLOCKS * MADE_SLOTS,
		   MADE_SLOTS);
	set_opens(&m, &set, &op,
		  &(struct open_recordings_args){
		      .hooks = { &asked, copy_none, look_ahead } });
	rd = reading(op, &whole);
	ck_assert_uint_eq(cursor_bytes(rd), (BLOCKS + 1) * MADE_BLOCK);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_coming, rd), 0);
	while (!atomic_load(&asked))
		usleep(1000);
	made_write(&m, 0, &coming);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* ---- disks that join ---------------------------------------------------------- */

/* The last disk joins when others have read that it is missing.  An open file
 * goes on there, and so does whoever opens it anew. */
START_TEST(test_joins)
{
	struct open_recording *other;
	struct open_recordings_args args = { .spare = 1 };
	struct cursor *rd;
	struct disk *last;

	made_begin(&m);
	made_blocks(&m, MADE_DISKS - 1);
	last = &m.disks.disk[MADE_DISKS - 1];
	m.disks.n--;
	set_opens(&m, &set, &op, &args);
	m.disks.n++;
	rd = reading(op, &whole);
	ck_assert_uint_eq(cursor_bytes(rd), (MADE_DISKS - 1) * MADE_BLOCK);
	made_block(&m, &coming, MADE_DISKS - 1, (MADE_DISKS - 1) * MADE_SLOTS,
		   MADE_SLOTS);
	made_run(&m, MADE_DISKS - 1, 0, MADE_BASE);
	made_write(&m, MADE_DISKS - 1, &coming);
	ck_assert_int_eq(open_recording_refresh(op, 0), 0);
	ck_assert_uint_eq(cursor_bytes(rd), (MADE_DISKS - 1) * MADE_BLOCK);
	ck_assert_int_eq(open_recordings_join(set, last->path, last->mount), 0);
	ck_assert_int_eq(open_recordings_join(set, last->path, last->mount),
			 -ENOSPC);
	while (cursor_bytes(rd) < MADE_DISKS * MADE_BLOCK) {
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		usleep(1000);
	}
	ck_assert(is_sent(&m, rd, 0, MADE_DISKS * MADE_BLOCK));
	ck_assert_int_eq(open_recording_get(set, MADE_NAME, &other, &fault), 0);
	cursor_close(rd);
	rd = reading(other, &whole);
	ck_assert(is_sent(&m, rd, 0, MADE_DISKS * MADE_BLOCK));
	cursor_close(rd);
	open_recording_put(other);
	set_done(&m, set, op);
}
END_TEST

/* Refreshes until so many bytes are there; it is a bug if that never is. */
static void
grows_to(struct cursor *rd, uint64_t bytes)
{
	for (unsigned tries = 0; cursor_bytes(rd) != bytes; tries++) {
		ck_assert_uint_lt(tries, 10000);
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		usleep(1000);
	}
}

/* Writes two blocks: the first one onto the last disk. */
static void
write_two(void)
{
	for (unsigned i = BLOCKS; i < BLOCKS + 2; i++) {
		made_block(&m, &coming, i, (uint64_t)i * MADE_SLOTS,
			   MADE_SLOTS);
		made_write(&m, i == BLOCKS ? MADE_DISKS - 1 : 0, &coming);
	}
}

/* A disk that was missing has blocks when it is back.  An open file shows them,
 * and shows nothing in their place before. */
START_TEST(test_comes_back)
{
	const char *path;
	char away[512];
	struct cursor *rd;

	made_begin(&m);
	path = m.disks.disk[MADE_DISKS - 1].path;
	snprintf(away, sizeof away, "%s.away", path);
	for (unsigned i = 0; i < BLOCKS; i++) {
		made_run(&m, i % MADE_DISKS, 0, MADE_BASE);
		made_block(&m, &coming, i, (uint64_t)i * MADE_SLOTS,
			   MADE_SLOTS);
		made_write(&m, i % (MADE_DISKS - 1), &coming);
	}
	ck_assert_int_eq(rename(path, away), 0);
	set_opens(&m, &set, &op, &(struct open_recordings_args){ 0 });
	rd = reading(op, &whole);
	ck_assert_uint_eq(cursor_bytes(rd), BLOCKS * MADE_BLOCK);
	write_two();
	ck_assert_int_eq(open_recording_refresh(op, 0), 0);
	ck_assert_uint_eq(cursor_bytes(rd), BLOCKS * MADE_BLOCK);
	ck_assert_int_eq(rename(away, path), 0);
	grows_to(rd, (BLOCKS + 2) * MADE_BLOCK);
	ck_assert(is_sent(&m, rd, 0, (BLOCKS + 2) * MADE_BLOCK));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* A recording ends before a disk joins that has some of it: nothing is shown in
 * place of that; but it is if all disks are there. */
static void
ends_before(bool joins)
{
	struct open_recording_facts facts;
	struct open_recordings_args args = { .spare = 1,
					     .patience = 600 * NS_SECOND };
	struct disk *last;
	struct cursor *rd;

	made_begin(&m);
	made_blocks(&m, BLOCKS);
	for (unsigned i = 2; i < BLOCKS; i += 3) {
		char file[64];

		made_block(&m, &coming, i, (uint64_t)i * MADE_SLOTS,
			   MADE_SLOTS);
		made_write(&m, 1, &coming);
		snprintf(file, sizeof file, MADE_NAME ".%08u", i);
		ck_assert_int_eq(unlink(made_path(&m, 2, file)), 0);
	}
	last = &m.disks.disk[MADE_DISKS - 1];
	m.disks.n--;
	set_opens(&m, &set, &op, &args);
	m.disks.n++;
	rd = reading(op, &whole);
	ck_assert_uint_eq(cursor_bytes(rd), BLOCKS * MADE_BLOCK);
	write_two();
	open_recordings_complete(set, clock_steady());
	made_end(&m, BLOCKS + 2);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		ck_assert_uint_eq(cursor_bytes(rd), BLOCKS * MADE_BLOCK);
		usleep(1000);
	}
	if (joins)
		ck_assert_int_eq(
		    open_recordings_join(set, last->path, last->mount), 0);
	open_recordings_complete(set, clock_steady());
	grows_to(rd, (BLOCKS + 2) * MADE_BLOCK);
	ck_assert_int_eq(is_sent(&m, rd, BLOCKS * MADE_BLOCK, MADE_BLOCK),
			 joins);
	open_recording_facts(op, &facts);
	ck_assert_int_eq(facts.state, RECORDING_COMPLETE);
	cursor_close(rd);
	set_done(&m, set, op);
}

START_TEST(test_ends_before_join)
{
	ends_before(true);
	ends_before(false);
}
END_TEST

static void
resume_all(void)
{
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(folder_resume(&m.folder[i], &m.disks.disk[i],
					       MADE_NAME, m.head, 0),
				 0);
}

/* Its writer dies, and another one goes on, twice.  What is open shows no fill for
 * what the second one may find, and all that comes. */
START_TEST(test_goes_on)
{
	struct open_recordings_args args = { .cache = 1,
					     .patience = 600 * NS_SECOND };
	struct open_recording_facts facts;
	uint64_t blocks = BLOCKS;
	struct cursor *rd;

	begin(BLOCKS, false, &args);
	rd = reading(op, &whole);
	/* The second of two blocks is in an index, the first one is not. */
	made_block(&m, &coming, blocks + 1, (blocks + 1) * MADE_SLOTS,
		   MADE_SLOTS);
	made_write(&m, 0, &coming);
	made_end(&m, 0);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		ck_assert_uint_eq(cursor_bytes(rd), blocks * MADE_BLOCK);
		usleep(1000);
	}
	resume_all();
	made_block(&m, &coming, blocks, blocks * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 1, &coming);
	blocks += 2;
	grows_to(rd, blocks * MADE_BLOCK);
	made_end(&m, 0);
	do {
		ck_assert_int_eq(open_recording_refresh(op, 0), 0);
		open_recording_facts(op, &facts);
	} while (facts.state != RECORDING_INTERRUPTED);
	resume_all();
	made_block(&m, &coming, blocks, blocks * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 2, &coming);
	blocks++;
	made_end(&m, blocks);
	grows_to(rd, blocks * MADE_BLOCK);
	ck_assert(is_sent(&m, rd, 0, blocks * MADE_BLOCK));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

SUITE_THREADS("open_recordings", NULL, test_found_again, test_not_there,
	      test_few_idle, test_made_anew, test_deleted, test_grows,
	      test_followed, test_from_memory, test_awaited, test_joins,
	      test_comes_back, test_ends_before_join, test_goes_on)
