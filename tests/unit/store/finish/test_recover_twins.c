/* SPDX-License-Identifier: MIT */
/* Two disks have a chunk of one number: the better one stays. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "base/crc32c.h"
#include "lib/made_recover.h"
#include "lib/suite.h"

static struct made m;
static struct recover_report report;
static struct fault fault;

static struct made_block mb;

static bool
is_there(unsigned disk, const char *file)
{
	return !access(made_path(&m, disk, file), F_OK);
}

/* Which chunk of number 2 is left, and that all is well with it. */
static void
left_on(unsigned disk)
{
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(is_there(i, MADE_NAME ".00000002"), i == disk);
	is_whole(&m, 3 * MADE_SLOTS);
	reads_as_sent(&m, 3 * MADE_SLOTS);
	made_finish(&m);
}

/* Block 2 is begun: with so many slots of it in a bare chunk on a disk. */
static void
bare(unsigned disk, uint32_t slots)
{
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, slots);
	made_chunk(&m, disk, &mb);
}

START_TEST(two_bare_ones)
{
	made_begin(&m);
	made_blocks(&m, 2);
	bare(0, 9);
	bare(2, MADE_SLOTS);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.aside, 1);
	ck_assert_uint_eq(report.rebuilt, 1);
	ck_assert(is_there(0, MADE_NAME ".00000002.aside"));
	left_on(2);
}
END_TEST

/* A chunk that was made in full length, and little of it written. */
START_TEST(a_long_hole)
{
	int fd;

	made_begin(&m);
	made_blocks(&m, 2);
	bare(1, MADE_SLOTS);
	fd = folder_chunk(m.folder[0], 2, 0, MADE_BLOCK);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.aside, 1);
	left_on(1);
}
END_TEST

/* Both have a record; one lost its chunk's end. */
START_TEST(both_indexed)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 0, &mb);
	made_end(&m, 0);
	ck_assert_int_eq(truncate(made_path(&m, 0, MADE_NAME ".00000002"), 99),
			 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.aside, 1);
	ck_assert_uint_eq(report.indexed, 3);
	left_on(2);
}
END_TEST

START_TEST(both_whole)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, MADE_SLOTS);
	made_write(&m, 1, &mb);
	made_end(&m, 3);
	recovered(&m, &report);
	ck_assert_uint_eq(report.aside, 1);
	left_on(1);
}
END_TEST

/* An index that lies: its chunk is nowhere, another disk has it. */
START_TEST(index_that_lies)
{
	made_begin(&m);
	made_blocks(&m, 2);
	bare(1, MADE_SLOTS);
	made_index(&m, 2,
		   &(struct index_record){ .number = 2,
					   .first = 2 * MADE_SLOTS,
					   .bytes = MADE_BLOCK,
					   .present = MADE_SLOTS,
					   .kind = INDEX_BLOCK });
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.lost, 0);
	ck_assert_uint_eq(report.rebuilt, 1);
	left_on(1);
}
END_TEST

/* Two of them lie about one block, of different substreams. */
START_TEST(indexes_that_lie)
{
	struct index_record lie = { .number = 2,
				    .first = 2 * MADE_SLOTS,
				    .bytes = MADE_BLOCK,
				    .present = MADE_SLOTS,
				    .kind = INDEX_BLOCK };

	made_begin(&m);
	made_blocks(&m, 1);
	bare(1, MADE_SLOTS);
	made_index(&m, 0, &lie);
	lie.sub = 60000;
	made_index(&m, 2, &lie);
	made_block(&m, &mb, 1, MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert(is_there(1, MADE_NAME ".00000002"));
	ck_assert(is_there(0, MADE_NAME ".00000001"));
	made_finish(&m);
}
END_TEST

/* The indexed one is as long as it should be, and rotten; the bare one adds
 * up. */
START_TEST(rotten)
{
	struct index_record r;
	int fd;

	made_begin(&m);
	made_blocks(&m, 2);
	bare(1, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	r = made_record(&mb.b);
	r.crc = crc32c(0, mb.data, MADE_BLOCK);
	r.flags |= INDEX_SUMMED;
	made_index(&m, 0, &r);
	made_end(&m, 0);
	fd = open(made_path(&m, 0, MADE_NAME ".00000002"), O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "rot", 3, 1000), 3);
	close(fd);
	recovered(&m, &report);
	ck_assert_uint_eq(report.aside, 1);
	ck_assert(is_there(0, MADE_NAME ".00000002.aside"));
	left_on(1);
}
END_TEST

START_TEST(dry_run)
{
	unsigned sentences = 0;
	const struct recover_args args = { .dry_run = true,
					   .say = hear,
					   .arg = &sentences };
	struct recover_report wet;

	made_begin(&m);
	made_blocks(&m, 2);
	bare(0, 9);
	bare(2, MADE_SLOTS);
	made_end(&m, 0);
	append(made_path(&m, 1, MADE_NAME ".index"), "torn", 4);
	unlink(made_path(&m, 2, MADE_NAME ".index"));
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, &args, &report, &fault),
			 0);
	ck_assert(is_there(0, MADE_NAME ".00000002"));
	ck_assert(!is_there(2, MADE_NAME ".index"));
	wet = report;
	recovered(&m, &report);
	ck_assert_mem_eq(&wet, &report, sizeof report);
	ck_assert_uint_eq(report.torn, 4);
	left_on(2);
}
END_TEST

SUITE_THREADS("recover_twins", NULL, two_bare_ones, a_long_hole, both_indexed,
	      both_whole, index_that_lies, indexes_that_lie, rotten, dry_run)
