/* SPDX-License-Identifier: MIT */
/*
 * The distance of two words is the number of letters to insert, remove or
 * exchange; swapping two neighbours counts as one, because that is what fingers
 * do.  A third of the word may be wrong, and one letter always.  A word that a
 * name begins with is near, too: "stat" means "status".
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cli/show/suggest.h"

enum { LONGEST = 32 };

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the optimal string alignment distance, computed row by row. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 1];
	unsigned *last = row[0], *now = row[1], *before = row[2];
	size_t a_n = strlen(a), b_n = strlen(b);

	for (unsigned j = 0; j <= b_n; j++)
		now[j] = j;
	for (unsigned i = 1; i <= a_n; i++) {
		unsigned *spare = before;

		before = last;
		last = now;
		now = spare;
		now[0] = i;
		for (unsigned j = 1; j <= b_n; j++) {
			unsigned differ = a[i - 1] != b[j - 1];

			now[j] = least(last[j - 1] + differ,
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return now[b_n];
}

const char *
suggest(const char *word, const char *const *names, unsigned n)
{
	size_t length = strlen(word);
	unsigned best = length < 6 ? 1 : (unsigned)length / 3;
	const char *near = NULL;

	if (!length || length > LONGEST)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		unsigned far;

		if (strlen(names[i]) > LONGEST)
			continue;
		if (length > 1 && strncmp(names[i], word, length) == 0)
			return names[i];
		far = distance(word, names[i]);
		if (far < best || (far == best && !near)) {
			best = far;
			near = names[i];
		}
	}
	return near;
}
