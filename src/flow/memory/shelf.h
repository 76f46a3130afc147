/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_SHELF_H
#define SPATE_FLOW_MEMORY_SHELF_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"

/*
 * A shelf is what the taps of a stock have of its blocks, all of them
 * together: see tap.c, which has the rules.  Stock and taps hold it.
 */
struct tap;
struct output;

struct shelf_slot {
	struct block *b; /* held once, by the shelf; NULL: empty */
	uint64_t since;	 /* shelf::turn, when it came */
	unsigned reads;	 /* takes that were not put */
	bool revoked;	 /* goes with the last put */
};

struct shelf {
	atomic_uint holders;
	atomic_uint held; /* slots that are not empty, nor revoked; read
			     without the lock */

	atomic_bool is_short; /* the stock, when a block of it went or came
				 last; a hint */

	pthread_mutex_t lock; /* over what is below, and in each tap */
	struct tap *taps;
	uint64_t turn;
	unsigned most;
	struct shelf_slot slot[];
};

/* For a stock of so many blocks; the caller holds it.  0 or -ENOMEM. */
int shelf_make(struct shelf **shelf, unsigned blocks);
void shelf_hold(struct shelf *s);
void shelf_drop(struct shelf *s);

/* Would revoking bring anything home? */
static inline bool
shelf_holds(const struct shelf *s)
{
	return atomic_load_explicit(&s->held, memory_order_relaxed) > 0;
}

static inline void
shelf_tell(struct shelf *s, bool is_short)
{
	atomic_store_explicit(&s->is_short, is_short, memory_order_relaxed);
}

/* The recorder is short of blocks: what nobody reads goes home now, the rest
 * as soon as its readers put it.  Any thread that keeps the stock. */
void shelf_revoke(struct shelf *s);

/* A sealed block that the caller holds, for the taps of its output; not kept
 * where that would make the recorder short. */
void shelf_offer(struct shelf *s, struct block *b);

/* ---- under the lock: for tap.c ---------------------------------------- */

/* What has this number, or the gap before it; NULL. */
struct shelf_slot *shelf_find(struct shelf *s, const struct output *o,
			      uint64_t number);

/* Drops what no tap wants any more. */
void shelf_sweep(struct shelf *s);

/* Its block is dropped. */
void shelf_empty(struct shelf *s, struct shelf_slot *slot);

#endif
