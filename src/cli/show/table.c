/* SPDX-License-Identifier: MIT */
/*
 * Cells are kept as text until the table is printed, because a column's width
 * depends on all of them.  Two blanks stand between columns; a line has none at
 * its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "cli/show/table.h"

enum { BETWEEN = 2 };

struct table {
	const struct table_column *column;
	unsigned columns;
	char **cell; /* row by row */
	size_t n, room;
	bool broken; /* no memory for a cell */
};

struct table *
table_open(const struct table_column *columns, unsigned n)
{
	struct table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->column = columns;
	t->columns = n;
	return t;
}

void
table_close(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}

static bool
has_room(struct table *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	char **grown;

	if (t->n < t->room)
		return true;
	grown = realloc(t->cell, room * sizeof *grown);
	if (!grown)
		return false;
	t->cell = grown;
	t->room = room;
	return true;
}

void
table_cell(struct table *t, const char *format, ...)
{
	va_list args;
	char *text;

	if (!t)
		return;
	va_start(args, format);
	if (!has_room(t) || vasprintf(&text, format, args) < 0)
		t->broken = true;
	else
		t->cell[t->n++] = text_clean(text);
	va_end(args);
}

/* Returns how many characters a text of UTF-8 has: its bytes that begin one. */
static int
characters(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static int
width_of(const struct table *t, unsigned column)
{
	const char *title = t->column[column].title;
	int width = title ? characters(title) : 0;

	for (size_t i = column; i < t->n; i += t->columns)
		if (characters(t->cell[i]) > width)
			width = characters(t->cell[i]);
	return width;
}

/*
 * Prints a row.  The gap before a cell is printed only when a cell follows it.
 */
static void
put_row(const struct table *t, const int *width, const char *const *text,
	FILE *to)
{
	int gap = 0;

	for (unsigned i = 0; i < t->columns; i++) {
		int length = characters(text[i]);
		int spare = width[i] - length;

		if (t->column[i].right)
			gap += spare;
		if (length)
			fprintf(to, "%*s%s", gap, "", text[i]);
		gap = (length ? 0 : gap) + BETWEEN;
		if (!t->column[i].right)
			gap += spare;
	}
	putc('\n', to);
}

static void
put_titles(const struct table *t, const int *width, const char **text, FILE *to)
{
	for (unsigned i = 0; i < t->columns; i++)
		text[i] = t->column[i].title;
	put_row(t, width, text, to);
}

int
table_print(const struct table *t, unsigned indent, FILE *to)
{
	int *width = t ? calloc(t->columns, sizeof *width) : NULL;
	const char **text = t ? calloc(t->columns, sizeof *text) : NULL;
	int err = width && text && !t->broken ? 0 : -ENOMEM;

	if (!width || !text)
		goto out;
	for (unsigned i = 0; i < t->columns; i++)
		width[i] = width_of(t, i);
	if (t->column[0].title) {
		fprintf(to, "%*s", (int)indent, "");
		put_titles(t, width, text, to);
	}
	for (size_t i = 0; i + t->columns <= t->n; i += t->columns) {
		for (unsigned j = 0; j < t->columns; j++)
			text[j] = t->cell[i + j];
		fprintf(to, "%*s", (int)indent, "");
		put_row(t, width, text, to);
	}
out:
	free(text);
	free(width);
	return err;
}

/* ---- objects --------------------------------------------------------- */

static const char *
list_show(char text[TABLE_CELL], const json_t *list)
{
	const json_t *one;
	size_t at = 0, i;

	*text = 0;
	json_array_foreach(list, i, one) {
		if (at < TABLE_CELL - 1 && json_is_string(one))
			at += (size_t)snprintf(text + at, TABLE_CELL - at,
					       "%s%.64s", at ? "," : "",
					       json_string_value(one));
	}
	return text;
}

static const char *
seconds_show(char text[TABLE_CELL], double s)
{
	return units_show_span(text, s < 9e9 ? (int64_t)(s * 1e9) : INT64_MAX);
}

/* Writes a value with its unit; an unknown one is empty. */
static const char *
value_show(char text[TABLE_CELL], const struct key *key, const json_t *value)
{
	double real = json_number_value(value);
	json_int_t n = json_integer_value(value);
	const char *word = json_string_value(value);
	char unit[UNITS_TEXT];
	int64_t ns;

	*text = 0;
	if (!value || json_is_null(value))
		return text;
	switch (key->kind) {
	case KEY_TEXT:
	case KEY_DECIMAL:
		snprintf(text, TABLE_CELL, "%.330s", word ? word : "");
		return text;
	case KEY_COUNT:
	case KEY_INTEGER:
		snprintf(text, TABLE_CELL, "%" JSON_INTEGER_FORMAT, n);
		return text;
	case KEY_REAL: snprintf(text, TABLE_CELL, "%g", real); return text;
	case KEY_BYTES: return units_show_bytes(text, (uint64_t)n);
	case KEY_BITS_S: return units_show_rate(text, real);
	case KEY_BYTES_S:
		units_show_bytes(unit, (uint64_t)real);
		snprintf(text, TABLE_CELL, "%s/s", unit);
		return text;
	case KEY_SECONDS: return seconds_show(text, real);
	case KEY_MS: return seconds_show(text, real / 1e3);
	case KEY_TIME:
		return word && !units_time(word, 0, &ns)
			   ? units_show_time(text, ns)
			   : "";
	case KEY_BOOL: return json_is_true(value) ? key->name : "";
	case KEY_JSON: return list_show(text, value);
	}
	return text;
}

static const char *
cell_show(char text[TABLE_CELL], const struct table_keys *t,
	  const struct key *key, const json_t *object)
{
	const char *cell = t->cell ? t->cell(text, key, object) : NULL;

	return cell ? cell
		    : value_show(text, key, json_object_get(object, key->name));
}

static bool
is_column(const struct table_keys *t, const struct key *key,
	  const json_t *objects)
{
	char text[TABLE_CELL];
	const json_t *object;
	size_t i;

	if (!(key->groups & t->groups) || !t->sparse)
		return key->groups & t->groups;
	json_array_foreach(objects, i, object)
		if (*cell_show(text, t, key, object))
			return true;
	return false;
}

/* Texts and lists begin at the left, and all that is counted ends at the right. */
static bool
is_right(const struct key *key)
{
	bool right = key->kind != KEY_TEXT && key->kind != KEY_TIME &&
		     key->kind != KEY_BOOL && key->kind != KEY_JSON;

	return key->groups & KEY_OTHER_SIDE ? !right : right;
}

void
table_objects(const struct table_keys *t, const json_t *objects,
	      unsigned indent)
{
	enum { MOST = 32 };
	struct table_column column[MOST];
	const struct key *used[MOST];
	struct table *table;
	const json_t *object;
	char text[TABLE_CELL];
	unsigned n = 0;
	size_t i;

	for (const struct key *key = t->keys; key->name && n < MOST; key++) {
		if (!is_column(t, key, objects))
			continue;
		column[n] = (struct table_column){ key->title, is_right(key) };
		used[n++] = key;
	}
	table = table_open(column, n);
	json_array_foreach(objects, i, object) {
		for (unsigned k = 0; k < n; k++)
			table_cell(table, "%s",
				   cell_show(text, t, used[k], object));
	}
	if (n)
		table_print(table, indent, stdout);
	table_close(table);
}
