/* SPDX-License-Identifier: MIT */
/*
 * There are about as many ranges as connections: each connection extends its
 * own range at the end, until the range meets the next one.
 */
#include "told.h"

#include <stdbool.h>
#include <string.h>

static bool
is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

void
told_clear(struct told *t, uint64_t low)
{
	t->low = low;
	t->n = 0;
}

static unsigned
at_most(uint64_t n, unsigned most)
{
	return n < most ? (unsigned)n : most;
}

/* Returns the index of the first range that ends behind `at`. */
static unsigned
range_find(const struct told *t, uint64_t at)
{
	unsigned i = t->n;

	while (i && is_before(at, t->range[i - 1].to))
		i--;
	return i;
}

unsigned
told_already(const struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	if (is_before(at, t->low))
		return at_most(t->low - at, n);
	if (i < t->n && !is_before(at, t->range[i].from))
		return at_most(t->range[i].to - at, n);
	return 0;
}

unsigned
told_not_yet(const struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	return i < t->n ? at_most(t->range[i].from - at, n) : n;
}

static void
range_remove(struct told *t, unsigned i)
{
	t->n--;
	memmove(&t->range[i], &t->range[i + 1],
		(t->n - i) * sizeof t->range[0]);
}

static void
range_insert(struct told *t, unsigned i, struct told_range r)
{
	if (t->n == TOLD_RANGES) {
		range_remove(t, 0);
		i -= i > 0;
	}
	memmove(&t->range[i + 1], &t->range[i],
		(t->n - i) * sizeof t->range[0]);
	t->range[i] = r;
	t->n++;
}

void
told_add(struct told *t, uint64_t at, unsigned n)
{
	unsigned i = range_find(t, at);

	if (i && t->range[i - 1].to == at)
		t->range[--i].to = at + n;
	else
		range_insert(t, i, (struct told_range){ at, at + n });
	if (i >= t->n)
		i = t->n - 1;
	if (i + 1 < t->n && t->range[i].to == t->range[i + 1].from) {
		t->range[i].to = t->range[i + 1].to;
		range_remove(t, i + 1);
	}
}

void
told_rise(struct told *t, uint64_t low)
{
	if (!is_before(t->low, low))
		return;
	t->low = low;
	while (t->n && !is_before(low, t->range[0].to))
		range_remove(t, 0);
	if (t->n && is_before(t->range[0].from, low))
		t->range[0].from = low;
}
