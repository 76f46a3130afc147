/* SPDX-License-Identifier: MIT */
/* Names on some disks, and on none. */
#include "config.h"

#include <errno.h>

#include "store/recording/recording.h"
#include "lib/made_read.h"
#include "lib/suite.h"

static struct made m;

START_TEST(list)
{
	struct folder *f;
	char **names;
	size_t n;

	made_begin(&m);
	ck_assert_int_eq(folder_create(&f, &m.disks.disk[1], "a_ds1", m.head),
			 0);
	folder_close(f, NULL, NULL);
	ck_assert_int_eq(mkdirat(m.disks.disk[0].fd, "foreign", 0755), 0);
	ck_assert_int_eq(mkdirat(m.disks.disk[0].fd, "lost+found", 0755), 0);
	made_hide(&m, 0);
	ck_assert_int_eq(recording_list(&m.disks, &names, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(names[0], "a_ds1");
	ck_assert_str_eq(names[1], MADE_NAME);
	free(names);
	made_finish(&m);
}
END_TEST

START_TEST(list_of_nothing)
{
	struct disks none = { 0 };
	char **names;
	size_t n = 7;

	ck_assert_int_eq(recording_list(&none, &names, &n), 0);
	ck_assert_uint_eq(n, 0);
	free(names);
}
END_TEST

SUITE("recording_list", list, list_of_nothing)
