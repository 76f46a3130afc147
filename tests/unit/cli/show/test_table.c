/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* ---- objects ----------------------------------------------------------- */

#define THING_KEYS(X)                                                          \
	X(TEXT, name, KEY_COLUMN, "", "thing")                                 \
	X(BYTES, size, KEY_COLUMN, "", "size")                                 \
	X(COUNT, n, KEY_COLUMN_MORE, "", "n")                                  \
	X(INTEGER, rank, KEY_COLUMN_MORE, "", "rank")                          \
	X(BITS_S, in, KEY_COLUMN_MORE, "", "in")                               \
	X(BYTES_S, out, KEY_COLUMN_MORE, "", "out")                            \
	X(SECONDS, left_s, KEY_COLUMN_MORE, "", "left")                        \
	X(MS, wait_ms, KEY_COLUMN_MORE, "", "wait")                            \
	X(TIME, start, KEY_COLUMN_MORE, "", "start")                           \
	X(BOOL, safe, KEY_COLUMN_MORE, "")                                     \
	X(JSON, list, KEY_COLUMN_MORE | KEY_OTHER_SIDE, "", "list")            \
	X(TEXT, hidden, 1, "", "hidden")

struct thing {
	THING_KEYS(KEY_MEMBER)
};

#define X(...) KEY_ENTRY(struct thing, __VA_ARGS__)
static const struct key keys[] = { THING_KEYS(X){ .name = NULL } };
#undef X

static const char *
cell(char text[TABLE_CELL], const struct key *key, const json_t *thing)
{
	if (!KEY_IS(key, struct thing, name))
		return NULL;
	snprintf(text, TABLE_CELL, "<%s>",
		 json_string_value(json_object_get(thing, "name")));
	return text;
}

static void
shows(const struct table_keys *t, const char *things, const char *want)
{
	static char out[2048];
	json_t *json = json_loads(things, 0, NULL);
	FILE *to = tmpfile();

	ck_assert_ptr_nonnull(json);
	ck_assert_ptr_nonnull(to);
	fflush(stdout);
	ck_assert_int_ge(dup2(fileno(to), STDOUT_FILENO), 0);
	table_objects(t, json, 1);
	fflush(stdout);
	rewind(to);
	out[fread(out, 1, sizeof out - 1, to)] = '\0';
	fclose(to);
	json_decref(json);
	ck_assert_str_eq(out, want);
}

/* Each value with its unit; what is unknown, or of no such type, is empty. */
START_TEST(units)
{
	const struct table_keys t = { .keys = keys,
				      .groups = KEY_COLUMN | KEY_COLUMN_MORE };

	shows(&t,
	      "[{\"name\":\"a\",\"size\":1024,\"n\":7,\"rank\":-1,\"in\":8e9,"
	      "\"out\":2048.5,\"left_s\":90,\"wait_ms\":2.0,"
	      "\"start\":\"2026-11-23T06:30:00.123456789Z\",\"safe\":true,"
	      "\"list\":[\"x\",3,\"y\"],\"hidden\":\"no\"},"
	      "{\"name\":null,\"size\":null,\"start\":\"soon\",\"list\":3}]",
	      " thing     size  n  rank         in        out    left  wait  "
	      "start                           list\n"
	      " a      1.0 KiB  7    -1  8.00 Gb/s  2.0 KiB/s  1m 30s   2ms  "
	      "2026-11-23T06:30:00.123Z  safe   x,y\n"
	      " \n");
}
END_TEST

START_TEST(cells_of_a_command)
{
	const struct table_keys t = { .keys = keys,
				      .groups = KEY_COLUMN,
				      .cell = cell };

	shows(&t, "[{\"name\":\"a\"}]", " thing  size\n <a>\n");
}
END_TEST

START_TEST(sparse)
{
	const struct table_keys t = { .keys = keys,
				      .groups = KEY_COLUMN | KEY_COLUMN_MORE,
				      .sparse = true };

	shows(&t, "[{\"size\":null,\"n\":0},{\"n\":12}]", "  n\n  0\n 12\n");
	shows(&t, "[{}]", "");
}
END_TEST

SUITE("table", lines_up, other_letters, no_blanks_at_the_end, no_titles,
      only_titles, half_a_row_is_left_out, many_rows, no_memory_is_borne, units,
      cells_of_a_command, sparse)
