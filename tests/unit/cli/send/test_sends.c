/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "cli/send/sends.h"
#include "lib/suite.h"

static char line[256];

static const char *
shown(const char *text, size_t bytes)
{
	json_t *send = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(send);
	sends_line(send, line, bytes);
	json_decref(send);
	return line;
}

#define HALF                                                                   \
	"{\"name\":\"r1\",\"state\":\"sending\",\"bytes\":1048576,"            \
	"\"total\":2097152,\"rate\":8e6,\"left_s\":1.2,\"behind_s\":null}"

START_TEST(a_bar)
{
	ck_assert_str_eq(shown(HALF, 80),
			 "r1  [==================>                  ]   50 %  "
			 "1.0 MiB  8.00 Mb/s  1s left");
	ck_assert_str_eq(shown(HALF, 40),
			 "r1   50 %  1.0 MiB  8.00 Mb/s  1s left");
	ck_assert_str_eq(shown(HALF, 10), "r1   50 %");
	ck_assert_str_eq(shown(HALF, 1), "");
}
END_TEST

START_TEST(live)
{
	ck_assert_str_eq(
	    shown("{\"name\":\"r1\",\"state\":\"waiting\",\"bytes\":1048576,"
		  "\"total\":2097152,\"rate\":8e6,\"left_s\":null,"
		  "\"behind_s\":0.01}",
		  80),
	    "r1  1.0 MiB  8.00 Mb/s  live");
	ck_assert_str_eq(
	    shown("{\"name\":\"r1\",\"state\":\"sending\",\"bytes\":0,"
		  "\"total\":null,\"rate\":0,\"behind_s\":61}",
		  80),
	    "r1  0 B  0 b/s  1m 01s behind");
}
END_TEST

/* Nobody knows who wrote what a peer says. */
START_TEST(reasons)
{
	ck_assert_str_eq(
	    shown("{\"name\":\"r1\",\"state\":\"connecting\",\"bytes\":0,"
		  "\"total\":null,\"why\":\"c\\u001b[2J is away\"}",
		  80),
	    "r1  0 B  connecting: c [2J is away");
	ck_assert_str_eq(shown("{}", 80), "  0 B  ");
	ck_assert_str_eq(shown("{\"name\":5,\"bytes\":[],\"total\":\"x\"}", 80),
			 "  0 B  ");
}
END_TEST

static int
checked(const char *text, struct fault *fault)
{
	json_t *send = json_loads(text, 0, NULL);
	int err;

	ck_assert_ptr_nonnull(send);
	err = sends_check(send, fault);
	json_decref(send);
	return err;
}

START_TEST(arrived)
{
	struct fault fault;

	ck_assert_int_eq(checked("{\"state\":\"done\",\"missing\":7}", &fault),
			 0);
	ck_assert_int_eq(checked("{\"name\":\"a\",\"to\":\"null:\","
				 "\"state\":\"done\",\"unreadable\":7,"
				 "\"refused\":1}",
				 &fault),
			 -EIO);
	ck_assert_str_eq(fault.what, "a was not sent whole to null:");
	ck_assert_str_eq(fault.why, "7 packets unreadable, 1 packets refused");
	ck_assert_int_eq(
	    checked("{\"state\":\"failed\",\"why\":\"nobody there\"}", &fault),
	    -EIO);
	ck_assert_str_eq(fault.why, "nobody there");
	ck_assert_int_eq(checked("{\"state\":\"stopped\"}", &fault), -EIO);
	ck_assert_str_eq(fault.code, "cancelled");
	ck_assert_str_eq(fault.why, "stopped");
}
END_TEST

SUITE("sends", a_bar, live, reasons, arrived)
