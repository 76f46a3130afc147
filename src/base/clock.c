/* SPDX-License-Identifier: MIT */
/*
 * Two clocks: civil time, which may be stepped, and steady time, which only
 * goes forward.  Both calls stay in the vDSO (no system call), unless a test
 * has put its own clocks in their place.
 */
#include <time.h>

#include "base/clock.h"

const struct clock_source *clock_replaced;

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
	return clock_replaced ? clock_replaced->now(clock_replaced->arg)
			      : read_clock(CLOCK_REALTIME);
}

int64_t
clock_steady(void)
{
	return clock_replaced ? clock_replaced->steady(clock_replaced->arg)
			      : read_clock(CLOCK_MONOTONIC);
}

/* The difference of two clocks, because a service that may not set the clock may
 * not ask adjtimex(2) either. */
int64_t
clock_tai(void)
{
	int64_t utc = read_clock(CLOCK_REALTIME);

	return (read_clock(CLOCK_TAI) - utc + NS_SECOND / 2) / NS_SECOND;
}
