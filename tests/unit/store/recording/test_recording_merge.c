/* SPDX-License-Identifier: MIT */
/*
 * One list of blocks from several indexes: what is absent, what is twice,
 * where runs begin and what they lost.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

static struct made_block mb;

/* Between two blocks of a run the sequences tell how much is absent. */
START_TEST(absent_extent)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, 10);
	made_write(&m, 1, &mb);
	made_block(&m, &mb, 2, MADE_SLOTS + 10, MADE_SLOTS);
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	made_hide(&m, 1);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->absent, 1);
	ck_assert_uint_eq(f->bytes, 2 * MADE_BLOCK + 10 * MADE_PAYLOAD);
	ck_assert_uint_eq(
	    slots_are(&m, rec, MADE_SLOTS, MADE_SLOTS + 10, MADE_SLOTS, false),
	    10 * MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

/* The chunk that was written last is the one that rebuild made when the disk of the
 * other was away. */
static void
written_at(unsigned disk, time_t second)
{
	const struct timespec when[2] = { { .tv_sec = second },
					  { .tv_sec = second } };

	ck_assert_int_eq(utimensat(AT_FDCWD,
				   made_path(&m, disk, MADE_NAME ".00000000"),
				   when, 0),
			 0);
}

START_TEST(duplicates)
{
	const struct recording_block *b;
	size_t n;

	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	for (time_t later = 0; later < 2; later++) {
		written_at(0, 1000);
		written_at(2, 1000 + later);
		opened(&m, &rec);
		b = recording_blocks(rec, &n);
		ck_assert_uint_eq(n, 3);
		ck_assert_int_eq(b[0].disk, later ? 2 : 0);
		recording_close(rec);
	}
	written_at(0, 2000);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000000"), 5),
			 0);
	opened(&m, &rec);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(b[0].disk, 2);
	slots_are(&m, rec, 0, 3 * MADE_SLOTS, 0, true);
	done(&m, rec);
}
END_TEST

START_TEST(two_runs)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 2);
	made_run(&m, 2, 1, 17);
	made_block(&m, &mb, 2, 0, 30);
	mb.b.run = 1;
	made_write(&m, 2, &mb);
	made_end(&m, 3);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->runs, 2);
	ck_assert_uint_eq(f->run[0].packets, 2 * MADE_SLOTS);
	ck_assert_uint_eq(f->run[1].run, 1);
	ck_assert_uint_eq(f->run[1].base, 17);
	ck_assert_uint_eq(f->run[1].first, 0);
	ck_assert_uint_eq(f->run[1].last, 29);
	ck_assert_uint_eq(f->packets, 2 * MADE_SLOTS + 30);
	done(&m, rec);
}
END_TEST

/* Losses count between the first packet and the last. */
START_TEST(losses)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_lose(&mb, 0);
	made_lose(&mb, 1);
	made_lose(&mb, 10);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 5);
	made_lose(&mb, 6);
	made_lose(&mb, 63);
	made_write(&m, 1, &mb);
	made_end(&m, 2);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->packets, 2 * MADE_SLOTS - 6);
	ck_assert_uint_eq(f->missing, 3);
	ck_assert_uint_eq(f->run[0].first, 2);
	ck_assert_uint_eq(f->run[0].last, 2 * MADE_SLOTS - 2);
	/* On disk the holes are filled already. */
	ck_assert_uint_eq(slots_are(&m, rec, 69, 71, 69, false), 0);
	done(&m, rec);
}
END_TEST

/* A record with a number that cannot be must not cost all memory, nor the
 * others. */
START_TEST(absurd_number)
{
	struct index_record r = { .number = UINT64_C(1) << 60,
				  .kind = INDEX_BLOCK };
	size_t n;

	made_begin(&m);
	made_blocks(&m, 3);
	made_index(&m, 0, &r);
	r.number = 4000000;
	made_index(&m, 0, &r);
	made_end(&m, 99000000); /* and an end that lies */
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault), 0);
	recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(recording_facts(rec)->packets, 3 * MADE_SLOTS);
	recording_close(rec);
	made_finish(&m);
}
END_TEST

SUITE("recording_merge", absent_extent, duplicates, two_runs, losses,
      absurd_number)
