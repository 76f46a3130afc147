/* SPDX-License-Identifier: MIT */
/*
 * What no chunk gives reads as fill that says where it is from: each frame
 * of its own time, marked invalid.
 */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;
static struct recording *rec;

static struct made_block mb;

/* Nothing arrived for 100 slots; the blocks around are cut short. */
START_TEST(a_gap)
{
	struct index_record gap = {
		.number = 1, .kind = INDEX_GAP, .first = 20, .missing = 100
	};
	const struct recording_facts *f;
	const struct recording_block *b;
	size_t n;

	made_begin(&m);
	made_run(&m, 0, 0, MADE_BASE);
	made_block(&m, &mb, 0, 0, 20);
	made_write(&m, 0, &mb);
	made_index(&m, 1, &gap);
	made_block(&m, &mb, 2, 120, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	f = opened(&m, &rec);
	ck_assert_uint_eq(f->gaps, 1);
	ck_assert_uint_eq(f->missing, 100);
	ck_assert_uint_eq(f->bytes, (20 + 100 + MADE_SLOTS) * MADE_PAYLOAD);
	b = recording_blocks(rec, &n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(b[1].disk, -1);
	ck_assert_uint_eq(b[1].offset, 20 * MADE_PAYLOAD);
	ck_assert_uint_eq(b[1].bytes, 100 * MADE_PAYLOAD);
	ck_assert_uint_eq(slots_are(&m, rec, 20, 120, 20, false),
			  100 * MADE_PAYLOAD);
	slots_are(&m, rec, 120, 120 + MADE_SLOTS, 120, true);
	done(&m, rec);
}
END_TEST

START_TEST(chunks_missing_and_short)
{
	made_begin(&m);
	made_blocks(&m, 6);
	made_end(&m, 6);
	ck_assert_int_eq(unlink(made_path(&m, 1, MADE_NAME ".00000001")), 0);
	ck_assert_int_eq(truncate(made_path(&m, 2, MADE_NAME ".00000002"),
				  10 * MADE_PAYLOAD),
			 0);
	opened(&m, &rec);
	slots_are(&m, rec, 0, MADE_SLOTS, 0, true);
	ck_assert_uint_eq(
	    slots_are(&m, rec, MADE_SLOTS, 2 * MADE_SLOTS, MADE_SLOTS, false),
	    MADE_BLOCK);
	slots_are(&m, rec, 2 * MADE_SLOTS, 2 * MADE_SLOTS + 10, 2 * MADE_SLOTS,
		  true);
	ck_assert_uint_eq(slots_are(&m, rec, 2 * MADE_SLOTS + 10,
				    3 * MADE_SLOTS, 2 * MADE_SLOTS + 10, false),
			  54 * MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

START_TEST(zero_fill)
{
	uint8_t is[MADE_PAYLOAD], zeros[MADE_PAYLOAD] = { 0 };

	m.fill = FILL_ZERO;
	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 3);
	made_hide(&m, 1);
	opened(&m, &rec);
	ck_assert_int_eq(recording_read(rec, is, sizeof is, MADE_BLOCK, NULL),
			 MADE_PAYLOAD);
	ck_assert_mem_eq(is, zeros, MADE_PAYLOAD);
	done(&m, rec);
}
END_TEST

/* Nobody said how many frames a second has: the packets do. */
START_TEST(fps_learned)
{
	m.fps_unknown = true;
	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	made_hide(&m, 1);
	opened(&m, &rec);
	for (uint64_t i = 0; i < 7; i++)
		slots_are(&m, rec, i * MADE_SLOTS, (i + 1) * MADE_SLOTS,
			  i * MADE_SLOTS, i % 3 != 1);
	done(&m, rec);
}
END_TEST

SUITE("recording_read", a_gap, chunks_missing_and_short, zero_fill, fps_learned)
