/* SPDX-License-Identifier: MIT */
/* Clocks that are put in the place of the kernel's, and taken away again. */
#include <sys/timex.h>

#include "base/clock.h"
#include "lib/suite.h"

static int64_t
seven(void *arg)
{
	return *(int64_t *)arg + 7;
}

static int64_t
one(void *arg)
{
	return *(int64_t *)arg + 1;
}

START_TEST(test_replace)
{
	int64_t base = 1000;
	const struct clock_source source = { seven, one, &base };
	int64_t before = clock_steady();

	clock_replaced = &source;
	ck_assert_int_eq(clock_now(), 1007);
	ck_assert_int_eq(clock_steady(), 1001);
	base = 5000;
	ck_assert_int_eq(clock_now(), 5007);
	clock_replaced = NULL;
	ck_assert_int_ge(clock_steady(), before);
	ck_assert_int_gt(clock_now(), 1000000000000000000);
}
END_TEST

/* As adjtimex(2) says it. */
START_TEST(test_tai)
{
	struct timex t = { .modes = 0 };

	if (adjtimex(&t) >= 0)
		ck_assert_int_eq(clock_tai(), t.tai);
}
END_TEST

SUITE("clock", test_replace, test_tai)
