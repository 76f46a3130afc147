/* SPDX-License-Identifier: MIT */
#include "flow/write/disk_speed.c"

#include "lib/suite.h"

enum { MS = 1000000 };

static struct disk_speed speed;

START_TEST(nothing_is_known_at_first)
{
	speed = (struct disk_speed){ 0 };
	ck_assert_int_eq(disk_speed_p99(&speed), 0);
	disk_speed_add(&speed, 1000, 0, 0);
	ck_assert_int_eq(disk_speed_p99(&speed), 1);
}
END_TEST

START_TEST(the_speed_follows)
{
	speed = (struct disk_speed){ 0 };
	disk_speed_add(&speed, 1000, 1000000000, 1000000000);
	ck_assert_double_eq(speed.speed, 1000);
	ck_assert_int_eq(speed.took, 1000000000);
	ck_assert_uint_eq(speed.bytes, 1000);
	for (int i = 0; i < 20; i++)
		disk_speed_add(&speed, 2000, 1000000000, 1000000000);
	ck_assert_double_ge(speed.speed, 1990);
	ck_assert_double_le(speed.speed, 2000);
}
END_TEST

START_TEST(one_of_a_hundred_is_left_out)
{
	speed = (struct disk_speed){ 0 };
	for (int i = 0; i < 100; i++)
		disk_speed_add(&speed, 1, i == 50 ? 500 * MS : (1 + i % 7) * MS,
			       MS);
	ck_assert_int_eq(disk_speed_p99(&speed), 7 * MS);
	disk_speed_add(&speed, 1, 600 * MS, 600 * MS);
	ck_assert_int_eq(disk_speed_p99(&speed), 500 * MS);
}
END_TEST

START_TEST(what_is_long_ago_is_forgotten)
{
	speed = (struct disk_speed){ 0 };
	for (int i = 0; i < 1000; i++)
		disk_speed_add(&speed, 1, 900 * MS, 900 * MS);
	for (int i = 0; i < DISK_SPEED_BLOCKS; i++)
		disk_speed_add(&speed, 1, MS, MS);
	ck_assert_int_eq(disk_speed_p99(&speed), MS);
	ck_assert_uint_ge(speed.n, DISK_SPEED_BLOCKS);
}
END_TEST

SUITE("disk_speed", nothing_is_known_at_first, the_speed_follows,
      one_of_a_hundred_is_left_out, what_is_long_ago_is_forgotten)
