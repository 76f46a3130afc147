/* SPDX-License-Identifier: MIT */
/*
 * Cells are kept as text until the table is printed, because a column's width
 * depends on all of them.  Two blanks stand between columns; a line has none at
 * its end.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/text.h"
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
