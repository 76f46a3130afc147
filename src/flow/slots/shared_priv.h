/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SHARED_PRIV_H
#define SPATE_FLOW_SLOTS_SHARED_PRIV_H

#include <pthread.h>

#include "flow/place/arrival.h"
#include "flow/slots/shared.h"
#include "flow/slots/slots_priv.h"

/*
 * What the parts of a shared place share: shared.c makes it and is the place
 * to its intakes, shared_put.c puts packets into slots that are open,
 * shared_give.c gives slots.c the others, and shared_order.c knows who has to
 * be waited for.
 */
#define SHARED_PATIENCE 100000000ll /* ns */
#define SHARED_SILENCE	60000000ll  /* ns: an empty ring has nothing older */
#define SHARED_NEVER	INT64_MAX   /* of a packet that does not say when */

struct shared;

/* What a thread put into one of the open blocks, not yet added to it. */
struct tally {
	uint32_t filled, used;
	int64_t first_ns, last_ns; /* arrival, UTC */
};

struct handle {
	struct place base;
	struct shared *shared;
	struct spare *spare;

	/* The batch. */
	struct aim *aim; /* of its source */
	int64_t now_ns, now;
	struct arrival arrival; /* the shared one, for this batch */
	const struct receive_packet *left[RECEIVE_BATCH]; /* for slots.c */
	unsigned lefts;
	unsigned sure; /* of those, the first ones that are no echo */
	struct tally tally[WINDOW_OPEN];
	uint64_t highest;  /* one behind, as the window counts */
	unsigned placed;   /* packets that slots.c has to hear of */
	int64_t placed_at; /* when the last of them came */
	int64_t ahead_at;  /* and the last that was ahead of the others here */
	bool starved;	   /* there was no memory for a block */

	/* Under shared::lock. */
	pthread_t thread;
	bool begun;	/* `thread` is known */
	bool lapsed;	/* was waited for in vain */
	int64_t passed; /* all that came before this was taken in */
};

struct shared {
	struct slots *slots;
	struct spare *spare;
	unsigned threads;

	pthread_rwlock_t gate; /* over the window and what is in it, but: */
	struct counts taken;   /* of slots', those that handles have */
	int64_t turned;	       /* when what moved the window last came */
	int64_t began;	       /* and what the run began with */

	/* For readers of the gate: the blocks' sums, the window's highest,
	 * `newest`; for all: what is below. */
	pthread_mutex_t lock;
	int64_t newest; /* when the last packet came that has a slot */
	pthread_cond_t progress;
	int64_t patience;
	struct arrival arrival; /* one for all, and what it was set by: */
	int64_t looked;		/* the steady time of a pass */
	unsigned waiting;
	uint64_t turns; /* of the window, and runs */
	unsigned flushed, freed;

	struct handle handle[];
};

/* When a packet came: on the steady clock, and the same for all threads,
 * whose own ideas of UTC differ by as much as a pass takes. */
static inline int64_t
packet_at(const struct handle *h, const struct receive_packet *k)
{
	if (!k->arrived)
		return SHARED_NEVER;
	return arrival_time(&h->arrival, k->arrived, h->now);
}

/* ---- shared_order.c -------------------------------------------------- */

/* All that came before that moment was taken in by this handle. */
void shared_pass(struct handle *h, int64_t at);

/* Is another handle behind, and to be waited for? */
bool shared_behind(struct handle *h, int64_t since);

/* Waits until none is, or the window is not what it was, or for as long as
 * patience lasts.  `at`: up to there we have passed ourselves. */
void shared_wait(struct handle *h, int64_t at, int64_t since);

/* The window moved, or a run began. */
void shared_turned(struct shared *s);

/* ---- shared_put.c ---------------------------------------------------- */

/*
 * Puts packets into their slots, with the gate held for reading.  Returns how
 * many it got through; those it could do nothing with are in `left`, and if
 * there are any they go to slots.c before it is called again.
 */
unsigned shared_put(struct handle *h, const struct receive_packet *packet,
		    unsigned n);

/* One behind the highest that this thread brought of the run; where it brought
 * none, nothing is ahead of an echo on its word alone. */
uint64_t shared_top(const struct handle *h);

/* ---- shared_give.c --------------------------------------------------- */

/* Gives slots.c what is left, with the gate held for writing. */
void shared_give(struct handle *h);

/* Counts go to the handle of the thread that caused them. */
void shared_counts(struct handle *h);

#endif
