/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_SHELF_H
#define SPATE_FLOW_MEMORY_SHELF_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/memory/tap.h"

/*
 * A shelf has the blocks of one stock that are lent to taps, for all taps
 * together; tap.c has the rules.  The stock and each tap hold a reference.
 */
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

/* Offers a sealed block that the caller holds to the taps of its recording.  The
 * shelf keeps it only if that does not make the recorder short. */
void shelf_offer(struct shelf *s, struct block *b);

/* A tap, as tap.c and shelf.c share it. */
struct tap {
	struct shelf *shelf; /* counted reference */
	struct tap_of of;
	int fd;
	struct tap *peer; /* output::taps */

	/* guarded by shelf::lock */
	struct tap *next;   /* shelf::taps */
	uint64_t from;	    /* blocks with lower numbers are not wanted */
	uint64_t end;	    /* see tap_facts */
	unsigned reads;	    /* sum of read[] */
	uint64_t revoked;   /* wanted blocks that were taken back */
	uint64_t skipped;   /* wanted blocks that were not kept */
	struct map *map;    /* shows its blocks to live readers; NULL: none */
	uint64_t shown_as;  /* the recording's ID in that map */
	atomic_uint wanted; /* reads of revoked slots; written under the lock */
	uint16_t read[];    /* per slot of the shelf: takes not yet put */
};

/* Shows a block of the tap's recording to live readers.  Call under the
 * lock. */
void shelf_show(const struct tap *t, struct block *b);

/* ---- under the lock: for tap.c ---------------------------------------- */

/* Finds the slot whose block has this number, or brings the gap with it.  NULL:
 * none, or it was revoked. */
struct shelf_slot *shelf_find(struct shelf *s, const void *session,
			      uint64_t number);

/* Drops all blocks that no tap wants any more. */
void shelf_sweep(struct shelf *s);

/* Drops the block of a slot. */
void shelf_empty(struct shelf *s, struct shelf_slot *slot);

#endif
