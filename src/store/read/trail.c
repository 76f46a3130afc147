/* SPDX-License-Identifier: MIT */
/*
 * The kernel reads ahead of a file in requests of 128 KiB to 1 MiB, which
 * several threads take: they come in no strict order, but close together.  So
 * what counts is not what the last request was, but that all of a while make
 * up most of a stretch, at whose end they are.
 *
 *   low                          high
 *    |[3][1][2]   [4]    [6][5]   |
 *                   |<-- slack -->|<-- slack -->|
 *
 * A second request that goes on makes it a trail; then it is looked ahead
 * eight times as far as was read.  Twice would do for one disk; but a chunk of
 * 64 MiB is on one disk, so that a reader of many has to be far ahead before
 * all of them work.  Who stops after some MiB has cost not much more than
 * that.
 */
#include "store/read/trail.h"

#include <stdbool.h>
#include <stddef.h>

enum { AHEAD = 8, DENSE_3 = 4, ONWARD_1 = 8 };

static uint64_t
apart(const struct trail *t, uint64_t offset)
{
	return offset > t->high ? offset - t->high : t->high - offset;
}

/* Of what was long ago half is forgotten. */
static void
forget(struct trail *t)
{
	t->low += (t->high - t->low) / 2;
	t->got /= 2;
	t->requests /= 2;
	t->onward /= 2;
}

static void
join(struct trail *t, uint64_t offset, uint64_t end)
{
	t->onward += end > t->high;
	t->requests++;
	if (offset < t->low)
		t->low = offset;
	if (end > t->high)
		t->high = end;
	t->got += end - offset;
	if (t->got > t->high - t->low)
		t->got = t->high - t->low; /* what was read again */
	if (t->high - t->low > TRAIL_MEMORY)
		forget(t);
}

unsigned
trails_step(struct trails *t, uint64_t offset, uint64_t bytes)
{
	struct trail *oldest = &t->trail[0], *best = NULL, *to;

	for (unsigned i = 0; i < TRAILS; i++) {
		to = &t->trail[i];
		if (to->used < oldest->used)
			oldest = to;
		if (to->requests && apart(to, offset) <= TRAIL_SLACK &&
		    (!best || apart(to, offset) < apart(best, offset)))
			best = to;
	}
	if (!best) {
		best = oldest;
		*best = (struct trail){ .low = offset, .high = offset };
	}
	join(best, offset, offset + bytes);
	best->used = ++t->turn;
	return (unsigned)(best - t->trail);
}

uint64_t
trail_ahead(const struct trail *t)
{
	bool dense = t->got >= (t->high - t->low) / DENSE_3 * 3;

	if (!dense || t->onward < 2 || t->onward < t->requests / ONWARD_1)
		return 0;
	return t->got * AHEAD;
}
