/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_RELOCATE_H
#define SPATE_FLOW_PLACE_RELOCATE_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * Relocation moves the bytes of one batch that did not land where they belong,
 * although other bytes may lie there that have to move themselves.  Packets of
 * one size and pieces of heaps use it alike: each move has its own length, and
 * its target may overlap the sources of several others.
 *
 * No two moves of a batch share a source byte or a target byte.
 */
enum {
	/* A piece of a heap may lie in two places, and have items.  Of packets,
	 * those that waited for an echo to end (slots_run.c) come on top of a
	 * batch: at most 255. */
	RELOCATE_MOST = 3 * RECEIVE_BATCH,
};

struct relocation {
	uint8_t *from, *to;
	const uint8_t *lay; /* source address before any move was made */
	uint32_t bytes;
	uint32_t state;
};

struct relocate {
	struct relocation move[RELOCATE_MOST];
	struct relocation *order[RELOCATE_MOST]; /* sorted by `lay` */
	unsigned n;
	/* Memory of its owner for bytes that wait aside.  Moves of equal length
	 * that never overlap in part, as those of slots, need one length. */
	uint8_t *aside;
	uint64_t aside_bytes, used;
};

/* Starts a batch. */
static inline void
relocate_start(struct relocate *r)
{
	r->n = 0;
	r->used = 0;
}

/* Adds a move, which relocate_settle makes. */
void relocate_add(struct relocate *r, uint8_t *from, uint8_t *to,
		  uint32_t bytes);

/* Copies bytes aside for the duration of the batch, and returns the copy.  No
 * byte may be copied aside twice. */
uint8_t *relocate_aside(struct relocate *r, const uint8_t *from,
			uint32_t bytes);

/* Moves all bytes to where they belong.  More moves may be added
 * afterwards. */
void relocate_settle(struct relocate *r);

#endif
