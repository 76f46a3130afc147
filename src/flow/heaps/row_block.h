/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_ROW_BLOCK_H
#define SPATE_FLOW_HEAPS_ROW_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/notes.h"

/*
 * A row block is an open block of a row.  Heaps are laid into it one after the
 * other, each with room before it for the header it will need; their notes grow
 * towards them from the end of the block's memory (store/record/notes.h).
 */
struct heap;

struct row_block {
	struct block *b; /* NULL: not in use */
	uint64_t front;	 /* offset behind the last heap */
	uint64_t floor;	 /* offset where the notes begin */
	uint64_t owed;	 /* bytes by which headers will outgrow their rooms */
	struct heap *endless; /* the last heap, if its length is unknown and it
				 may still grow */
	unsigned live;	      /* heaps that are not finished */
	bool full;	      /* takes no more heaps */
	bool closing;
	int64_t born;	/* steady ns, arrival of its first piece */
	uint64_t aimed; /* end of the memory that the kernel was given */
};

/* Memory that a heap needs. */
struct row_block_want {
	uint64_t length;
	uint32_t room;	/* bytes for the header */
	uint32_t items; /* item pointers that this header has room for */
	uint32_t ranges;
};

/* Makes a row block of an OPEN block. */
void row_block_begin(struct row_block *row, struct block *b);

/* Bytes that one heap can have in an empty block, with header and notes. */
uint64_t row_block_most(const struct block *b);

uint64_t row_block_bytes(const struct row_block_want *want);

/* Free bytes between heaps and notes, less the bytes owed. */
static inline uint64_t
row_block_free(const struct row_block *row)
{
	uint64_t taken = row->front + row->owed + NOTES_PAGE;

	return row->floor > taken ? row->floor - taken : 0;
}

static inline bool
row_block_fits(const struct row_block *row, const struct row_block_want *want)
{
	return row_block_bytes(want) <= row_block_free(row);
}

/* Lays a heap behind the others.  The caller has checked that it fits. */
struct note *row_block_put(struct row_block *row,
			   const struct row_block_want *want);

/* Notes down items that exceed the heap's room; they take
 * row_block_more_bytes(n), which the caller has checked. */
void row_block_more(struct row_block *row, struct note *note,
		    const uint64_t *item, uint32_t n);
uint64_t row_block_more_bytes(uint32_t n);

#endif
