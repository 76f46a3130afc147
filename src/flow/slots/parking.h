/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_PARKING_H
#define SPATE_FLOW_SLOTS_PARKING_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/memory/pool.h"

/*
 * A parking is where the packets of candidates wait: slots of a block that
 * is borrowed from the stock for as long as any waits there.  So it costs a
 * substream nothing while all is well, and hundreds of them nothing that was
 * not theirs when they all begin at once.
 *
 * Blocks of few slots make a parking of several.  The receiver's thread only.
 */
enum {
	PARKING_LEAST = 64, /* places there are, however small blocks are */
	PARKING_MOST = 544, /* and however large */
};

struct parking {
	struct stock *stock;
	unsigned sub;
	uint32_t slots;	      /* of a block that are used */
	unsigned n;	      /* blocks that there may be */
	struct block **block; /* n of them; NULL: none, as yet */
	bool leaving;	      /* some places are about to be free */
	uint64_t left[(PARKING_MOST + 63) / 64]; /* these */
};

/* 0 or -ENOMEM. */
int parking_init(struct parking *p, struct stock *stock, unsigned sub,
		 uint32_t slots);
void parking_finish(struct parking *p); /* nothing waits */

/* A place; -1 where there is none.  A substream that has no blocks yet may
 * use those that it has a right to: `eager`. */
int parking_take(struct parking *p, bool eager);

uint8_t *parking_slot(const struct parking *p, unsigned at);

/* The place is free: at once, or when the batch that is being sorted is over,
 * because its memory is still to be copied from. */
void parking_put(struct parking *p, unsigned at);
void parking_leave(struct parking *p, unsigned at);

/* The batch is over: blocks where nothing waits go home. */
void parking_release(struct parking *p);

#endif
