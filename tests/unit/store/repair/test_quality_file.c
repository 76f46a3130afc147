/* SPDX-License-Identifier: MIT */
#include "store/repair/quality_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/scratch.h"

static struct scratch scratch;
static struct disk disk[2];
static struct disks disks = { .disk = disk, .n = 2 };
static struct fault fault;
static char seen[256];

static void
file_make(const char *name, const char *text)
{
	FILE *f = fopen(scratch_path(&scratch, name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* Two disks: the first has a folder without blocks, the second one with. */
static void
start(void)
{
	static const char *const folders[] = { "a", "b", "a/r", "b/r" };

	scratch_make(&scratch);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(
		    mkdir(scratch_path(&scratch, folders[i]), 0755), 0);
	file_make("a/r/r.index", "");
	file_make("b/r/r.index", "a record");
	for (unsigned i = 0; i < 2; i++) {
		disk[i] = (struct disk){
			.path = strdup(scratch_path(&scratch, folders[i])),
			.fd = -1,
			.reserve_asked = 1,
		};
		ck_assert_int_eq(disk_open(&disk[i]), 0);
	}
	seen[0] = '\0';
}

static void
finish(void)
{
	for (unsigned i = 0; i < 2; i++) {
		disk_close(&disk[i]);
		free(disk[i].path);
	}
	scratch_remove(&scratch);
}

static int
append(const char *lines)
{
	return quality_file_append(&disks, "r", lines, strlen(lines), &fault);
}

static void
see(void *arg, const char *line)
{
	(void)arg;
	strcat(strcat(seen, line), ";");
}

START_TEST(lines_are_with_the_blocks)
{
	start();
	ck_assert_int_eq(append("one\ntwo\n"), 0);
	ck_assert_int_eq(append("three\n"), 0);
	ck_assert(access(scratch_path(&scratch, "a/r/r.quality.jsonl"), F_OK));
	ck_assert_int_eq(quality_file_read(&disks, "r", see, NULL), 0);
	ck_assert_str_eq(seen, "one;two;three;");
	/* lines that another disk had before are there, too */
	seen[0] = '\0';
	file_make("a/r/r.quality.jsonl", "zero\nand half a li");
	ck_assert_int_eq(quality_file_read(&disks, "r", see, NULL), 0);
	ck_assert_str_eq(seen, "zero;one;two;three;");
	ck_assert_int_eq(quality_file_read(&disks, "s", see, NULL), 0);
	finish();
}
END_TEST

START_TEST(nothing_is_made_where_nothing_is)
{
	start();
	file_make("b/r/r.removing", "");
	ck_assert_int_eq(append("one\n"), -ENOENT);
	unlink(scratch_path(&scratch, "b/r/r.removing"));
	disk_close(&disk[1]);
	ck_assert_int_eq(append("one\n"), -ENOENT);
	ck_assert(access(scratch_path(&scratch, "a/r/r.quality.jsonl"), F_OK));
	ck_assert(access(scratch_path(&scratch, "b/r/r.quality.jsonl"), F_OK));
	finish();
}
END_TEST

START_TEST(a_full_disk_takes_none)
{
	start();
	disk[1].reserve = UINT64_MAX / 2;
	ck_assert_int_eq(append("one\n"), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(fault.why, disk[1].path));
	/* another disk does */
	file_make("a/r/r.index", "a record");
	ck_assert_int_eq(append("one\n"), 0);
	ck_assert_int_eq(quality_file_read(&disks, "r", see, NULL), 0);
	ck_assert_str_eq(seen, "one;");
	finish();
}
END_TEST

/* A link would have lines written somewhere else. */
START_TEST(links_are_not_followed)
{
	start();
	file_make("away", "");
	ck_assert_int_eq(symlink("../../away",
				 scratch_path(&scratch, "b/r/r.quality.jsonl")),
			 0);
	ck_assert_int_eq(append("one\n"), -ELOOP);
	finish();
}
END_TEST

SUITE("quality_file", lines_are_with_the_blocks,
      nothing_is_made_where_nothing_is, a_full_disk_takes_none,
      links_are_not_followed)
