/* SPDX-License-Identifier: MIT */
#include "store/list/frames.h"
#include "lib/made.h"
#include "lib/suite.h"

enum { BLOCKS = 5 };

static struct made m;
static struct made_block mb;
static struct frames_counts counts;
static uint64_t next, last; /* of frames; those from `next` on are to come */
static int answer;

static int
take(void *arg, const void *frame)
{
	uint8_t want[MADE_PAYLOAD];

	(void)arg;
	for (; next <= last; next++) {
		made_frame(&m, next, want);
		if (!memcmp(frame, want, sizeof want))
			break;
	}
	ck_assert_msg(next <= last, "a frame that is not of the recording");
	next++;
	return answer;
}

/* Reads at most so many bytes; each frame must be behind the one before. */
static int
reads(uint64_t most)
{
	struct frames_reader r = { .most = most, .frame = take };
	struct recording *rec;
	struct fault fault;
	int err;

	next = 0;
	last = BLOCKS * MADE_SLOTS - 1;
	ck_assert_int_eq(
	    recording_open_by_index(&rec, &m.disks, MADE_NAME, &fault), 0);
	ck_assert_int_eq(frames_of(rec, &r, &fault), 0);
	ck_assert_str_eq(r.format->head.name, "vdif");
	ck_assert_uint_eq(r.shape->payload, MADE_PAYLOAD);
	err = frames_read(rec, &r, &counts);
	recording_close(rec);
	return err;
}

START_TEST(all_that_is_there)
{
	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_end(&m, BLOCKS);
	ck_assert_int_eq(reads(UINT64_MAX), 0);
	ck_assert_uint_eq(counts.read, BLOCKS * MADE_SLOTS);
	ck_assert_uint_eq(counts.missing, 0);
	ck_assert_uint_eq(counts.unreadable, 0);
	ck_assert_uint_eq(next, last + 1);
	/* who takes them can end it */
	answer = -ENOMEM;
	ck_assert_int_eq(reads(UINT64_MAX), -ENOMEM);
	ck_assert_uint_eq(counts.read, 1);
	answer = 0;
	/* a share: one piece, which ends where its block does */
	ck_assert_int_eq(reads(MADE_PAYLOAD), 0);
	ck_assert_uint_eq(counts.read, MADE_SLOTS);
	made_finish(&m);
}
END_TEST

START_TEST(no_fill)
{
	made_begin(&m);
	made_run(&m, 0, 0, MADE_BASE);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_lose(&mb, 1);
	made_lose(&mb, 7);
	made_write(&m, 0, &mb);
	made_end(&m, 1);
	ck_assert_int_eq(reads(UINT64_MAX), 0);
	ck_assert_uint_eq(counts.read, MADE_SLOTS - 2);
	ck_assert_uint_eq(counts.missing, 2);
	made_finish(&m);
}
END_TEST

START_TEST(what_no_disk_gives_is_counted)
{
	made_begin(&m);
	made_blocks(&m, BLOCKS);
	made_end(&m, BLOCKS);
	ck_assert_int_eq(
	    truncate(made_path(&m, 1, "rec.00000001"), MADE_PAYLOAD * 3 + 1),
	    0);
	ck_assert_int_eq(reads(UINT64_MAX), 0);
	ck_assert_uint_eq(counts.read, (BLOCKS - 1) * MADE_SLOTS + 3);
	ck_assert_uint_eq(counts.unreadable, (MADE_SLOTS - 3) * MADE_PAYLOAD);
	made_finish(&m);
}
END_TEST

SUITE("frames", all_that_is_there, no_fill, what_no_disk_gives_is_counted)
