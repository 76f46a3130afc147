/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_MOVES_H
#define SPATE_FLOW_PLACE_MOVES_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * Moves copy the packets of one batch that did not land where they belong into
 * their slots, each by one copy, although those slots may hold other packets of
 * the batch that have to move themselves.
 *
 * Landings are the slots that the batch was aimed at, in ascending order of
 * their key; a key names a slot (its sequence in the run).
 */
enum {
	MOVES_NOWHERE = -1,
	MOVES = 2 * RECEIVE_BATCH, /* packets of a batch, and parked ones */
};

struct move {
	uint8_t *from, *to;
	int landing; /* index of `to` in the landings, or MOVES_NOWHERE */
};

struct moves {
	uint32_t bytes;	     /* bytes of a slot */
	uint8_t *scratch;    /* one slot */
	const uint64_t *key; /* keys of the landings, ascending; the caller's */
	unsigned keys;
	struct move move[MOVES];
	unsigned n;
	int16_t leaving[RECEIVE_BATCH]; /* for each landing, the move that
					   empties it; -1: none */
};

/* Starts a batch that was aimed at these landings. */
void moves_start(struct moves *m, const uint64_t *key, unsigned keys);

/*
 * Adds a move: the packet at `from`, which is in landing `at` (or
 * MOVES_NOWHERE), belongs at `to`, whose key is `key`.  No two moves of a batch
 * have the same `to`.
 */
void moves_add(struct moves *m, uint8_t *from, int at, uint8_t *to,
	       uint64_t key);

/* Adds a move whose `to` is certainly no landing of this batch. */
void moves_add_outside(struct moves *m, uint8_t *from, int at, uint8_t *to);

/* Copies all packets to where they belong. */
void moves_settle(struct moves *m);

#endif
