/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_MOVES_H
#define SPATE_FLOW_PLACE_MOVES_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * Moves brings the packets of one batch that did not land where they belong
 * to their slots, each by one copy, although those slots may hold other
 * packets of the batch that have yet to move themselves.
 *
 * Landings are the slots that the batch was aimed at, in ascending order of
 * their key; a key names a slot (its sequence in the run).
 */
enum {
	MOVES_NOWHERE = -1,
	MOVES = 2 * RECEIVE_BATCH, /* of a batch, and what was parked */
};

struct move {
	uint8_t *from, *to;
	int landing; /* of `to`: index in the landings, or MOVES_NOWHERE */
};

struct moves {
	uint32_t bytes;	     /* of a slot */
	uint8_t *scratch;    /* one slot */
	const uint64_t *key; /* of the landings, ascending */
	unsigned keys;
	struct move move[MOVES];
	unsigned n;
	int16_t leaving[RECEIVE_BATCH]; /* landing -> move that empties it */
};

/* A new batch, aimed at these landings. */
void moves_start(struct moves *m, const uint64_t *key, unsigned keys);

/*
 * The packet at `from` (in landing `at`, or MOVES_NOWHERE) belongs at `to`,
 * whose key is `key`.  No two moves of a batch have the same `to`.
 */
void moves_add(struct moves *m, uint8_t *from, int at, uint8_t *to,
	       uint64_t key);

/* The same where `to` is certainly no landing of this batch. */
void moves_add_outside(struct moves *m, uint8_t *from, int at, uint8_t *to);

/* Copies all of them.  Afterwards every packet is where it belongs. */
void moves_settle(struct moves *m);

#endif
