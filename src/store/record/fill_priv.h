/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECORD_FILL_PRIV_H
#define SPATE_STORE_RECORD_FILL_PRIV_H

#include "store/record/fill.h"

/* Shared by fill.c and fill_learn.c. */

/* Frames in a turn of all threads; 1 while the number of threads is unknown. */
static inline uint32_t
fill_cycle(const struct fill *f)
{
	return f->cycle ? f->cycle : 1;
}

/* True if a header is remembered for this place in the cycle. */
static inline bool
fill_has_model(const struct fill *f, uint64_t place)
{
	return place < f->models && f->model_sequence[place] != FILL_NONE;
}

/* Parses the header of a stored payload into p.  False if it is not a readable
 * header. */
bool fill_parse(const struct fill *f, const uint8_t *payload,
		struct format_packet *p);

/* Like fill_parse(), for a slot, which may be empty. */
static inline bool
fill_good_at(const struct fill *f, const struct block *b, uint32_t slot,
	     struct format_packet *p)
{
	return block_has(b, slot) && fill_parse(f, block_slot(b, slot), p);
}

#endif
