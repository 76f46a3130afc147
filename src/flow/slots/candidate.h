/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_CANDIDATE_H
#define SPATE_FLOW_SLOTS_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/memory/block_pool.h"
#include "flow/place/window.h"

/*
 * A candidate is a run that may be about to begin.  Packets whose sequence is
 * far from the current run are parked here, by copy, until enough of them agree
 * with each other (the counter restarted: the next run), or until as many
 * packets arrived for the current run (the parked ones were garbage, or late).
 *
 * A candidate behind the run's head (its highest sequence) needs more packets:
 * a burst of late packets agrees with itself as well as a restarted counter
 * does.  The difference is what follows: a healthy run goes on at its head,
 * after a restart nothing does.
 */
enum {
	CANDIDATE_AGREE = RUN_AGREE,
	CANDIDATE_MORE = 288, /* packets that one long candidate may have
				   beyond 32; some may come interleaved with
				   packets at the head */
	CANDIDATES = 8,	      /* at a time: garbage makes some of its own */
};

struct candidate_packet {
	uint64_t sequence;
	int64_t arrived; /* UTC ns */
	int32_t part;	 /* part of its frame; -1: the format does not tell */
	uint16_t at;	 /* place in the parking */
	bool readable;
};

struct candidate {
	struct candidate_packet packet[CANDIDATE_AGREE];
	struct candidate_packet
	    *more; /* CANDIDATE_MORE packets beyond those; or NULL */
	unsigned n;
	unsigned quiet;	 /* its packets since the current run last went on at
			    its head; n if it did not */
	unsigned need;	 /* a run begins when `quiet` reaches it */
	bool behind;	 /* was behind the run's head when it began */
	uint64_t span;	 /* its packets are nearer than this to the first */
	unsigned bits;	 /* width of the counter: 32, or 64 */
	unsigned rivals; /* packets that came for the current run meanwhile */
	int64_t since;	 /* steady ns of the first packet; several threads may
			    bring packets in another order */
	uint64_t order;	 /* rank by age: higher began later */
};

/* b - a for a counter of 32 or 64 bits. */
static inline int64_t
sequence_distance(uint64_t a, uint64_t b, unsigned bits)
{
	return bits == 32 ? (int32_t)(uint32_t)(b - a) : (int64_t)(b - a);
}

static inline struct candidate_packet *
candidate_at(struct candidate *c, unsigned i)
{
	return i < CANDIDATE_AGREE ? &c->packet[i]
				   : &c->more[i - CANDIDATE_AGREE];
}

static inline bool
candidate_full(const struct candidate *c)
{
	return c->n == CANDIDATE_AGREE + (c->more ? CANDIDATE_MORE : 0);
}

enum candidate_answer {
	CANDIDATE_PARKED,    /* parked as packet n-1; the caller fills in the
				rest */
	CANDIDATE_ENOUGH,    /* the same, and they are enough: a run */
	CANDIDATE_DUPLICATE, /* its sequence is parked here already */
	CANDIDATE_STRANGER,  /* disagrees with the packets here, or the
				candidate is full: nothing was done */
};

/* Parks a sequence that came at `now` (steady ns). */
enum candidate_answer candidate_add(struct candidate *c, uint64_t sequence,
				    int64_t now);

/* Chooses the candidate to add a packet to: the one it agrees with, else an
 * empty one, else the weakest, whose packets the caller has to drop. */
struct candidate *candidate_choose(struct candidate *all, uint64_t sequence);

/* Returns the weakest candidate with packets, other than c, that is not
 * stronger than c with one more packet would be.  NULL: none. */
struct candidate *candidate_weakest(struct candidate *all,
				    const struct candidate *c);

/* Tells a candidate that n packets of the current run came by `now`, steady ns;
 * earlier ones do not count.  True: the candidate has lost. */
bool candidate_rivals(struct candidate *c, unsigned n, int64_t now);

/* Tells a candidate that the run went on at its head at that time, steady
 * ns. */
void candidate_ahead(struct candidate *c, int64_t at);

/* Returns the candidate that a packet agrees with, or NULL. */
struct candidate *candidate_find(struct candidate *all, uint64_t sequence);

/* Finds the sequence that a run of these packets begins with: the lowest that
 * is the first part of a frame.  False: there is none. */
bool candidate_base(struct candidate *c, uint32_t parts, uint64_t *base);

/* ---- parking ----------------------------------------------------------- */

/*
 * A parking keeps the packets of candidates: slots of blocks that are borrowed
 * from the pool for as long as a packet waits there.  So a substream without
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
	struct block_pool *pool;
	unsigned sub;
	uint32_t slots;	      /* slots used per block */
	unsigned n;	      /* blocks at most */
	struct block **block; /* n blocks; NULL: not borrowed */
	bool leaving;	      /* `left` has a bit set */
	uint64_t left[(PARKING_MOST + 63) / 64]; /* places to free at the end of
						    the batch */
};

/* Prepares a parking; no block is borrowed yet.  Returns 0 or -ENOMEM. */
int parking_init(struct parking *p, struct block_pool *pool, unsigned sub,
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
