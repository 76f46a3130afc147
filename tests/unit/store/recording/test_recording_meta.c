/* SPDX-License-Identifier: MIT */
/* Metadata that is torn, in part or wholly lost, and the lines with holes. */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;
static struct fault fault;

static struct made_block mb;

static void
append(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(torn_tails)
{
	const struct recording_facts *f;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 0);
	append(made_path(&m, 1, MADE_NAME ".index"), "half a record");
	append(made_path(&m, 1, MADE_NAME ".meta.jsonl"), "{\"end\":{\"rea");
	append(made_path(&m, 2, MADE_NAME ".meta.jsonl"), "not JSON\n");
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->torn, 13);
	ck_assert_uint_eq(f->chunks, 4);
	ck_assert_ptr_null(f->tail);
	done(&m, rec);
}
END_TEST

START_TEST(metadata_lost)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 3);
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".meta.jsonl")), 0);
	ck_assert_int_eq(
	    truncate(made_path(&m, 1, MADE_NAME ".meta.jsonl"), 20), 0);
	ck_assert_uint_eq(opened(&m, &rec)->chunks, 3);
	slots_are(&m, rec, 0, 3 * MADE_SLOTS, 0, true);
	recording_close(rec);
	ck_assert_int_eq(truncate(made_path(&m, 2, MADE_NAME ".meta.jsonl"), 0),
			 0);
	ck_assert_int_eq(recording_open(&rec, &m.disks, MADE_NAME, &fault),
			 -ENODATA);
	ck_assert_ptr_nonnull(strstr(fault.why, "metadata"));
	made_finish(&m);
}
END_TEST

static uint32_t holes_sum, holes_n;

static void
count_hole(void *arg, uint64_t slot, uint64_t count)
{
	(void)arg;
	holes_sum += slot;
	holes_n += count;
}

START_TEST(holes)
{
	uint64_t bits = UINT64_MAX;

	made_begin(&m);
	made_block(&m, &mb, 0, 0, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_lose(&mb, 5);
	made_lose(&mb, 6);
	made_lose(&mb, 63);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	opened(&m, &rec);
	ck_assert_int_eq(recording_holes(rec, 0, count_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 0);
	ck_assert_int_eq(recording_holes(rec, 1, count_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 3);
	ck_assert_uint_eq(holes_sum, 5 + 63);
	/* Of block 2 nothing is there. */
	ck_assert_int_eq(recording_holes(rec, 2, count_hole, NULL), 0);
	ck_assert_uint_eq(holes_n, 3 + MADE_SLOTS);
	ck_assert_int_eq(recording_holes(rec, 3, count_hole, NULL), -ENOENT);
	/* As bits, of all slots and of some. */
	ck_assert_int_eq(recording_present(rec, 1, 0, 64, &bits), 0);
	ck_assert_uint_eq(bits, ~(UINT64_C(3) << 5 | UINT64_C(1) << 63));
	bits = UINT64_MAX;
	ck_assert_int_eq(recording_present(rec, 1, 6, 57, &bits), 0);
	ck_assert_uint_eq(bits, ~UINT64_C(1));
	ck_assert_int_eq(recording_present(rec, 2, 10, 4, &bits), 0);
	ck_assert_uint_eq(bits, ~UINT64_C(15));
	done(&m, rec);
}
END_TEST

SUITE("recording_meta", holes, torn_tails, metadata_lost)
