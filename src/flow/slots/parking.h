/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_PARKING_H
#define SPATE_FLOW_SLOTS_PARKING_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/memory/pool.h"

/*
 * A parking keeps the packets of candidates: slots of blocks that are borrowed
 * from the stock for as long as a packet waits there.  So a substream without
 * candidates pays nothing, and hundreds that begin at once use only blocks they
 * are guaranteed anyway.
 *
 * If blocks have few slots, a parking uses several.  Only the receiver thread
 * may call.
 */
enum {
	PARKING_LEAST = 64, /* places, however small blocks are */
	PARKING_MOST = 544, /* places, however large blocks are */
};

struct parking {
	struct stock *stock;
	unsigned sub;
	uint32_t slots;	      /* slots used per block */
	unsigned n;	      /* blocks at most */
	struct block **block; /* n blocks; NULL: not borrowed */
	bool leaving;	      /* `left` has a bit set */
	uint64_t left[(PARKING_MOST + 63) / 64]; /* places to free at the end of
						    the batch */
};

/* Prepares a parking; no block is borrowed yet.  Returns 0 or -ENOMEM. */
int parking_init(struct parking *p, struct stock *stock, unsigned sub,
		 uint32_t slots);
void parking_finish(struct parking *p); /* every place must be free */

/* Takes a place.  -1: none is free.  With `eager`, the first block may be one
 * that the substream is guaranteed, because it has no other use for it yet. */
int parking_take(struct parking *p, bool eager);

uint8_t *parking_slot(const struct parking *p, unsigned at);

/* Free a place: at once (put), or at the end of the batch (leave), because its
 * packet is still to be copied. */
void parking_put(struct parking *p, unsigned at);
void parking_leave(struct parking *p, unsigned at);

/* Ends a batch: frees the places that are left, and returns empty blocks. */
void parking_release(struct parking *p);

#endif
