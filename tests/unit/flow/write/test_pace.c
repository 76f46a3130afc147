/* SPDX-License-Identifier: MIT */
#include "flow/write/disk_speed.c"

#include "lib/suite.h"

enum { MS = 1000000 };

static struct disk_speed pace;

START_TEST(nothing_is_known_at_first)
{
	pace = (struct disk_speed){ 0 };
	ck_assert_int_eq(disk_speed_p99(&pace), 0);
	disk_speed_add(&pace, 1000, 0, 0);
	ck_assert_int_eq(disk_speed_p99(&pace), 1);
}
END_TEST

START_TEST(the_speed_follows)
{
	pace = (struct disk_speed){ 0 };
	disk_speed_add(&pace, 1000, 1000000000, 1000000000);
	ck_assert_double_eq(pace.speed, 1000);
	ck_assert_int_eq(pace.took, 1000000000);
	ck_assert_uint_eq(pace.bytes, 1000);
	for (int i = 0; i < 20; i++)
		disk_speed_add(&pace, 2000, 1000000000, 1000000000);
	ck_assert_double_ge(pace.speed, 1990);
	ck_assert_double_le(pace.speed, 2000);
}
END_TEST

START_TEST(one_of_a_hundred_is_left_out)
{
	pace = (struct disk_speed){ 0 };
	for (int i = 0; i < 100; i++)
		disk_speed_add(&pace, 1, i == 50 ? 500 * MS : (1 + i % 7) * MS,
			       MS);
	ck_assert_int_eq(disk_speed_p99(&pace), 7 * MS);
	disk_speed_add(&pace, 1, 600 * MS, 600 * MS);
	ck_assert_int_eq(disk_speed_p99(&pace), 500 * MS);
}
END_TEST

START_TEST(what_is_long_ago_is_forgotten)
{
	pace = (struct disk_speed){ 0 };
	for (int i = 0; i < 1000; i++)
		disk_speed_add(&pace, 1, 900 * MS, 900 * MS);
	for (int i = 0; i < DISK_SPEED_BLOCKS; i++)
		disk_speed_add(&pace, 1, MS, MS);
	ck_assert_int_eq(disk_speed_p99(&pace), MS);
	ck_assert_uint_ge(pace.n, DISK_SPEED_BLOCKS);
}
END_TEST

SUITE("pace", nothing_is_known_at_first, the_speed_follows,
      one_of_a_hundred_is_left_out, what_is_long_ago_is_forgotten)
