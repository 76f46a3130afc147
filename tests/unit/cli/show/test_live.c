/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/show/follow.h"
#include "lib/suite.h"

static char line[256];

static const char *
shown(const char *infos, const char *disks, size_t bytes)
{
	json_t *i = json_loads(infos, 0, NULL), *d = json_loads(disks, 0, NULL);

	ck_assert_ptr_nonnull(i);
	ck_assert_ptr_nonnull(d);
	live_line(i, d, line, bytes);
	json_decref(i);
	json_decref(d);
	return line;
}

START_TEST(one)
{
	ck_assert_str_eq(
	    shown("[{\"left_s\":7.6,\"elapsed_s\":2.4,\"rate\":1e9,"
		  "\"packets\":31250,\"packets_lost\":3,"
		  "\"blocks\":{\"total\":12,\"free\":9}}]",
		  "[{\"path\":\"/mnt/disk0\",\"rate\":32505856},"
		  "{\"path\":\"/mnt/disk1/\",\"rate\":0}]",
		  sizeof line),
	    "8s left  1.00 Gb/s  31250 packets  3 lost  buffers 3/12  "
	    "disk0 31.0 MiB/s  /mnt/disk1/ 0 B/s");
}
END_TEST

START_TEST(heaps_of_substreams)
{
	ck_assert_str_eq(
	    shown("[{\"left_s\":1,\"rate\":1e9,\"packets\":9,\"heaps\":4,"
		  "\"subs\":[{\"packets\":9},{\"packets\":0},{}],"
		  "\"blocks\":{\"total\":12,\"free\":9}}]",
		  "[]", sizeof line),
	    "1s left  1.00 Gb/s  9 packets  0 lost  4 heaps  2 of 3 silent  "
	    "buffers 3/12");
}
END_TEST

START_TEST(several_without_end)
{
	ck_assert_str_eq(
	    shown("[{\"left_s\":null,\"elapsed_s\":61,\"rate\":1e6,"
		  "\"packets\":1,\"packets_lost\":1,"
		  "\"blocks\":{\"total\":2,\"free\":2}},"
		  "{\"left_s\":null,\"elapsed_s\":61,\"rate\":2e6,"
		  "\"packets\":2,\"packets_lost\":2,"
		  "\"blocks\":{\"total\":2,\"free\":0}}]",
		  "[]", sizeof line),
	    "1m 01s so far  3.00 Mb/s  3 packets  3 lost  buffers 2/4");
}
END_TEST

START_TEST(at_the_end)
{
	shown("[{\"left_s\":0.2}]", "[]", sizeof line);
	ck_assert_int_eq(strncmp(line, "0s left", 7), 0);
	shown("[]", "[]", sizeof line);
	ck_assert_int_eq(strncmp(line, "0s so far", 9), 0);
}
END_TEST

START_TEST(narrow)
{
	for (size_t bytes = 1; bytes < sizeof line; bytes++) {
		shown("[{\"left_s\":10}]",
		      "[{\"path\":\"/a\",\"rate\":1},{\"path\":\"/b\","
		      "\"rate\":2}]",
		      bytes);
		ck_assert_uint_lt(strlen(line), bytes);
		ck_assert_int_eq(
		    strncmp(line, "10s left", bytes - 1 < 8 ? bytes - 1 : 8),
		    0);
	}
}
END_TEST

SUITE("live", one, heaps_of_substreams, several_without_end, at_the_end, narrow)
