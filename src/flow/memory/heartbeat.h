/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BEAT_H
#define SPATE_FLOW_MEMORY_BEAT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * A beat (heartbeat) is the steady time, in ns, at which a thread last finished
 * a step.  A disk's writer thread sets it after each call that might have hung;
 * writer_disk.c reads it to find disks that hang.  A receiver thread sets its
 * own with each pass.  Relaxed: the value is only a time, and decisions about
 * it are made under the writer's lock.
 */
struct heartbeat {
	_Atomic int64_t at;
};

static inline void
heartbeat_at(struct heartbeat *b, int64_t now)
{
	atomic_store_explicit(&b->at, now, memory_order_relaxed);
}

static inline void
heartbeat_now(struct heartbeat *b)
{
	if (b)
		heartbeat_at(b, clock_steady());
}

#endif
