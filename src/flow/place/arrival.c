/* SPDX-License-Identifier: MIT */
/*
 * Both clocks are read in every pass, which takes some 50 ns, so that a step is
 * known before any packet stamped after it is looked at.  UTC is read between
 * two readings of the steady clock, because the thread may be held up in
 * between: the distance of these two is the possible error of the offset, and a
 * change within it is ignored.  Offset changes below STEP are a clock that is
 * slewed, at most 0.5 ms a second.
 *
 * Choice of the offset for a stamp, with D the step, noticed at S:
 *
 *   forward  with the new offset, a stamp from before the step comes out D
 *            too early, and so before S: the old offset is right
 *   back     with the new offset, a stamp from before the step comes out D
 *            too late, mostly in the future: the old offset is right
 *
 * A clock that is set back has two moments of the same name, which nobody can
 * tell apart once both have passed.  Packets that waited in a socket for as
 * long as the step get a wrong time, and so do those that waited while it was
 * set back by less than FUTURE.  A leap second is a step back by one second.
 *
 * A stamp that fits neither offset comes from a step during this very pass.
 */
#include "flow/place/arrival.h"

#include "base/clock.h"

enum {
	LOOKS = 3,	/* attempts to read the clocks without being held up */
	HELD = 5000,	/* ns between the readings that count as held up */
	STEP = 1000000, /* ns of change that count as a step */
	/* Time that one pass, which began at `now`, may go on receiving. */
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

/* True if a packet was stamped before the last step.  `at` and `was` are its
 * steady time by the offsets after and before the step. */
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
