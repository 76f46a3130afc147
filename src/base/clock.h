/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_CLOCK_H
#define SPATE_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since 1970, UTC. */
int64_t clock_now(void);

/* Nanoseconds since some start; never steps.  For ages and timeouts. */
int64_t clock_steady(void);

#endif
