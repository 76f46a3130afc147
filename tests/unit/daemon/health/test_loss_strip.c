/* SPDX-License-Identifier: MIT */
#include "daemon/health/loss_strip.h"

#include <string.h>

#include "contract/log.h"
#include "lib/suite.h"

static struct loss_strip strip;
static uint64_t packets, lost;
static int64_t at;

/* Adds so many packets and losses in each of some seconds. */
static void
go(int seconds, uint64_t came, uint64_t gone)
{
	for (int i = 0; i < seconds; i++) {
		packets += came;
		lost += gone;
		loss_strip_add(&strip, at, packets, lost);
		at += NS_SECOND;
	}
}

static const char *
marks(void)
{
	static char text[LOSS_STRIP_MOST + 1];

	return loss_strip_show(&strip, text);
}

START_TEST(a_mark_a_second)
{
	ck_assert_str_eq(marks(), "");
	go(2, 1000, 0);
	go(1, 999, 1);
	go(1, 995, 5);
	go(1, 900, 100);
	go(1, 0, 0);
	ck_assert_str_eq(marks(), "..-+# ");
}
END_TEST

/* The last look comes when all is written, and adds to the last second. */
START_TEST(the_end_adds_to_the_last)
{
	go(3, 1000, 0);
	loss_strip_add(&strip, at - NS_SECOND, packets, 50);
	ck_assert_str_eq(marks(), "..#");
}
END_TEST

START_TEST(two_become_one)
{
	go(60, 1000, 0);
	ck_assert_uint_eq(strlen(marks()), 60);
	go(1, 900, 100);
	ck_assert_str_eq(marks(), "..............................#");
	go(200, 1000, 0);
	/* 261 seconds in columns of 8. */
	ck_assert_uint_eq(strlen(marks()), 33);
	ck_assert_ptr_eq(strchr(marks(), '+'), NULL);
	ck_assert_int_eq(strchr(marks(), '#') - marks(), 60 / 8);
	go(100000, 1000, 0);
	ck_assert_uint_le(strlen(marks()), 60);
	ck_assert_uint_gt(strlen(marks()), 30);
	ck_assert_int_eq(*marks(), '-');
}
END_TEST

/* Looks that are late leave no hole, as while spated was stopped. */
START_TEST(a_pause_is_spread)
{
	at = 5 * NS_SECOND;
	go(2, 1000, 0);
	ck_assert_str_eq(marks(), "     ..");
	at += 3 * NS_SECOND;
	go(1, 4000, 4);
	ck_assert_str_eq(marks(), "     ..----");
	at += 100000 * NS_SECOND;
	go(1, 1000, 0);
	ck_assert_uint_le(strlen(marks()), 60);
}
END_TEST

/* Packets are not lost when their block is written late. */
START_TEST(what_was_found_is_not_lost)
{
	go(2, 1000, 0);
	go(1, 900, 100);
	go(1, 1000, 0);
	ck_assert_str_eq(marks(), "..#.");
	lost = 0;
	go(1, 1100, 0);
	ck_assert_str_eq(marks(), ".....");
}
END_TEST

SUITE("loss_strip", a_mark_a_second, the_end_adds_to_the_last, two_become_one,
      a_pause_is_spread, what_was_found_is_not_lost)
