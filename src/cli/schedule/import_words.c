/* SPDX-License-Identifier: MIT */
/*
 * A statement is copied once, into the buffer `text`, where each field ends
 * with a 0.  A statement that is too long is an error, and takes no more
 * memory.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cli/schedule/import_words.h"

void
words_begin(struct words *w, const char *text, size_t bytes)
{
	w->at = text;
	w->end = text + bytes;
	w->line = w->first = 1;
	w->fields = 0;
	w->wrong = NULL;
}

static int
wrong(struct words *w, unsigned line, const char *why)
{
	w->first = line;
	w->wrong = why;
	return -EINVAL;
}

/* Returns the next character outside of comments; -1: the end. */
static int
next(struct words *w)
{
	if (w->at < w->end && *w->at == '*')
		while (w->at < w->end && *w->at != '\n')
			w->at++;
	if (w->at == w->end)
		return -1;
	if (*w->at == '\n')
		w->line++;
	return (unsigned char)*w->at++;
}

/*
 * Copies a string up to its closing quote behind text[*n]; -EINVAL if there is
 * none.
 */
static int
string_copy(struct words *w, size_t *n)
{
	unsigned line = w->line;

	while (w->at < w->end && *w->at != '\n' && *w->at != '"') {
		if (*w->at == '\\' && w->at + 1 < w->end && w->at[1] == '"')
			w->at++;
		if (*n == WORDS_STATEMENT - 2)
			return wrong(w, line, "this string is too long");
		w->text[(*n)++] = *w->at++;
	}
	if (w->at == w->end || *w->at == '\n')
		return wrong(w, line, "the string is not ended by '\"'");
	w->at++;
	return 0;
}

static char *
trimmed(char *from, char *to)
{
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	*to = '\0';
	return from;
}

/* Takes text[from..n] as the head, or as the next field. */
static void
part_end(struct words *w, size_t from, size_t n)
{
	char *part = trimmed(w->text + from, w->text + n);

	if (!w->head)
		w->head = part;
	else if (w->fields < WORDS_FIELDS)
		w->field[w->fields++] = part;
}

/*
 * Tells whether a blank is at the beginning of a part, or follows another one.
 */
static bool
is_idle(const struct words *w, size_t from, size_t n, int c)
{
	return isspace(c) &&
	       (n == from || isspace((unsigned char)w->text[n - 1]));
}

static int
statement_copy(struct words *w)
{
	size_t n = 0, from = 0;
	int c, err;

	while ((c = next(w)) != ';') {
		if (c < 0)
			return wrong(w, w->first, "this is not ended by ';'");
		if (n == WORDS_STATEMENT - 2)
			return wrong(w, w->first,
				     "this is too long without a ';'");
		if (is_idle(w, from, n, c))
			continue;
		if (c == '"' && w->head && n == from) {
			err = string_copy(w, &n);
			if (err)
				return err;
		} else if ((c == '=' && !w->head) || (c == ':' && w->head)) {
			part_end(w, from, n);
			from = ++n;
		} else {
			w->text[n++] = isspace(c) ? ' ' : (char)c;
		}
	}
	part_end(w, from, n);
	return 0;
}

/* Skips literal text up to "end_literal"; it may contain anything. */
static int
literal_skip(struct words *w)
{
	static const char end[] = "end_literal";
	const char *found =
	    memmem(w->at, (size_t)(w->end - w->at), end, sizeof end - 1);

	if (!found)
		return wrong(w, w->first,
			     "this text is not ended by end_literal");
	for (; w->at < found; w->at++)
		w->line += *w->at == '\n';
	return 0;
}

/* Skips blanks and comments; 0: the end. */
static int
first_find(struct words *w)
{
	while (w->at < w->end) {
		if (*w->at != '*' && !isspace((unsigned char)*w->at))
			return 1;
		next(w);
	}
	return 0;
}

int
words_next(struct words *w)
{
	int err;

	if (!first_find(w))
		return 0;
	w->head = NULL;
	w->fields = 0;
	w->first = w->line;
	err = statement_copy(w);
	if (err)
		return err;
	if (strncasecmp(w->head, "start_literal", 13) == 0)
		err = literal_skip(w);
	return err ? err : 1;
}
