/* SPDX-License-Identifier: MIT */
/*
 * Two clocks: the one that people share, which may be stepped, and one that
 * only ever goes on.  Both calls stay in the vDSO.
 */
#include <time.h>

#include "base/clock.h"

static int64_t
read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
clock_now(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t
clock_steady(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
