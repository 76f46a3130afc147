/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_SHIFTS_H
#define SPATE_FLOW_PLACE_SHIFTS_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * Shifts move the bytes of one batch that did not land where they belong,
 * although other bytes may lie there that have to move themselves.  They do for
 * heaps what moves.h does for packets of one size: each shift has its own
 * length and may overlap several others.
 *
 * No two shifts of a batch share a source byte or a target byte.
 */
enum {
	SHIFTS = 3 * RECEIVE_BATCH, /* a piece may lie in two places, and have
				       items */
	SHIFTS_ASIDE = RECEIVE_BATCH << 16, /* bytes; a batch is never longer */
};

struct shift {
	uint8_t *from, *to;
	const uint8_t *lay; /* source address before any shift was settled */
	uint32_t bytes;
	uint32_t state;
};

struct shifts {
	struct shift shift[SHIFTS];
	struct shift *order[SHIFTS]; /* sorted by `lay` */
	unsigned n;
	uint8_t *aside; /* SHIFTS_ASIDE bytes, touched only as they are used */
	uint64_t used;
};

/* Starts a batch. */
static inline void
shifts_start(struct shifts *s)
{
	s->n = 0;
	s->used = 0;
}

void shifts_add(struct shifts *s, uint8_t *from, uint8_t *to, uint32_t bytes);

/* Copies bytes aside for the duration of the batch, and returns the copy.  No
 * byte may be copied aside twice. */
uint8_t *shifts_aside(struct shifts *s, const uint8_t *from, uint32_t bytes);

/* Moves all bytes to where they belong.  More shifts may be added
 * afterwards. */
void shifts_settle(struct shifts *s);

#endif
