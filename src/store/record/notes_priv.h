/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_NOTES_PRIV_H
#define SPATE_STORE_RECORD_NOTES_PRIV_H

#include "store/record/notes.h"

/*
 * Shared by the files of notes: notes.c has what rows and cubes have in common,
 * notes_row.c and notes_cube.c what is special to each.
 */
void notes_row_begin(struct block *b);
void notes_row_seal(struct block *b, const struct format_ops *format);

void notes_cube_begin(struct block *b);
void notes_cube_seal(struct block *b);

static inline bool
notes_is_row(const struct block *b)
{
	return notes_head(b)->cards == 0;
}

/* The header fields of the packet that stores range `range` of a heap; a heap
 * without ranges has one packet with its items alone. */
void notes_piece(const struct note *note, uint32_t range,
		 struct format_piece *piece);

#endif
