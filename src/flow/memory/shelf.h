/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_SHELF_H
#define SPATE_FLOW_MEMORY_SHELF_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"

/*
 * A shelf has the blocks of one stock that are lent to taps, for all taps
 * together; tap.c has the rules.  The stock and each tap hold a reference.
 */
struct tap;
struct output;

struct shelf_slot {
	struct block *b; /* the shelf's one hold on it; NULL: empty slot */
	uint64_t since;	 /* shelf::turn when it was offered: a lower one is
			    older */
	unsigned reads;	 /* tap_take calls that were not put yet */
	bool revoked;	 /* wanted back: dropped with the last put */
};

struct shelf {
	atomic_uint holders;
	atomic_uint held; /* slots neither empty nor revoked; read without the
			     lock */

	atomic_bool is_short; /* the stock was short of blocks at the last take
				 or return; a hint, read without the lock */

	/* Guards the fields below, and fields in each tap. */
	pthread_mutex_t lock;
	struct tap *taps;
	uint64_t turn;
	unsigned most;
	struct shelf_slot slot[];
};

/* Makes a shelf for a stock of `blocks` blocks; the caller has its first
 * reference.  Returns 0 or -ENOMEM. */
int shelf_make(struct shelf **shelf, unsigned blocks);
void shelf_hold(struct shelf *s);
void shelf_drop(struct shelf *s);

/* True if shelf_revoke would free anything. */
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

/* Takes all lent blocks back, because the recorder is short: blocks that nobody
 * reads are dropped now, the others as soon as their readers put them.  Any
 * thread that keeps the stock alive. */
void shelf_revoke(struct shelf *s);

/* Offers a sealed block that the caller holds to the taps of its output.  The
 * shelf keeps it only if that does not make the recorder short. */
void shelf_offer(struct shelf *s, struct block *b);

/* ---- under the lock: for tap.c ---------------------------------------- */

/* Finds the slot whose block has this number, or brings the gap with it.  NULL:
 * none, or it was revoked. */
struct shelf_slot *shelf_find(struct shelf *s, const struct output *o,
			      uint64_t number);

/* Drops all blocks that no tap wants any more. */
void shelf_sweep(struct shelf *s);

/* Drops the block of a slot. */
void shelf_empty(struct shelf *s, struct shelf_slot *slot);

#endif
