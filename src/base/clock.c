/* SPDX-License-Identifier: MIT */
/*
 * Two clocks: civil time, which may be stepped, and steady time, which only
 * goes forward.  Both calls stay in the vDSO (no system call), unless a test
 * has put its own clocks in their place.
 */
#include <stddef.h>
#include <time.h>

#include "base/clock.h"

static const struct clock_source *replaced; /* written before threads start */

static int64_t
read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * NS_SECOND + t.tv_nsec;
}

int64_t
clock_now(void)
{
	return replaced ? replaced->now(replaced->arg)
			: read_clock(CLOCK_REALTIME);
}

int64_t
clock_steady(void)
{
	return replaced ? replaced->steady(replaced->arg)
			: read_clock(CLOCK_MONOTONIC);
}

void
clock_replace(const struct clock_source *source)
{
	replaced = source;
}
