/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_FRAME_RING_H
#define SPATE_FLOW_MEMORY_FRAME_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/format.h"

/*
 * A frame ring brings copies of some frames from a receiver to a thread that
 * looks at their samples.  The receiver never waits: it copies a frame into a
 * free place, or counts that there was none.
 *
 *   receiver: frame_ring_wants() -> frame_ring_put()     one producer
 *                                        |  head
 *                                 [ places of a frame each ]
 *                                        |  tail
 *   consumer: frame_ring_get() -> frame_ring_drop()      one consumer
 *
 * Frames are chosen by their number within a second, so that all threads of a
 * stream are seen at the same times.  The consumer says how many.
 */
struct frame_place {
	uint32_t sub; /* substream, or part of a split stream */
	uint32_t fps; /* frames per second of one thread; 0: not known yet */
	const uint8_t *data;
};

struct frame_ring {
	uint32_t frame_bytes, mask; /* mask: places - 1 */
	uint8_t *data;
	struct frame_place *place;

	/* Written by the consumer, relaxed: any mixture of old and new is a
	 * choice of frames, too. */
	_Atomic uint64_t multiple; /* see frame_ring_wants */
	_Atomic uint32_t seconds;

	/* Written by the producer; the release of `head` pairs with the
	 * consumer's acquire, and shows it a whole frame. */
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint64_t missed; /* relaxed: frames that found no place */

	/* Written by the consumer; its release pairs with the producer's
	 * acquire: the place is no longer read. */
	_Alignas(64) _Atomic uint64_t tail;
};

/* Makes a ring with at least so many places for frames of that size; all of its
 * memory is touched.  Returns 0 or -ENOMEM. */
int frame_ring_make(struct frame_ring **ring, uint32_t frame_bytes,
		    unsigned places);
void frame_ring_free(struct frame_ring *r); /* NULL is allowed */

/* ---- the producer ------------------------------------------------------ */

/* True if a frame that begins with this packet shall be copied. */
static inline bool
frame_ring_wants(const struct frame_ring *r, const struct format_packet *p)
{
	/*
	 * A number n of 32 bits is a multiple of d if n * c < c modulo 2^64,
	 * where c is 2^64 / d rounded up: no division for each packet.
	 */
	uint64_t c = atomic_load_explicit(&r->multiple, memory_order_relaxed);
	uint32_t seconds;

	if (~p->has & (FORMAT_TIME | FORMAT_READABLE) || p->frame * c > c - 1)
		return false;
	seconds = atomic_load_explicit(&r->seconds, memory_order_relaxed);
	return seconds == 1 || (uint64_t)p->second % seconds == 0;
}

/* Copies a whole frame; false, and counted: there is no place. */
bool frame_ring_put(struct frame_ring *r, uint32_t sub, uint32_t fps,
		    const void *frame);

/* ---- the consumer ------------------------------------------------------ */

/* Returns the oldest frame, which stays until frame_ring_drop(); NULL: none. */
const struct frame_place *frame_ring_get(const struct frame_ring *r);
void frame_ring_drop(struct frame_ring *r);

/* Chooses frames whose number is a multiple of `every`, in seconds that are one
 * of `seconds`; both at least 1. */
void frame_ring_choose(struct frame_ring *r, uint32_t every, uint32_t seconds);

/* Returns how many frames found no place; any thread. */
uint64_t frame_ring_missed(const struct frame_ring *r);

#endif
