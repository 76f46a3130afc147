/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/schedule/schedule.h"
#include "lib/suite.h"

static struct cli cli;

enum what { STATE, CHECK, NEXT, SUM };

static const char *
shown(enum what what, const char *text)
{
	static char out[8192];
	json_t *json = json_loads(text, 0, NULL);
	FILE *to = tmpfile();
	size_t n;

	ck_assert_ptr_nonnull(json);
	ck_assert_ptr_nonnull(to);
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(to), STDOUT_FILENO), 0);
	switch (what) {
	case STATE: schedule_show(&cli, json, SCHEDULE_STATE); break;
	case CHECK: schedule_show(&cli, json, SCHEDULE_CHECK); break;
	case NEXT: schedule_show_next(json); break;
	case SUM: schedule_show_sum(&cli, json); break;
	}
	fflush(stdout);
	rewind(to);
	n = fread(out, 1, sizeof out - 1, to);
	out[n] = '\0';
	fclose(to);
	json_decref(json);
	return out;
}

#define R1                                                                     \
	"{\"id\":7,\"name\":\"r1\",\"streams\":[\"a\",\"b\"],\"start\":"       \
	"\"2026-11-20T10:00:00Z\",\"duration_s\":300,\"priority\":0,"          \
	"\"state\":\"waiting\",\"next_s\":7499.7"

START_TEST(states)
{
	ck_assert_str_eq(
	    shown(STATE,
		  "[" R1 "},{\"id\":12,\"name\":\"r2\",\"streams\":[\"a\"],"
		  "\"start\":\"2026-11-20T10:10:00.250Z\",\"data\":true,"
		  "\"duration_s\":2.5,\"priority\":10,\"state\":\"failed\","
		  "\"next_s\":null,\"recording\":\"r2a\",\"why\":\"no disk\"},"
		  "{\"id\":13,\"name\":\"r3\",\"streams\":[\"a\"],"
		  "\"start\":\"2026-11-20T10:20:00Z\",\"priority\":0,"
		  "\"recording\":\"r3\",\"state\":\"running\",\"next_s\":59}]"),
	    "id  name  start                      length  stream  priority  "
	    "state    next\n"
	    " 7  r1    2026-11-20T10:00:00Z       5m 00s  a,b            0  "
	    "waiting  in 2h 05m\n"
	    "12  r2    @2026-11-20T10:10:00.250Z    2.5s  a             10  "
	    "failed                as r2a; no disk\n"
	    "13  r3    2026-11-20T10:20:00Z               a              0  "
	    "running  ends in 59s\n");
}
END_TEST

/* What nobody has takes no column. */
START_TEST(nothing_known)
{
	ck_assert_str_eq(shown(STATE, "[]"), "");
	ck_assert_str_eq(shown(CHECK, "[{\"name\":\"r1\"}]"), "name\nr1\n");
}
END_TEST

START_TEST(days)
{
	ck_assert_ptr_nonnull(
	    strstr(shown(STATE, "[{\"state\":\"waiting\",\"next_s\":187200}]"),
		   "in 2d 04h"));
	ck_assert_ptr_nonnull(
	    strstr(shown(STATE, "[{\"state\":\"waiting\",\"next_s\":1e300}]"),
		   "in 106751d"));
}
END_TEST

START_TEST(checks)
{
	ck_assert_str_eq(
	    shown(CHECK, "[" R1 ",\"volume\":1073741824,\"memory\":1048576,"
			 "\"free_after\":0,\"verdict\":\"ok\",\"reason\":null}"
			 "," R1 ",\"volume\":null,\"memory\":1048576,"
			 "\"free_after\":null,\"verdict\":\"refused\","
			 "\"reason\":\"memory: no\",\"why\":\"not this\"}]"),
	    "name  start                 length  stream  priority   volume   "
	    "memory  free then  fits\n"
	    "r1    2026-11-20T10:00:00Z  5m 00s  a,b            0  1.0 GiB  "
	    "1.0 MiB        0 B  ok\n"
	    "r1    2026-11-20T10:00:00Z  5m 00s  a,b            0           "
	    "1.0 MiB             refused  memory: no\n");
}
END_TEST

