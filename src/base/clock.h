/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CLOCK_H
#define SPATE_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since 1970, UTC. */
int64_t clock_now(void);

/* Nanoseconds since some start; never steps.  For ages and timeouts. */
int64_t clock_steady(void);

/*
 * For tests: from now on both are read from `source`, which is borrowed; NULL
 * gives the kernel's back.  Not while other threads run.
 */
struct clock_source {
	int64_t (*now)(void *arg);
	int64_t (*steady)(void *arg);
	void *arg;
};

void clock_replace(const struct clock_source *source);

#endif
