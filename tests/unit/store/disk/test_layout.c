/* SPDX-License-Identifier: MIT */
/* Names that are taken and refused, and file names there and back. */
#include <string.h>

#include "store/disk/layout.h"
#include "lib/suite.h"

#define LONG "a234567890123456789012345678901234567890123456789012345678901234"

START_TEST(names)
{
	static const char *const good[] = { "a",   "r4123_wz_123-0456",
					    "0a",  LONG,
					    "A+B", "1_2" };
	static const char *const bad[] = {
		"",    "123",	   "_a",    "-a",      "+a",  "a.b",
		"a/b", "..",	   "a b",   "a_ds1",   "_ds", LONG "5",
		"a\n", "\xc3\xa4", "a\x01", "a_ds_ds",
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ck_assert_msg(layout_name_good(good[i]), "%s", good[i]);
		ck_assert_ptr_null(layout_name_fault(good[i]));
		ck_assert(layout_folder_good(good[i]));
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_msg(!layout_name_good(bad[i]), "%s", bad[i]);
		ck_assert_uint_gt(strlen(layout_name_fault(bad[i])), 5);
	}
}
END_TEST

START_TEST(folders)
{
	ck_assert(layout_folder_good("a_ds1"));
	ck_assert(layout_folder_good("a_dsdbbc-3_x"));
	ck_assert(layout_folder_good(LONG "_ds" LONG));
	ck_assert(!layout_folder_good(LONG "5_ds1"));
	ck_assert(!layout_folder_good(LONG "_ds" LONG "5"));
	ck_assert(!layout_folder_good("a_ds"));
	ck_assert(!layout_folder_good("_ds1"));
	ck_assert(!layout_folder_good("a_ds1/.."));
	ck_assert(!layout_folder_good("a_ds1.2"));
	ck_assert(!layout_folder_good("../a_ds1"));
	ck_assert(!layout_folder_good("123"));
	ck_assert(!layout_folder_good(""));
}
END_TEST

START_TEST(files)
{
	char file[LAYOUT_FILE];
	uint64_t number = 77;

	ck_assert_str_eq(layout_chunk(file, "x", 12), "x.00000012");
	ck_assert(layout_chunk_number(file, "x", &number));
	ck_assert_uint_eq(number, 12);
	ck_assert_str_eq(layout_index(file, "x"), "x.index");
	ck_assert_str_eq(layout_index_new(file, "x"), "x.index.new");
	ck_assert_str_eq(layout_meta(file, "x"), "x.meta.jsonl");
	layout_meta(file, LONG "_ds" LONG);
	ck_assert_str_eq(file + strlen(file) - 6, ".jsonl");
	layout_chunk(file, "x", LAYOUT_CHUNKS - 1);
	ck_assert(layout_chunk_number(file, "x", &number));
	ck_assert_uint_eq(number, LAYOUT_CHUNKS - 1);
}
END_TEST

START_TEST(not_chunks)
{
	static const char *const bad[] = {
		"x",	       "x.",	     "x.0000001",  "x.000000001",
		"y.00000001",  "x.index",    "x.0000000a", "xx.00000001",
		"x.00000001~", "x_00000001", "",	   "x.+0000001",
	};
	uint64_t number = 77;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!layout_chunk_number(bad[i], "x", &number), "%s",
			      bad[i]);
	ck_assert_uint_eq(number, 77);
}
END_TEST

SUITE("layout", names, folders, files, not_chunks)