/* What a file says must not clear anybody's screen. */
START_TEST(no_terminal_is_told)
{
	const char *out =
	    shown(STATE, "[{\"name\":\"a\\u001b[2J\",\"streams\":[\"\\u0007\","
			 "3,null],\"state\":\"x\\n\",\"why\":\"\\u009b\\r"
			 "\\u007f\"}]");

	ck_assert_ptr_nonnull(strstr(out, "a [2J"));
	ck_assert_ptr_null(strpbrk(out, "\033\a\r\177"));
	ck_assert_ptr_null(strchr(out, '\x9b'));
}
END_TEST

START_TEST(long_texts)
{
	char *text = malloc(20000);

	memset(text, 'x', 20000);
	memcpy(text, "[{\"streams\":[\"", 14);
	for (unsigned i = 1; i < 100; i++)
		memcpy(text + 14 + i * 100, "\",\"", 3);
	memcpy(text + 15000, "\"],\"why\":\"", 10);
	strcpy(text + 19000, "\"}]");
	ck_assert_uint_lt(strlen(shown(STATE, text)), 4000);
	free(text);
}
END_TEST

START_TEST(next)
{
	ck_assert_str_eq(shown(NEXT, "{\"folder\":\"/f\",\"scans\":[" R1 "}]}"),
			 "1 scan; next is r1 in 2h 05m\n");
	ck_assert_str_eq(
	    shown(NEXT, "{\"folder\":\"/f\",\"scans\":[" R1 "},"
			"{\"name\":\"now\",\"state\":\"running\",\"next_s\":1},"
			"{\"name\":\"soon\",\"state\":\"armed\",\"next_s\":5}"
			"]}"),
	    "3 scans; next is soon in 5s\n");
	ck_assert_str_eq(shown(NEXT, "{\"folder\":null,\"scans\":[]}"),
			 "0 scans; `schedule` of spate.conf names no folder\n");
}
END_TEST

#define SUM_TEXT                                                               \
	"{\"volume\":2147483648,\"unknown\":2,\"refused\":1,\"full_at\":"      \
	"\"2026-11-20T10:00:00Z\",\"memory\":{\"bytes\":1048576,\"peak\":1024" \
	",\"peak_at\":null},\"rate\":{\"speed\":1e9,\"peak\":1000000,"         \
	"\"peak_at\":\"2026-11-20T10:00:00Z\"},\"disks\":{\"free\":4096},"     \
	"\"scans\":[]}"

START_TEST(sum)
{
	const char *out = shown(SUM, SUM_TEXT);

	ck_assert_str_eq(out, "disks   2.0 GiB to come, 4.0 KiB free; full at "
			      "2026-11-20T10:00:00.000Z\n"
			      "memory  at most 1.0 KiB of 1.0 MiB\n"
			      "rate    at most 1.00 Mb/s of 1.00 Gb/s that the "
			      "disks take, at 2026-11-20T10:00:00.000Z\n"
			      "2 scan(s) of streams without a `rate`: what "
			      "these will make is not counted\n");
}
END_TEST

START_TEST(json)
{
	cli.json = true;
	ck_assert_str_eq(shown(CHECK, "[{\"name\":\"r1\"},{\"name\":\"r2\"}]"),
			 "{\"name\":\"r1\"}\n{\"name\":\"r2\"}\n");
	ck_assert_ptr_null(strstr(shown(SUM, SUM_TEXT), "scans"));
	cli.json = false;
	cli.quiet = true;
	ck_assert_str_eq(shown(SUM, SUM_TEXT), "");
}
END_TEST

SUITE("schedule_show", states, nothing_known, days, checks, no_terminal_is_told,
      long_texts, next, sum, json)
