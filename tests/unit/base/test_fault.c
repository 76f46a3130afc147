/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/fault.h"
#include "lib/suite.h"

START_TEST(line)
{
	struct fault f;
	char text[200];
	int length;

	ck_assert_int_eq(
	    fault_set(&f, -EEXIST, "exists", "cannot record %s", "r4123"),
	    -EEXIST);
	ck_assert_str_eq(f.code, "exists");
	fault_line(&f, text, sizeof text);
	ck_assert_str_eq(text, "cannot record r4123");
	fault_hint(&f, "choose %d others", 2);
	fault_line(&f, text, sizeof text);
	ck_assert_str_eq(text, "cannot record r4123; choose 2 others");
	fault_why(&f, "the name is taken");
	length = fault_line(&f, text, sizeof text);
	ck_assert_str_eq(text, "cannot record r4123: the name is taken; "
			       "choose 2 others");
	ck_assert_uint_eq(length, strlen(text));
}
END_TEST

START_TEST(set_clears_the_rest)
{
	struct fault f;

	fault_set(&f, -EIO, "io", "one");
	fault_why(&f, "why");
	fault_hint(&f, "hint");
	fault_set(&f, -EIO, "io", "two");
	ck_assert_str_eq(f.what, "two");
	ck_assert_str_eq(f.why, "");
	ck_assert_str_eq(f.hint, "");
}
END_TEST

START_TEST(may_wrap_itself)
{
	struct fault f;

	fault_set(&f, -EIO, "io", "no disk");
	fault_set(&f, -EIO, f.code, "stream a: %s", f.what);
	ck_assert_str_eq(f.what, "stream a: no disk");
}
END_TEST

START_TEST(long_text_is_cut)
{
	struct fault f;
	char text[500];
	int length;

	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	fault_set(&f, -EIO, "io", "%s", text);
	ck_assert_uint_eq(strlen(f.what), sizeof f.what - 1);
	ck_assert_str_eq(f.what + sizeof f.what - 5, "x...");
	length = fault_line(&f, text, 10);
	ck_assert_int_eq(length, 9);
	ck_assert_str_eq(text, "xxxxxxxxx");
}
END_TEST

START_TEST(stays_one_line)
{
	struct fault f;

	fault_set(&f, -EIO, "io", "a\nb\x1b[2Jc");
	fault_why(&f, "d\re");
	ck_assert_str_eq(f.what, "a b [2Jc");
	ck_assert_str_eq(f.why, "d e");
}
END_TEST

SUITE("fault", line, set_clears_the_rest, may_wrap_itself, long_text_is_cut,
      stays_one_line)
