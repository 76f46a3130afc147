/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/show/terminal.h"
#include "lib/suite.h"

#define SECOND INT64_C(1000000000)

static char line[256];

static const char *
shown(const struct progress_bar *p, uint64_t done, int64_t elapsed_ns,
      size_t width)
{
	progress_line(p, done, elapsed_ns, line, width);
	ck_assert_uint_le(strlen(line), width);
	return line;
}

START_TEST(words_and_bar)
{
	const struct progress_bar p = { .what = "t1",
					.total = 100 << 20,
					.bytes = true };

	ck_assert_str_eq(shown(&p, 50 << 20, 5 * SECOND, 60),
			 "t1  [=============>            ]   50 %  10.0 MiB/s  "
			 "6s left");
}
END_TEST

START_TEST(ends)
{
	const struct progress_bar p = { .what = "t1", .total = 10 };

	shown(&p, 0, 0, 40);
	ck_assert_ptr_nonnull(strstr(line, "[>"));
	ck_assert_ptr_nonnull(strstr(line, "  0 %"));
	ck_assert_ptr_null(strstr(line, "left"));
	shown(&p, 10, SECOND, 40);
	ck_assert_ptr_nonnull(strstr(line, "=]"));
	ck_assert_ptr_nonnull(strstr(line, "100 %"));
	ck_assert_ptr_null(strstr(line, "left"));
	/* What grows meanwhile is no more than whole. */
	shown(&p, 11, SECOND, 40);
	ck_assert_ptr_nonnull(strstr(line, "100 %"));
}
END_TEST

START_TEST(nothing_to_do_is_done)
{
	const struct progress_bar p = { .what = "t1", .total = 0 };

	ck_assert_ptr_nonnull(strstr(shown(&p, 0, 0, 60), "100 %"));
}
END_TEST

START_TEST(things_have_no_rate_in_bytes)
{
	const struct progress_bar p = { .what = "t1", .total = 10 };

	ck_assert_ptr_null(strstr(shown(&p, 5, SECOND, 80), "/s"));
	ck_assert_ptr_nonnull(strstr(line, "left"));
}
END_TEST

START_TEST(narrow)
{
	const struct progress_bar p = { .what = "a-rather-long-name",
					.total = 1u << 30,
					.bytes = true };

	for (size_t width = 0; width < sizeof line; width++) {
		shown(&p, 1000, SECOND, width);
		ck_assert_int_eq(strncmp(line, p.what, width < 18 ? width : 18),
				 0);
	}
}
END_TEST

START_TEST(ages_are_not_told)
{
	const struct progress_bar p = { .what = "t1",
					.total = UINT64_MAX,
					.bytes = true };

	ck_assert_ptr_null(strstr(shown(&p, 1, SECOND, 80), "left"));
}
END_TEST

START_TEST(not_a_terminal)
{
	ck_assert_uint_eq(terminal_width(-1), 80);
}
END_TEST

SUITE("progress", words_and_bar, ends, nothing_to_do_is_done,
      things_have_no_rate_in_bytes, narrow, ages_are_not_told, not_a_terminal)
