/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_OPTION_H
#define SPATE_CONTRACT_OPTION_H

#include <stddef.h>
#include <stdint.h>

/*
 * An option is one key of the configuration: its name, its type, where its
 * value goes, and what a user should know about it.  A table of options ends
 * with an entry whose name is NULL.
 *
 * The core fills a struct according to such a table: every value is checked,
 * and a missing one is read from `fallback`, which is written as in the file.
 * Texts and lists belong to the configuration and live as long as it does.
 */
enum option_type {
	OPTION_FLAG,   /* true, false               bool */
	OPTION_COUNT,  /* 42                        uint32_t */
	OPTION_BYTES,  /* "64M", 4096               uint64_t, bytes */
	OPTION_RATE,   /* "8Gbps"                   uint64_t, bits per second */
	OPTION_SPAN,   /* "10s", "250ms", "5m"      int64_t, nanoseconds */
	OPTION_SHARE,  /* 0.01                      double, 0 to 1 */
	OPTION_TEXT,   /* "udp"                     const char * */
	OPTION_CHOICE, /* one word of `choices`     const char * */
	OPTION_TEXTS,  /* [ "a", "b" ]              struct option_texts */
	OPTION_COUNTS, /* [ 0, 1 ]                  struct option_counts */
};

struct option_texts {
	const char *const *text;
	unsigned n;
};

struct option_counts {
	const uint32_t *count;
	unsigned n;
};

struct option_key {
	const char *name;
	enum option_type type;
	size_t offset;	      /* bytes from the start of the filled struct to
			       * the value */
	const char *fallback; /* default; NULL: zero, NULL or an empty list */
	const char *choices;  /* OPTION_CHOICE: "one|two|three" */
	uint64_t min, max;    /* bounds of a number; both 0: unbounded */
	const char *help;     /* one line, no full stop */
};

#endif
