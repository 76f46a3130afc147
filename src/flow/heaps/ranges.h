/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_RANGES_H
#define SPATE_FLOW_HEAPS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/notes.h"

/*
 * Ranges are the bytes of a heap that came: sorted, apart from each other, at
 * most `most`.  They lie in the notes of the heap's block.
 *
 * An incomplete heap is stored as one packet per range.  So that these fit, the
 * holes must hold the headers of all ranges but the first, `header` bytes each,
 * or there must be room beside the heap.
 */
struct ranges {
	struct range *at;
	uint32_t n, most;
	uint32_t last;	 /* index of the range that grew last */
	uint32_t header; /* bytes of one header */
	/* Header bytes for which there is room beside the heap. */
	uint32_t beside;
	uint64_t length; /* bytes of the heap; 0: not known */
	uint64_t bytes;	 /* sum over all ranges */
};

enum ranges_answer {
	RANGES_NEW,
	RANGES_DUPLICATE, /* some of the bytes came before; nothing changed */
	RANGES_FULL,	  /* there would be too many ranges; nothing changed */
};

/* ranges_look and ranges_add for bytes that are not in order. */
enum ranges_answer ranges_seek(const struct ranges *r, uint32_t from,
			       uint32_t to);
enum ranges_answer ranges_insert(struct ranges *r, uint32_t from, uint32_t to);

/* Returns one more than the last byte that came. */
static inline uint64_t
ranges_end(const struct ranges *r)
{
	return r->n ? r->at[r->n - 1].to : 0;
}

/* Returns what ranges_add would, and changes nothing. */
static inline enum ranges_answer
ranges_look(const struct ranges *r, uint32_t from, uint32_t to)
{
	if (r->n == 1 && r->at->to == from)
		return RANGES_NEW;
	return ranges_seek(r, from, to);
}

/* Adds bytes from .. to, at least one.  In order, this is one comparison. */
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

/* Number of pieces of `piece` bytes that would fill the holes (0: one per
 * hole).  If the length is not known, only holes before the last byte count. */
uint64_t ranges_missing(const struct ranges *r, uint32_t piece);

#endif
