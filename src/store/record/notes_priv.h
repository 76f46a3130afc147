/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_NOTES_PRIV_H
#define SPATE_STORE_RECORD_NOTES_PRIV_H

#include "store/record/notes.h"

/*
 * What the files of notes share: notes.c has what both kinds of blocks do,
 * notes_row.c and notes_cube.c what only one does.
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

/* The packet that a range of a heap is, or without any its items alone. */
void notes_piece(const struct note *note, uint32_t range,
		 struct format_piece *piece);

#endif
