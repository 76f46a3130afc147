/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CLOCK_H
#define SPATE_BASE_CLOCK_H

#include <stdint.h>

#include "contract/log.h" /* NS_SECOND */

/* Returns nanoseconds since 1970, UTC (CLOCK_REALTIME); it may be stepped. */
int64_t clock_now(void);

/*
 * Returns nanoseconds since an arbitrary start (CLOCK_MONOTONIC); it never
 * steps back.  For ages and timeouts.
 */
int64_t clock_steady(void);

/* Returns the seconds by which the kernel has TAI ahead of UTC; 0: nobody told
 * it.  It changes by one when the kernel takes a leap second. */
int64_t clock_tai(void);

/*
 * For tests: clock_now and clock_steady read from `clock_replaced` if it is set.  Written
 * while no other thread runs.
 */
struct clock_source {
	int64_t (*now)(void *arg);
	int64_t (*steady)(void *arg);
	void *arg;
};

extern const struct clock_source *clock_replaced;

#endif
