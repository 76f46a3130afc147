/* SPDX-License-Identifier: MIT */
/* Which files the folders of `files` hold. */
#include <string.h>
#include <unistd.h>

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

/* Why a receiver's name leads nowhere, as it was found out. */
START_TEST(a_name_that_nobody_has)
{
	const char *const text[] = { "/" };
	const struct option_texts folders = { text, 1 };
	const struct vsi_file_args args = { .what = VSI_FILE_GIVE,
					    .folders = &folders,
					    .name = "/dev/null",
					    .host = "256.1.1.1",
					    .port = 2630 };
	struct vsi_file_facts facts;
	struct vsi_file *file;
	struct fault fault;

	ck_assert_int_eq(vsi_file_start(&file, &args, &fault), 0);
	do {
		usleep(1000);
		vsi_file_facts(file, &facts);
	} while (facts.state < VSI_FILE_DONE);
	ck_assert_int_eq(facts.state, VSI_FILE_FAILED);
	ck_assert_msg(strstr(facts.why, "'256.1.1.1' is no address"), "%s",
		      facts.why);
	vsi_file_stop(file);
}
END_TEST

SUITE_THREADS("vsi_file", NULL, folders_hold_what_is_below, the_root_holds_all,
	      a_name_that_nobody_has)
