/* SPDX-License-Identifier: MIT */
/* What is named and not there, there and not named, or there twice. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/made_recover.h"
#include "lib/suite.h"
#include "store/disk/layout.h"

static struct made m;
static struct recover_report report;

static struct made_block mb;

START_TEST(empty_and_lost)
{
	struct index_record lost = { .number = 2,
				     .kind = INDEX_BLOCK,
				     .first = 2 * MADE_SLOTS,
				     .present = MADE_SLOTS,
				     .bytes = MADE_BLOCK };
	int fd;

	made_begin(&m);
	made_blocks(&m, 2);
	made_index(&m, 2, &lost);
	fd = folder_chunk(m.folder[0], 3, 0, MADE_BLOCK);
	ck_assert_int_eq(ftruncate(fd, MADE_BLOCK), 0);
	close(fd);
	fd = folder_chunk(m.folder[1], 4, 0, MADE_BLOCK);
	ck_assert_int_eq(write(fd, "few bytes", 9), 9);
	close(fd);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.empty, 2);
	ck_assert_uint_eq(report.lost, 1);
	ck_assert_uint_eq(report.rebuilt, 0);
	ck_assert_int_eq(access(made_path(&m, 0, MADE_NAME ".00000003"), F_OK),
			 -1);
	made_finish(&m);
}
END_TEST

/* The writer gave up on a disk and wrote the block to another. */
START_TEST(written_elsewhere)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, 9);
	made_chunk(&m, 0, &mb);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 0);
	ck_assert_uint_eq(report.aside, 1);
	ck_assert_int_eq(access(made_path(&m, 0, MADE_NAME ".00000002"), F_OK),
			 -1);
	ck_assert_int_eq(
	    access(made_path(&m, 0, MADE_NAME ".00000002.aside"), F_OK), 0);
	is_whole(&m, 3 * MADE_SLOTS);
	reads_as_sent(&m, 3 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* What was set aside is never replaced: the chunk stays. */
START_TEST(names_used_up)
{
	unsigned sentences = 0;
	struct recover_args args = { .say = hear, .arg = &sentences };
	char file[LAYOUT_FILE];
	struct fault fault;

	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 2, 2 * MADE_SLOTS, 9);
	made_chunk(&m, 0, &mb);
	made_end(&m, 0);
	for (unsigned i = 0; i < LAYOUT_ASIDES; i++)
		close(
		    open(made_path(&m, 0, layout_aside(file, MADE_NAME, 2, i)),
			 O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, &args, &report, &fault),
			 -EEXIST);
	ck_assert_int_eq(access(made_path(&m, 0, MADE_NAME ".00000002"), F_OK),
			 0);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover_find", NULL, empty_and_lost, written_elsewhere,
	      names_used_up)
