/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_BAY_H
#define SPATE_FLOW_HEAPS_BAY_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/notes.h"

/*
 * A bay is an open block of a row, into which heaps are laid one after the
 * other, with the room that their headers will need before them; their notes
 * grow towards them from the end of its memory (store/record/notes.h).
 */
struct heap;

struct bay {
	struct block *b; /* NULL: it is not in use */
	uint64_t front;	 /* behind the last heap */
	uint64_t floor;	 /* where the notes begin */
	uint64_t owed;	 /* bytes by which headers will outgrow their rooms */
	struct heap *endless; /* the last one, where it may still grow */
	unsigned live;	      /* heaps that are not finished */
	bool full;	      /* takes no more heaps */
	bool closing;
	int64_t born, last; /* its first and its last piece; steady */
	uint64_t aimed;	    /* behind all that the kernel was handed of it */
};

/* What a heap needs. */
struct bay_want {
	uint64_t length;
	uint32_t room;	/* of the header */
	uint32_t items; /* of those in it */
	uint32_t ranges;
};

void bay_begin(struct bay *bay, struct block *b);

/* Bytes that a heap may need, all in all, in a block that is empty. */
uint64_t bay_most(const struct block *b);

uint64_t bay_bytes(const struct bay_want *want);

/* Between the heaps and the notes, beyond what is promised. */
static inline uint64_t
bay_free(const struct bay *bay)
{
	uint64_t taken = bay->front + bay->owed + NOTES_PAGE;

	return bay->floor > taken ? bay->floor - taken : 0;
}

static inline bool
bay_fits(const struct bay *bay, const struct bay_want *want)
{
	return bay_bytes(want) <= bay_free(bay);
}

/* Lays a heap, which fits, behind the others. */
struct note *bay_put(struct bay *bay, const struct bay_want *want);

/* Notes down more items than the room is for, which fit (bay_more_bytes). */
void bay_more(struct bay *bay, struct note *note, const uint64_t *item,
	      uint32_t n);
uint64_t bay_more_bytes(uint32_t n);

#endif
