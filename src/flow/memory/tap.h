/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_TAP_H
#define SPATE_FLOW_MEMORY_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/output/output.h"

/*
 * A tap lets one transfer have the blocks of a recording that is being made,
 * while they are in memory anyway.  It gets each of them when it is sealed,
 * and keeps it until it is passed, or until the recorder wants it back:
 *
 *   sealed --> HELD --- tap_take --> READ --- tap_put --> dropped
 *               |                     |
 *               | revoked             | revoked: tap_wanted() is true, and
 *               v                     v its fd readable, until it is put
 *             dropped               READ
 *
 * All taps of a stock together have at most a quarter of its blocks: for one
 * more, the oldest that nobody reads is revoked.  When the stock is about to
 * be short, all are.  What was revoked is on disks soon, if it is not yet.
 *
 * One thread takes, puts and passes; see tap.c for what others do.
 */
struct tap;

/* The blocks of this output, which are all of one stock.  0 or -errno. */
int tap_make(struct tap **tap, struct output *o, struct stock *stock);

/* Everything was put. */
void tap_free(struct tap *t);

/* The block with this number, or that comes with the gap which has it; NULL:
 * it is not here.  Put once for each time that it was taken. */
struct block *tap_take(struct tap *t, uint64_t number);
/* True: it was wanted back. */
bool tap_put(struct tap *t, struct block *b);

/* Blocks below this number are not wanted, and those from it on are. */
void tap_pass(struct tap *t, uint64_t number);

/* Others may look at what it has, and gets, by this map, and know its recording
 * by this ID. */
struct map;
void tap_show(struct tap *t, struct map *map, uint64_t recording);

/* Blocks that are read are wanted back: they have to be put soon, within a
 * millisecond or so. */
bool tap_wanted(const struct tap *t);

/* The recorder is short of memory: its disks have enough to do.  A hint. */
bool tap_short(const struct tap *t);

/*
 * Polls readable when there is a block more, when one was made durable or was
 * lost, when the output has ended, and with tap_wanted(), until it is cleared.
 * Clear it before looking at any of these.
 */
int tap_fd(const struct tap *t);
void tap_clear(struct tap *t);
/* Makes it readable. */
void tap_poke(struct tap *t);

struct tap_facts {
	unsigned held;	  /* now, read or not */
	unsigned read;	  /* of these */
	uint64_t end;	  /* one behind the highest number that was sealed
			     since it was there */
	uint64_t revoked; /* blocks; counted up, as: */
	uint64_t skipped; /* that were sealed when there was no room */
};
void tap_facts(struct tap *t, struct tap_facts *f);

#endif
