/* SPDX-License-Identifier: MIT */
/*
 * The kernel reads ahead of a file in requests of 128 KiB to 1 MiB, on several
 * threads: the requests arrive in no strict order, but close together.  So a
 * single request says little; what counts is that the requests of a while cover
 * most of a stretch, and go on at its end.
 *
 *   low                          high
 *    |[3][1][2]   [4]    [6][5]   |
 *                   |<-- slack -->|<-- slack -->|
 *
 * From the second request that goes on, eight times as much as was read is read
 * ahead.  Twice would do for one disk; but a chunk of 64 MiB lies on one disk,
 * so a reader of many disks has to be far ahead before all of them work.  A
 * program that stops after some MiB has cost little more than that.
 */
#include "store/read/readahead.h"

#include <stdbool.h>
#include <stddef.h>

enum { AHEAD = 8, DENSE_3 = 4, ONWARD_1 = 8 };

static uint64_t
apart(const struct readahead_stretch *t, uint64_t offset)
{
	return offset > t->high ? offset - t->high : t->high - offset;
}

/* Forgets the older half of a long stretch, so that it follows a change of
 * pattern. */
static void
forget(struct readahead_stretch *t)
{
	t->low += (t->high - t->low) / 2;
	t->got /= 2;
	t->requests /= 2;
	t->onward /= 2;
}

static void
join(struct readahead_stretch *t, uint64_t offset, uint64_t end)
{
	t->onward += end > t->high;
	t->requests++;
	if (offset < t->low)
		t->low = offset;
	if (end > t->high)
		t->high = end;
	t->got += end - offset;
	if (t->got > t->high - t->low)
		t->got = t->high - t->low; /* bytes read again do not count */
	if (t->high - t->low > READAHEAD_MEMORY)
		forget(t);
}

unsigned
readahead_step(struct readahead *t, uint64_t offset, uint64_t bytes)
{
	struct readahead_stretch *oldest = &t->stretch[0], *best = NULL, *to;

	for (unsigned i = 0; i < READAHEAD_STRETCHES; i++) {
		to = &t->stretch[i];
		if (to->used < oldest->used)
			oldest = to;
		if (to->requests && apart(to, offset) <= READAHEAD_SLACK &&
		    (!best || apart(to, offset) < apart(best, offset)))
			best = to;
	}
	if (!best) {
		best = oldest;
		*best =
		    (struct readahead_stretch){ .low = offset, .high = offset };
	}
	join(best, offset, offset + bytes);
	best->used = ++t->turn;
	return (unsigned)(best - t->stretch);
}

uint64_t
readahead_bytes(const struct readahead_stretch *t)
{
	bool dense = t->got >= (t->high - t->low) / DENSE_3 * 3;

	if (!dense || t->onward < 2 || t->onward < t->requests / ONWARD_1)
		return 0;
	return t->got * AHEAD;
}
