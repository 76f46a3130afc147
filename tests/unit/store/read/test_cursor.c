/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/dice.h"
#include "lib/made_open.h"

static struct made m;
static struct open_recordings *set;
static struct open_recording *op;

/* A recording as many have it open as a file. */

enum { BLOCKS = 120, FILE_BYTES = BLOCKS * MADE_BLOCK };

static void
begin(unsigned blocks, const struct open_recordings_args *a)
{
	made_begin(&m);
	made_blocks(&m, blocks);
	made_end(&m, blocks);
	set_opens(&m, &set, &op, a);
}

START_TEST(test_whole)
{
	struct open_recording_facts facts;
	struct cursor *rd;
	uint8_t byte;

	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 });
	rd = reading(op, &whole);
	ck_assert_uint_eq(cursor_bytes(rd), FILE_BYTES);
	for (uint64_t at = 0; at < FILE_BYTES; at += 100000)
		ck_assert(is_sent(&m, rd, at,
				  FILE_BYTES - at < 100000
				      ? (size_t)(FILE_BYTES - at)
				      : 100000));
	/* At its end there is less, and behind it nothing. */
	ck_assert_int_eq(read_bytes(rd, FILE_BYTES - 1, &byte, 1), 1);
	ck_assert_int_eq(read_bytes(rd, FILE_BYTES, &byte, 1), 0);
	ck_assert_int_eq(read_bytes(rd, UINT64_MAX - 5, &byte, 1), 0);
	open_recording_facts(op, &facts);
	ck_assert_str_eq(facts.name, MADE_NAME);
	ck_assert_str_eq(facts.extension, "vdif");
	ck_assert_uint_eq(facts.bytes, FILE_BYTES);
	ck_assert_int_eq(facts.state, RECORDING_COMPLETE);
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

/* What is asked for once is read once, and jumps read nothing else. */
START_TEST(test_costs)
{
	struct open_recording_counts counts;
	struct dice d = { 7 };
	struct cursor *rd;

	begin(BLOCKS, &(struct open_recordings_args){ 0 });
	rd = reading(op, &whole);
	for (uint64_t at = 0; at < FILE_BYTES; at += 4 * MADE_BLOCK)
		ck_assert(is_sent(&m, rd, at, 4 * MADE_BLOCK));
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.bytes, FILE_BYTES);
	ck_assert_uint_eq(counts.disk_bytes, FILE_BYTES);
	ck_assert_uint_eq(counts.filled_bytes + counts.unreadable_bytes, 0);
	cursor_close(rd);
	set_done(&m, set, op);

	/* There is nothing that could be read ahead of one request. */
	begin(BLOCKS, &(struct open_recordings_args){ 0 });
	for (unsigned i = 1; i <= 50; i++) {
		rd = reading(op, &whole);
		ck_assert(is_sent(&m, rd,
				  dice_roll(&d, BLOCKS) * (uint64_t)MADE_BLOCK,
				  MADE_BLOCK));
		cursor_close(rd);
		ck_assert(open_recording_counts(set, MADE_NAME, &counts));
		ck_assert_uint_le(counts.disk_bytes, i * MADE_BLOCK);
	}
	set_done(&m, set, op);
}
END_TEST

/* ---- many ------------------------------------------------------------------ */

enum { READERS = 64, READS = 8 };

static atomic_uint wrong;
static pthread_barrier_t together;

struct one {
	pthread_t thread;
	struct cursor *rd;
	uint64_t seed;
};

static void *
read_anywhere(void *arg)
{
	struct one *o = arg;
	struct dice d = { o->seed };

	pthread_barrier_wait(&together);
	for (unsigned i = 0; i < READS; i++) {
		uint32_t at = dice_roll(&d, FILE_BYTES);
		uint32_t bytes =
		    1 +
		    dice_roll(&d, dice_chance(&d, 20) ? FILE_BYTES - at : 1);

		if (bytes == 1 && FILE_BYTES - at > 20000)
			bytes = 20000;
		wrong += !is_sent(&m, o->rd, at, bytes);
	}
	return NULL;
}

static void *
read_on(void *arg)
{
	struct one *o = arg;

	pthread_barrier_wait(&together);
	for (uint64_t at = 0; at < FILE_BYTES; at += 30000)
		wrong +=
		    !is_sent(&m, o->rd, at,
			     FILE_BYTES - at < 30000 ? (size_t)(FILE_BYTES - at)
						     : 30000);
	return NULL;
}

static void
all(bool one_reading, void *(*read)(void *))
{
	static struct one one[READERS];

	pthread_barrier_init(&together, NULL, READERS);
	atomic_store(&wrong, 0);
	for (unsigned i = 0; i < READERS; i++) {
		one[i].rd = i && one_reading ? one[0].rd : reading(op, &whole);
		one[i].seed = i + 1;
		ck_assert_int_eq(
		    pthread_create(&one[i].thread, NULL, read, &one[i]), 0);
	}
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(one[i].thread, NULL);
	for (unsigned i = 0; i < READERS; i++) {
		if (!i || !one_reading)
			cursor_close(one[i].rd);
	}
	pthread_barrier_destroy(&together);
	ck_assert_uint_eq(atomic_load(&wrong), 0);
}

/* They all want many of the few buffers at the same time: nobody waits for one
 * while he has another, and nobody is passed over. */
START_TEST(test_many_of_their_own)
{
	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 });
	all(false, read_anywhere);
	all(false, read_on);
	set_done(&m, set, op);
}
END_TEST

