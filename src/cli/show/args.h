/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CLI_SHOW_ARGS_H
#define SPATE_CLI_SHOW_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

/*
 * Parses the options of a command line.  A table names the options, their types
 * and their places in a struct; --help is printed from the same table.
 */
enum args_type {
	ARGS_FLAG,  /* bool */
	ARGS_COUNT, /* uint64_t */
	ARGS_BYTES, /* uint64_t */
	ARGS_RATE,  /* uint64_t, bits per second; "max" is 0 */
	ARGS_SPAN,  /* int64_t, nanoseconds, more than 0 */
	ARGS_TIME,  /* int64_t, nanoseconds since 1970 UTC */
	/* struct args_when: a time; with '@' before it, a time of the data */
	ARGS_WHEN,
	ARGS_SHARE, /* double, 0 to 1 */
	ARGS_TEXT,  /* const char * */
	ARGS_TEXTS, /* struct args_texts: may be given more than once */
};

enum { ARGS_MOST = 64, ARGS_REPEATED = 32 };

struct args_texts {
	const char *text[ARGS_REPEATED];
	unsigned n;
};

struct args_when {
	int64_t ns; /* since 1970 UTC; 0: not given */
	bool data;
};

/* A table ends with an option whose name is NULL. */
struct args_option {
	const char *name;
	char letter; /* 0: only the long name */
	enum args_type type;
	size_t offset;
	const char *value; /* name of the value in --help: "TIME" */
	const char *help;  /* one line, no full stop */
};

/*
 * A table and the struct that it fills; a list of sets ends with options NULL.
 */
struct args_set {
	const struct args_option *options;
	void *values;
};

/* whether parsing stops at the first operand */
enum args_mode { ARGS_ALL, ARGS_TO_OPERAND };

/*
 * Fills the structs of all sets.  Options are moved before operands in argv.
 * Returns the index of the first operand, or -EINVAL with a fault "usage".
 * Texts point into argv.
 */
int args_parse(const struct args_set *sets, enum args_mode mode, int argc,
	       char **argv, struct fault *fault);

/* Prints a table as --help shows it. */
void args_help(const struct args_option *options, FILE *to);

/*
 * Returns which of n names a mistyped word was probably meant to be; NULL: none
 * is near enough.
 */
const char *suggest(const char *word, const char *const *names, unsigned n);

#endif
