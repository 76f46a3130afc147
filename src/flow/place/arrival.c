/* SPDX-License-Identifier: MIT */
/*
 * Both clocks are read with every pass, some 50 ns, so that a step is known
 * before anything that was stamped after it is looked at.  UTC is read between
 * two readings of the steady clock, because a thread may be held up in
 * between: how far these two are apart is how wrong the offset may be, and
 * nothing within that is news.  Offsets that move on by less than STEP are a
 * clock that is slewed, at most 0.5 ms a second.
 *
 * Which offset a stamp is turned with.  With D the step, noticed at S:
 *
 *   forward  turned with the new offset, what came before the step is D too
 *            early, and so before S, where the old one was right
 *   back     turned with the new offset, what came before the step is D too
 *            late, mostly in the future, and right with the old one
 *
 * A clock that goes back has two moments of the same name, which nobody can
 * tell apart once both have passed; packets that waited in a socket for as
 * long as the step are turned wrong, and those that waited when it was stepped
 * back by less than FUTURE.  A leap second is a step back by one.
 *
 * A stamp that fits neither is of a step during this very pass.
 */
#include "flow/place/arrival.h"

#include "base/clock.h"

enum {
	LOOKS = 3,	/* until one was not held up */
	HELD = 5000,	/* ns */
	STEP = 1000000, /* ns */
	/* That a pass, which began at `now`, may go on receiving. */
	FUTURE = 500000000, /* ns */
};

void
arrival_set(struct arrival *a, int64_t utc, int64_t steady, int64_t within)
{
	int64_t offset = utc - (steady + within / 2);
	int64_t by = offset - a->offset;

	if (a->known && by >= -within && by <= within && within > HELD)
		return;
	if (a->known && (by < -STEP - within || by > STEP + within)) {
		a->before = a->offset;
		a->stepped = steady;
	}
	a->offset = offset;
	a->known = true;
}

int64_t
arrival_look(struct arrival *a)
{
	int64_t from, utc, to;
	unsigned looks = 0;

	do {
		from = clock_steady();
		utc = clock_now();
		to = clock_steady();
	} while (to - from > HELD && ++looks < LOOKS);
	arrival_set(a, utc, from, to - from);
	return to;
}

static bool
is_possible(int64_t at, int64_t now)
{
	return at <= now + FUTURE && at >= now - ARRIVAL_OLD;
}

/* Was it stamped before the last step?  `at` and `was`: when, turned with the
 * offsets of after and before it. */
static bool
is_before_step(const struct arrival *a, int64_t at, int64_t was, int64_t now)
{
	if (!a->stepped || was > a->stepped || !is_possible(was, now))
		return false;
	if (!is_possible(at, now))
		return true;
	return a->offset > a->before && at < a->stepped;
}

int64_t
arrival_time(const struct arrival *a, int64_t stamp, int64_t now)
{
	int64_t at = stamp - a->offset, was = stamp - a->before;

	if (!stamp)
		return now;
	if (is_before_step(a, at, was, now))
		at = was;
	else if (!is_possible(at, now))
		return now;
	return at;
}
