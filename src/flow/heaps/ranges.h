/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_RANGES_H
#define SPATE_FLOW_HEAPS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/notes.h"

/*
 * Ranges are the bytes of a heap that have come: sorted, apart, and at most
 * `most` of them.  They lie in the notes of the heap's block.
 *
 * A heap that stays incomplete is stored as a packet for each of its ranges.
 * So that it fits where it lies, what lies between them has to hold the
 * headers of all but the first, `header` bytes each, or there has to be room
 * beside.
 */
struct ranges {
	struct range *at;
	uint32_t n, most;
	uint32_t last;	 /* the one that grew last */
	uint32_t header; /* bytes */
	uint32_t beside; /* bytes of those that are kept elsewhere */
	uint64_t length; /* of the heap; 0: not known */
	uint64_t bytes;	 /* in all of them */
};

enum ranges_answer {
	RANGES_NEW,
	RANGES_DUPLICATE, /* some of it was there; nothing was done */
	RANGES_FULL,	  /* there would be too many; nothing was done */
};

/* What ranges_add would answer. */
enum ranges_answer ranges_look(const struct ranges *r, uint32_t from,
			       uint32_t to);

enum ranges_answer ranges_insert(struct ranges *r, uint32_t from, uint32_t to);

/* One behind the last byte that came. */
static inline uint64_t
ranges_end(const struct ranges *r)
{
	return r->n ? r->at[r->n - 1].to : 0;
}

/* Takes in bytes from..to, which are some.  In order this is one compare. */
static inline enum ranges_answer
ranges_add(struct ranges *r, uint32_t from, uint32_t to)
{
	if (r->n == 1 && r->at->to == from) {
		r->at->to = to;
		r->bytes += to - from;
		return RANGES_NEW;
	}
	return ranges_insert(r, from, to);
}

/* How many pieces of so many bytes would fill the holes.  Without a known
 * length, those before the last byte. */
uint64_t ranges_missing(const struct ranges *r, uint32_t piece);

#endif
