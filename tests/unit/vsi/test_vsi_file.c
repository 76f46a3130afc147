/* SPDX-License-Identifier: MIT */
/* Which files the folders of `files` hold. */
#include "vsi/vsi_file.h"
#include "lib/suite.h"

/* Returns what vsi_file_start says of a look at a file. */
static int
look(const char *folder, const char *name)
{
	const char *const text[] = { folder };
	const struct option_texts folders = { text, 1 };
	const struct vsi_file_args args = { .what = VSI_FILE_LOOK,
					    .folders = &folders,
					    .name = name };
	struct vsi_file *file = NULL;
	struct fault fault;
	int err = vsi_file_start(&file, &args, &fault);

	vsi_file_stop(file);
	return err;
}

START_TEST(folders_hold_what_is_below)
{
	ck_assert_int_eq(look("/tmp", "/tmp/file"), 0);
	ck_assert_int_eq(look("/tmp/", "/tmp/a/file"), 0);
	ck_assert_int_eq(look("/tmp", "file"), 0);
	ck_assert_int_lt(look("/tmp", "/tmpfile"), 0);
	ck_assert_int_lt(look("/tmp", "/other/file"), 0);
	ck_assert_int_lt(look("/tmp", "/tmp/../file"), 0);
	ck_assert_int_lt(look("/tmp", "/tmp/"), 0);
}
END_TEST

START_TEST(the_root_holds_all)
{
	ck_assert_int_eq(look("/", "/tmp/file"), 0);
	ck_assert_int_eq(look("/", "/file"), 0);
	ck_assert_int_eq(look("//", "tmp/file"), 0);
	ck_assert_int_lt(look("/", "/"), 0);
	ck_assert_int_lt(look("/", "/tmp/../file"), 0);
}
END_TEST

SUITE_THREADS("vsi_file", NULL, folders_hold_what_is_below, the_root_holds_all)
