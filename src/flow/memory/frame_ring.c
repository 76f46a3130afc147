/* SPDX-License-Identifier: MIT */
#include "flow/memory/frame_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

int
frame_ring_make(struct frame_ring **ring, uint32_t frame_bytes, unsigned places)
{
	struct frame_ring *r = aligned_alloc(LINE, sizeof *r);
	uint32_t n = 1;

	if (!r)
		return -ENOMEM;
	while (n < places)
		n *= 2;
	*r = (struct frame_ring){ .frame_bytes = frame_bytes, .mask = n - 1 };
	r->data = malloc((size_t)n * frame_bytes);
	r->place = calloc(n, sizeof *r->place);
	if (!r->data || !r->place) {
		frame_ring_free(r);
		return -ENOMEM;
	}
	memset(r->data, 0, (size_t)n * frame_bytes);
	for (uint32_t i = 0; i < n; i++)
		r->place[i].data = r->data + (size_t)i * frame_bytes;
	frame_ring_choose(r, 1, 1);
	*ring = r;
	return 0;
}

void
frame_ring_free(struct frame_ring *r)
{
	if (!r)
		return;
	free(r->data);
	free(r->place);
	free(r);
}

bool
frame_ring_put(struct frame_ring *r, uint32_t sub, uint32_t fps,
	       const void *frame)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint32_t at = (uint32_t)head & r->mask;

	if (head - tail > r->mask) {
		atomic_fetch_add_explicit(&r->missed, 1, memory_order_relaxed);
		return false;
	}
	r->place[at].sub = sub;
	r->place[at].fps = fps;
	memcpy(r->data + (size_t)at * r->frame_bytes, frame, r->frame_bytes);
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
	return true;
}

const struct frame_place *
frame_ring_get(const struct frame_ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
		return NULL;
	return &r->place[(uint32_t)tail & r->mask];
}

void
frame_ring_drop(struct frame_ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

void
frame_ring_choose(struct frame_ring *r, uint32_t every, uint32_t seconds)
{
	/* for every = 1 it is 2^64, which is 0: then c - 1 bounds nothing */
	atomic_store_explicit(&r->multiple, UINT64_MAX / every + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&r->seconds, seconds, memory_order_relaxed);
}

uint64_t
frame_ring_missed(const struct frame_ring *r)
{
	return atomic_load_explicit(&r->missed, memory_order_relaxed);
}
