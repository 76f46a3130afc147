/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/show/table.h"
#include "lib/suite.h"

static const struct table_column columns[] = {
	{ "name", false },
	{ "size", true },
	{ "note", false },
};

/* What a table prints. */
static char *
printed(const struct table *t, unsigned indent)
{
	size_t bytes;
	char *text;
	FILE *to = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(to);
	ck_assert_int_eq(table_print(t, indent, to), 0);
	ck_assert_int_eq(fclose(to), 0);
	return text;
}

static void
check(struct table *t, unsigned indent, const char *want)
{
	char *text = printed(t, indent);

	ck_assert_str_eq(text, want);
	free(text);
	table_close(t);
}

START_TEST(lines_up)
{
	struct table *t = table_open(columns, 3);

	table_cell(t, "%s", "a");
	table_cell(t, "%d", 1);
	table_cell(t, "%s", "x");
	table_cell(t, "%s", "longer");
	table_cell(t, "%d", 12345);
	table_cell(t, "%s", "y");
	check(t, 0,
	      "name     size  note\n"
	      "a           1  x\n"
	      "longer  12345  y\n");
}
END_TEST

/* A column is as wide as it looks, not as many bytes as it has. */
START_TEST(other_letters)
{
	struct table *t = table_open(columns, 3);

	table_cell(t, "%s", "Wettzell");
	table_cell(t, "%d", 1);
	table_cell(t, "%s", "x");
	table_cell(t, "%s", "Torún");
	table_cell(t, "%d", 12345);
	table_cell(t, "%s", "y");
	check(t, 0,
	      "name       size  note\n"
	      "Wettzell      1  x\n"
	      "Torún     12345  y\n");
}
END_TEST

START_TEST(no_blanks_at_the_end)
{
	struct table *t = table_open(columns, 3);

	table_cell(t, "%s", "a");
	table_cell(t, "%d", 1);
	table_cell(t, "%s", "");
	table_cell(t, "%s", "b");
	table_cell(t, "%s", "");
	table_cell(t, "%s", "z");
	table_cell(t, "%s", "c");
	table_cell(t, "%s", "");
	table_cell(t, "%s", "");
	check(t, 0,
	      "name  size  note\n"
	      "a        1\n"
	      "b           z\n"
	      "c\n");
}
END_TEST

START_TEST(no_titles)
{
	static const struct table_column pair[] = { { NULL, false },
						    { NULL, true } };
	struct table *t = table_open(pair, 2);

	table_cell(t, "state");
	table_cell(t, "idle");
	table_cell(t, "n");
	table_cell(t, "7");
	check(t, 2, "  state  idle\n  n         7\n");
}
END_TEST

START_TEST(only_titles)
{
	check(table_open(columns, 3), 1, " name  size  note\n");
}
END_TEST

START_TEST(half_a_row_is_left_out)
{
	struct table *t = table_open(columns, 3);

	table_cell(t, "a");
	table_cell(t, "1");
	check(t, 0, "name  size  note\n");
}
END_TEST

START_TEST(many_rows)
{
	static const struct table_column one[] = { { NULL, false } };
	struct table *t = table_open(one, 1);
	char *text;
	size_t lines = 0;

	for (int i = 0; i < 1000; i++)
		table_cell(t, "%d", i);
	text = printed(t, 0);
	for (char *c = text; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_eq(lines, 1000);
	ck_assert_ptr_nonnull(strstr(text, "\n999\n"));
	free(text);
	table_close(t);
}
END_TEST

START_TEST(no_memory_is_borne)
{
	table_cell(NULL, "%s", "x");
	ck_assert_int_eq(table_print(NULL, 0, stdout), -ENOMEM);
	table_close(NULL);
}
END_TEST

SUITE("table", lines_up, other_letters, no_blanks_at_the_end, no_titles,
      only_titles, half_a_row_is_left_out, many_rows, no_memory_is_borne)
