/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SCHEDULE_IMPORT_WORDS_H
#define SPATE_CLI_SCHEDULE_IMPORT_WORDS_H

#include <stddef.h>

/*
 * Reads the statements of a VEX file, one after the other:
 *
 *   $SCHED;   def Ef;   start=2013y080d05h00m00s;   station=Ap: 0 sec: 1 min;
 *
 * A statement is a head and, behind '=', fields between ':'.  Comments, from
 * '*' to the end of the line, and literal text are skipped.  A field that
 * begins with '"' is a string, in which these characters have no meaning.  A
 * '"' further on does not begin a string: a declination has seconds of arc.
 */
enum { WORDS_FIELDS = 16, WORDS_STATEMENT = 1 << 16 };

struct words {
	const char *at, *end; /* text still to be read */
	unsigned line;
	/* The statement; its parts have no blanks around them. */
	char *head, *field[WORDS_FIELDS];
	unsigned fields;   /* fields kept */
	unsigned first;	   /* first line of the statement */
	const char *wrong; /* why there is no statement */
	char text[WORDS_STATEMENT];
};

/* Begins with a text, which must outlive `w`. */
void words_begin(struct words *w, const char *text, size_t bytes);
/*
 * Reads a statement.  Returns 1; 0 at the end; -EINVAL with `wrong` and
 * `first`.
 */
int words_next(struct words *w);

#endif
