/* SPDX-License-Identifier: MIT */
#include "cli/show/args.h"
#include "lib/suite.h"

static const char *const names[] = { "record", "stop",	  "ls",	    "info",
				     "verify", "recover", "export", "status",
				     "disks",  "streams", "gen" };

static const char *
near(const char *word)
{
	return suggest(word, names, sizeof names / sizeof *names);
}

START_TEST(slips)
{
	ck_assert_str_eq(near("recrod"), "record");
	ck_assert_str_eq(near("sotp"), "stop");
	ck_assert_str_eq(near("gne"), "gen");
	ck_assert_str_eq(near("sl"), "ls");
	ck_assert_str_eq(near("verfiy"), "verify");
	ck_assert_str_eq(near("exprot"), "export");
	ck_assert_str_eq(near("stauts"), "status");
	ck_assert_str_eq(near("recoverr"), "recover");
	ck_assert_str_eq(near("disk"), "disks");
}
END_TEST

START_TEST(beginnings)
{
	ck_assert_str_eq(near("stat"), "status");
	ck_assert_str_eq(near("in"), "info");
	ck_assert_str_eq(near("exp"), "export");
}
END_TEST

START_TEST(nothing_near)
{
	ck_assert_ptr_null(near(""));
	ck_assert_ptr_null(near("x"));
	ck_assert_ptr_null(near("mount"));
	ck_assert_ptr_null(near("schedule"));
	ck_assert_ptr_null(
	    near("a-word-that-is-longer-than-any-command-there-is"));
	ck_assert_ptr_null(suggest("stop", names, 0));
}
END_TEST

START_TEST(the_nearest)
{
	static const char *const two[] = { "rate", "range" };

	ck_assert_str_eq(suggest("rnge", two, 2), "range");
	ck_assert_str_eq(suggest("raet", two, 2), "rate");
}
END_TEST

SUITE("suggest", slips, beginnings, nothing_near, the_nearest)
