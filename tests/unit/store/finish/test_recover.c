/* SPDX-License-Identifier: MIT */
/*
 * A recording is broken as a crash would break it, recovered, and read: all
 * that was on the disks is there again, and a second recovery does nothing.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "store/finish/recover_priv.h"
#include "store/write/copy_origin.h"
#include "lib/made_recover.h"
#include "lib/suite.h"

static struct made m;
static struct recover_report report;
static struct fault fault;

static struct made_block mb;

START_TEST(no_end)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 0);
	recovered(&m, &report);
	ck_assert(report.closed);
	ck_assert_uint_eq(report.indexed, 5);
	ck_assert_uint_eq(report.rebuilt, 0);
	is_whole(&m, 5 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

START_TEST(complete_already)
{
	made_begin(&m);
	made_blocks(&m, 5);
	made_end(&m, 5);
	is_whole(&m, 5 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* An index that is gone altogether. */
START_TEST(a_lost_index)
{
	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".index")), 0);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 3);
	ck_assert_uint_eq(report.indexed, 4);
	is_whole(&m, 7 * MADE_SLOTS);
	reads_as_sent(&m, 7 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* No index at all and metadata on one disk only: the frames suffice. */
START_TEST(all_indexes_lost)
{
	char file[LAYOUT_FILE];

	made_begin(&m);
	made_blocks(&m, 7);
	made_end(&m, 7);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		unlink(made_path(&m, i, layout_index(file, MADE_NAME)));
	unlink(made_path(&m, 0, layout_meta(file, MADE_NAME)));
	unlink(made_path(&m, 2, layout_meta(file, MADE_NAME)));
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 7);
	is_whole(&m, 7 * MADE_SLOTS);
	reads_as_sent(&m, 7 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* A bare chunk of a disk whose index was closed already. */
START_TEST(behind_the_end)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	made_end(&m, 3);
	recovered(&m, &report);
	ck_assert_uint_eq(report.rebuilt, 1);
	is_whole(&m, 4 * MADE_SLOTS);
	made_finish(&m);
}
END_TEST

/* A line is added behind all that are there, also those that were not read; only a
 * torn one is cut off. */
START_TEST(line_behind_unread)
{
	const struct recover_args args = { .dry_run = false };
	char refused[RECOVER_PATH], is[4096], *was;
	struct recovery r = { .disks = &m.disks,
			      .args = &args,
			      .refused = refused };
	json_t *line = json_pack("{s:s}", "cut", "1");
	ssize_t bytes, more;
	int fd;

	made_begin(&m);
	made_blocks(&m, 3);
	made_end(&m, 0);
	fd = open(made_path(&m, 1, MADE_NAME ".meta.jsonl"), O_RDONLY);
	bytes = read(fd, is, sizeof is);
	ck_assert_int_gt(bytes, 0);
	was = strndup(is, (size_t)bytes);
	append(made_path(&m, 1, MADE_NAME ".meta.jsonl"), "{\"torn", 6);
	ck_assert_int_eq(recording_open(&r.rec, &m.disks, MADE_NAME, &fault),
			 0);
	r.rec->part[1].meta_bytes = (uint64_t)(strchr(was, '\n') + 1 - was);
	ck_assert_int_eq(recover_note(&r, 1, line), 0);
	recording_close(r.rec);
	more = pread(fd, is, sizeof is, 0);
	ck_assert_int_eq(more, bytes + 12);
	ck_assert_mem_eq(is, was, (size_t)bytes);
	ck_assert_mem_eq(is + bytes, "{\"cut\":\"1\"}\n", 12);
	json_decref(line);
	free(was);
	close(fd);
	made_finish(&m);
}
END_TEST

START_TEST(refused)
{
	made_begin(&m);
	made_blocks(&m, 3);
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, NULL, &report, &fault),
			 -EBUSY);
	ck_assert_str_eq(fault.code, "busy");
	ck_assert_int_eq(recover(&m.disks, "other", NULL, &report, &fault),
			 -ENOENT);
	made_end(&m, 0);
	for (unsigned i = 0; i < MADE_DISKS; i++)
		ck_assert_int_eq(
		    unlink(made_path(&m, i, MADE_NAME ".meta.jsonl")), 0);
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, NULL, &report, &fault),
			 -ENODATA);
	ck_assert_ptr_nonnull(strstr(fault.hint, "first line"));
	made_finish(&m);
}
END_TEST

/* A disk of another machine. */
START_TEST(of_one_name)
{
	char head[4096];
	FILE *file;
	char *start;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 0);
	file = fopen(made_path(&m, 2, MADE_NAME ".meta.jsonl"), "r+");
	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(fgets(head, sizeof head, file));
	start = strstr(head, "\"start\":\"");
	ck_assert_ptr_nonnull(start);
	start[strlen("\"start\":\"2")] ^= 1;
	rewind(file);
	ck_assert_int_ge(fputs(head, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, NULL, &report, &fault),
			 -EBADMSG);
	ck_assert_ptr_nonnull(strstr(fault.why, "another recording"));
	made_hide(&m, 2);
	recovered(&m, &report);
	made_show(&m, 2);
	made_finish(&m);
}
END_TEST

