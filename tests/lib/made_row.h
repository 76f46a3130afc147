/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_MADE_ROW_H
#define SPATE_TESTS_MADE_ROW_H

#include "lib/made.h"

/* A chunk of SPEAD heaps, as the daemon stores them. */
struct made_row {
	uint8_t data[1 << 16];
	uint64_t bytes;
	struct index_record record;
};

/* Bytes [from, to) of a heap; its whole, if that is all of it. */
void made_heap(struct made_row *row, uint64_t heap, uint32_t length,
	       uint32_t from, uint32_t to);

void made_row_chunk(struct made *m, unsigned disk, uint64_t number,
		    struct made_row *row);

void made_row_write(struct made *m, unsigned disk, uint64_t number,
		    struct made_row *row);

/* What the daemon notes of a chunk before it writes it. */
void made_note(struct made *m, unsigned disk, const struct index_record *r);

#endif
