/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_SHIFTS_H
#define SPATE_FLOW_PLACE_SHIFTS_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * Shifts bring the bytes of one batch that did not land where they belong to
 * where they do, although other bytes may lie there that have yet to move
 * themselves.  They are what moves.h is for packets of one size: here each
 * has a length of its own, and may overlap several others.
 *
 * No two of a batch have a source byte in common, nor a target byte.
 */
enum {
	SHIFTS = 3 * RECEIVE_BATCH, /* a piece may lie in two places, and have
				       items */
	SHIFTS_ASIDE = RECEIVE_BATCH << 16, /* bytes: all that a batch can be */
};

struct shift {
	uint8_t *from, *to;
	const uint8_t *lay; /* where it was before any was settled */
	uint32_t bytes;
	uint32_t state;
};

struct shifts {
	struct shift shift[SHIFTS];
	struct shift *order[SHIFTS]; /* by `lay` */
	unsigned n;
	uint8_t *aside; /* SHIFTS_ASIDE bytes, touched only as they are used */
	uint64_t used;
};

/* A new batch. */
static inline void
shifts_start(struct shifts *s)
{
	s->n = 0;
	s->used = 0;
}

void shifts_add(struct shifts *s, uint8_t *from, uint8_t *to, uint32_t bytes);

/* Copies bytes aside, for as long as the batch lasts; no byte twice. */
uint8_t *shifts_aside(struct shifts *s, const uint8_t *from, uint32_t bytes);

/* All are where they belong; there may be others afterwards. */
void shifts_settle(struct shifts *s);

#endif