/* What lies in the place of an index that is made anew, and of the folder of a
 * copy, leads to nothing that is written to. */
START_TEST(a_copy_with_links)
{
	const uint64_t bad = 0;
	char *outside, *index;
	struct stat st;
	FILE *file;

	made_begin(&m);
	made_blocks(&m, 4);
	made_end(&m, 0);
	outside = strdup(scratch_path(&m.scratch, "outside"));
	file = fopen(outside, "w");
	ck_assert_int_ge(fputs("treasure", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(
	    symlink(outside, made_path(&m, 0, MADE_NAME ".index.new")), 0);
	ck_assert_int_eq(
	    copy_origin_mend(&m.disks.disk[0], MADE_NAME, m.head, &bad, 1),
	    -ELOOP);
	ck_assert_int_eq(unlink(made_path(&m, 0, MADE_NAME ".index.new")), 0);
	ck_assert_int_eq(
	    link(outside, made_path(&m, 0, MADE_NAME ".index.new")), 0);
	ck_assert_int_eq(
	    copy_origin_mend(&m.disks.disk[0], MADE_NAME, m.head, &bad, 1),
	    -EMLINK);
	index = strdup(made_path(&m, 0, MADE_NAME ".index"));
	ck_assert_int_eq(rename(index, made_path(&m, 0, "aside")), 0);
	ck_assert_int_eq(symlink("aside", index), 0);
	ck_assert_int_eq(
	    copy_origin_mend(&m.disks.disk[0], MADE_NAME, m.head, &bad, 1),
	    -ELOOP);
	ck_assert_int_eq(stat(outside, &st), 0);
	ck_assert_int_eq(st.st_size, 8);
	free(outside);
	free(index);
	made_finish(&m);
}
END_TEST

/* Recordings that need to be recovered are known, and those being written. */
START_TEST(needed)
{
	made_begin(&m);
	made_blocks(&m, 3);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	made_end(&m, 3);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	append(made_path(&m, 1, MADE_NAME ".index"), "torn", 4);
	ck_assert(recover_needed(&m.disks, MADE_NAME));
	recovered(&m, &report);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	ck_assert(!recover_needed(&m.disks, "other"));
	made_finish(&m);
}
END_TEST

/* The index of a disk that failed has no end. */
START_TEST(needed_by_one_disk)
{
	struct folder *last;

	made_begin(&m);
	made_blocks(&m, 3);
	last = m.folder[2];
	m.folder[2] = NULL;
	made_end(&m, 3);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	ck_assert_int_eq(folder_close(last, NULL, NULL), 0);
	ck_assert(recover_needed(&m.disks, MADE_NAME));
	recovered(&m, &report);
	ck_assert(report.closed);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	made_finish(&m);
}
END_TEST

/* A chunk that is in no index. */
START_TEST(needed_by_a_chunk)
{
	made_begin(&m);
	made_blocks(&m, 3);
	made_block(&m, &mb, 3, 3 * MADE_SLOTS, MADE_SLOTS);
	made_chunk(&m, 0, &mb);
	made_end(&m, 3);
	ck_assert(recover_needed(&m.disks, MADE_NAME));
	recovered(&m, &report);
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	made_finish(&m);
}
END_TEST

/* Its metadata is there, and its index not under its own name yet. */
START_TEST(that_begins)
{
	char from[512];

	made_begin(&m);
	for (unsigned i = 0; i < MADE_DISKS; i++) {
		strcpy(from, made_path(&m, i, MADE_NAME ".index"));
		ck_assert_int_eq(
		    rename(from, made_path(&m, i, MADE_NAME ".index.new")), 0);
	}
	ck_assert(!recover_needed(&m.disks, MADE_NAME));
	ck_assert_int_eq(recover(&m.disks, MADE_NAME, NULL, &report, &fault),
			 -EBUSY);
	ck_assert_int_ne(access(made_path(&m, 0, MADE_NAME ".index"), F_OK), 0);
	made_finish(&m);
}
END_TEST

/* Only the disk is looked at that the recorder gave up. */
START_TEST(that_goes_on_elsewhere)
{
	struct disks alone = { .n = 1 };

	made_begin(&m);
	alone.disk = &m.disks.disk[2];
	made_blocks(&m, 3);
	ck_assert_int_eq(folder_close(m.folder[2], NULL, NULL), 0);
	m.folder[2] = NULL;
	ck_assert(!recover_needed(&alone, MADE_NAME));
	ck_assert_int_eq(recover(&alone, MADE_NAME, NULL, &report, &fault),
			 -EBUSY);
	made_end(&m, 0);
	ck_assert(recover_needed(&alone, MADE_NAME));
	ck_assert_int_eq(recover(&alone, MADE_NAME, NULL, &report, &fault), 0);
	made_finish(&m);
}
END_TEST

SUITE_THREADS("recover", NULL, a_copy_with_links, no_end, complete_already,
	      a_lost_index, all_indexes_lost, behind_the_end,
	      line_behind_unread, refused, of_one_name, needed,
	      needed_by_one_disk, needed_by_a_chunk, that_begins,
	      that_goes_on_elsewhere)
