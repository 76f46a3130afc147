/* SPDX-License-Identifier: MIT */
#include "cli/disks/disks_test.c"

#include <stdlib.h>
#include <string.h>

#include "lib/suite.h"

enum { DISKS = 5 };

static struct tested disk[DISKS];

static void
speeds(const double *write, const double *read, unsigned n)
{
	memset(disk, 0, sizeof disk);
	for (unsigned i = 0; i < n; i++) {
		disk[i].alone.write = write[i] * 1e6;
		disk[i].alone.read = read[i] * 1e6;
		disk[i].device = i + 1;
	}
}

START_TEST(disks_of_one_make_differ_a_little)
{
	static const double a[] = { 180, 200, 220, 190, 160 };

	speeds(a, a, DISKS);
	tested_judge(disk, DISKS);
	for (int i = 0; i < DISKS; i++) {
		ck_assert(!disk[i].slow);
		ck_assert_int_eq(disk[i].shares, -1);
	}
	tested_judge(disk, 1);
	ck_assert(!disk[0].slow);
}
END_TEST

START_TEST(slow_is_slow_at_either)
{
	static const double write[] = { 200, 200, 100, 200, 900 };
	static const double read[] = { 200, 100, 200, 210, 190 };

	speeds(write, read, DISKS);
	tested_judge(disk, DISKS);
	ck_assert(!disk[0].slow);
	ck_assert(disk[1].slow);
	ck_assert(disk[2].slow);
	ck_assert(!disk[3].slow);
	ck_assert(!disk[4].slow);
}
END_TEST

/* What failed is not slow, and nobody is measured by it. */
START_TEST(those_that_failed_do_not_count)
{
	static const double a[] = { 1, 1, 1, 200, 210 };

	speeds(a, a, DISKS);
	for (int i = 0; i < 3; i++)
		strcpy(disk[i].error, "cannot write: it is gone");
	disk[0].device = disk[1].device = 0;
	tested_judge(disk, DISKS);
	for (int i = 0; i < DISKS; i++) {
		ck_assert(!disk[i].slow);
		ck_assert_int_eq(disk[i].shares, -1);
	}
}
END_TEST

START_TEST(one_file_system_is_told)
{
	static const double a[] = { 200, 200, 200, 200, 200 };

	speeds(a, a, DISKS);
	disk[3].device = disk[1].device;
	disk[4].device = disk[1].device;
	tested_judge(disk, DISKS);
	ck_assert_int_eq(disk[1].shares, -1);
	ck_assert_int_eq(disk[3].shares, 1);
	ck_assert_int_eq(disk[4].shares, 1);
}
END_TEST

SUITE("disks_test", disks_of_one_make_differ_a_little, slow_is_slow_at_either,
      those_that_failed_do_not_count, one_file_system_is_told)