START_TEST(test_many_of_one)
{
	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 });
	all(true, read_anywhere);
	all(true, read_on);
	set_done(&m, set, op);
}
END_TEST

/* Those who read the same find it read. */
START_TEST(test_shared)
{
	struct open_recording_counts counts;

	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 << 30 });
	all(false, read_on);
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.bytes, READERS * (uint64_t)FILE_BYTES);
	ck_assert_uint_lt(counts.disk_bytes, 2 * FILE_BYTES);
	set_done(&m, set, op);
}
END_TEST

/* ---- what is not there --------------------------------------------------------- */

START_TEST(test_gone)
{
	uint8_t is[3 * MADE_BLOCK], want[MADE_BLOCK];
	struct open_recording_counts counts;
	struct cursor *rd;

	made_begin(&m);
	made_blocks(&m, 9);
	made_end(&m, 9);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000004")), 0);
	set_opens(&m, &set, &op, &(struct open_recordings_args){ .cache = 1 });
	rd = reading(op, &whole);
	ck_assert_int_eq(read_bytes(rd, 3 * MADE_BLOCK, is, sizeof is),
			 sizeof is);
	made_bytes(&m, 3 * MADE_BLOCK, want, MADE_BLOCK);
	ck_assert_mem_eq(is, want, MADE_BLOCK);
	for (unsigned i = 0; i < MADE_SLOTS; i++)
		made_fill(&m, 4 * MADE_SLOTS + i, want + i * MADE_PAYLOAD);
	ck_assert_mem_eq(is + MADE_BLOCK, want, MADE_BLOCK);
	made_bytes(&m, 5 * MADE_BLOCK, want, MADE_BLOCK);
	ck_assert_mem_eq(is + 2 * MADE_BLOCK, want, MADE_BLOCK);
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.filled_bytes, MADE_BLOCK);
	ck_assert_uint_eq(counts.unreadable_bytes, 0);
	cursor_close(rd);
	set_done(&m, set, op);
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

/* What a disk has wrong is refused, or filled where that was asked for. */
START_TEST(test_flipped)
{
	const struct view_choice filled = { .thread = -1, .fill = VIEW_ZERO };
	struct open_recording_counts counts;
	struct cursor *rd, *zero;
	uint8_t is[MADE_BLOCK], none[512] = { 0 };

	made_begin(&m);
	m.quantum = 512;
	made_blocks(&m, 6);
	made_end(&m, 6);
	flip(1, MADE_NAME ".00000004", 1030);
	set_opens(&m, &set, &op,
		  &(struct open_recordings_args){ .verify = true });
	rd = reading(op, &whole);
	ck_assert(is_sent(&m, rd, 4 * MADE_BLOCK, 1024));
	ck_assert_int_eq(read_bytes(rd, 4 * MADE_BLOCK, is, MADE_BLOCK), -EIO);
	ck_assert(is_sent(&m, rd, 4 * MADE_BLOCK + 1536, 1000));
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.unreadable_bytes, 512);
	zero = reading(op, &filled);
	ck_assert_int_eq(read_bytes(zero, 4 * MADE_BLOCK, is, MADE_BLOCK),
			 MADE_BLOCK);
	ck_assert_mem_eq(is + 1024, none, 512);
	ck_assert(open_recording_counts(set, MADE_NAME, &counts));
	ck_assert_uint_eq(counts.filled_bytes, 512);
	cursor_close(rd);
	cursor_close(zero);
	set_done(&m, set, op);
}
END_TEST

/* ---- parts of packets ------------------------------------------------------------ */

START_TEST(test_strip)
{
	enum { STRIP = 8, LEFT = MADE_PAYLOAD - STRIP, SLOTS = 5000 };
	const struct view_choice strip = { .thread = -1, .strip = STRIP };
	static uint8_t is[SLOTS * LEFT], want[SLOTS * LEFT];
	uint8_t frame[MADE_PAYLOAD];
	struct cursor *rd;

	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 });
	rd = reading(op, &strip);
	ck_assert_uint_eq(cursor_bytes(rd), FILE_BYTES / MADE_PAYLOAD * LEFT);
	for (unsigned i = 0; i < SLOTS; i++) {
		made_frame(&m, i, frame);
		memcpy(want + i * LEFT, frame + STRIP, LEFT);
	}
	for (size_t at = 0; at < sizeof want; at += 33333) {
		size_t n = sizeof want - at < 33333 ? sizeof want - at : 33333;

		ck_assert_int_eq(read_bytes(rd, at, is, n), (ssize_t)n);
		ck_assert_mem_eq(is, want + at, n);
	}
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

START_TEST(test_thread)
{
	const struct view_choice none = { .thread = 0 };
	struct cursor *rd;

	begin(BLOCKS, &(struct open_recordings_args){ .cache = 1 });
	rd = reading(op, &none); /* the only one there is */
	ck_assert_uint_eq(cursor_bytes(rd), FILE_BYTES);
	for (uint64_t at = 0; at < FILE_BYTES; at += 99999)
		ck_assert(is_sent(&m, rd, at,
				  FILE_BYTES - at < 99999
				      ? (size_t)(FILE_BYTES - at)
				      : 99999));
	cursor_close(rd);
	set_done(&m, set, op);
}
END_TEST

SUITE_THREADS("cursor", NULL, test_whole, test_costs, test_many_of_their_own,
	      test_many_of_one, test_shared, test_gone, test_flipped,
	      test_strip, test_thread)
