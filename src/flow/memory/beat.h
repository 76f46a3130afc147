/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BEAT_H
#define SPATE_FLOW_MEMORY_BEAT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * A beat is the last sign of life of a disk: when (clock_steady) something
 * that it was asked for was done.  The disk's thread sets it after each call
 * that might not have come back; whoever watches reads it.  Relaxed: it is
 * only a time, and what is decided by it is decided under the writer's lock.
 *
 * A receiver has one too: of its last pass.
 */
struct beat {
	_Atomic int64_t at;
};

static inline void
beat_at(struct beat *b, int64_t now)
{
	atomic_store_explicit(&b->at, now, memory_order_relaxed);
}

static inline void
beat_now(struct beat *b)
{
	if (b)
		beat_at(b, clock_steady());
}

#endif
