/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_RECENT_H
#define SPATE_FLOW_HEAPS_RECENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Recent are the heaps that were finished last, so that a piece that comes too
 * late is not taken for a new heap.  Exactly the last RECENT heaps are
 * remembered: each new heap replaces the oldest, so a counter that restarts
 * finds old heaps forgotten by the time it reaches their counts.
 */
enum { RECENT = 256 };

struct recent {
	uint64_t count[RECENT];
	uint32_t sender[RECENT];
	bool complete[RECENT];
	uint64_t most; /* largest count since recent_forget */
	unsigned n, next;
};

enum recent_answer { RECENT_NOT, RECENT_INCOMPLETE, RECENT_COMPLETE };

static inline void
recent_forget(struct recent *r)
{
	r->n = r->next = 0;
	r->most = 0;
}

static inline void
recent_add(struct recent *r, uint64_t count, uint32_t sender, bool complete)
{
	unsigned i = r->next;

	r->count[i] = count;
	r->sender[i] = sender;
	r->complete[i] = complete;
	r->next = (i + 1) % RECENT;
	if (r->n < RECENT)
		r->n++;
	if (count > r->most)
		r->most = count;
}

/* Looks a heap up.  A count above all others, as from a counter that only
 * grows, needs no search. */
static inline enum recent_answer
recent_find(const struct recent *r, uint64_t count, uint32_t sender)
{
	if (count > r->most)
		return RECENT_NOT;
	for (unsigned i = 0; i < r->n; i++) {
		if (r->count[i] == count && r->sender[i] == sender)
			return r->complete[i] ? RECENT_COMPLETE
					      : RECENT_INCOMPLETE;
	}
	return RECENT_NOT;
}

#endif
