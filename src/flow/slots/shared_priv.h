/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SHARED_PRIV_H
#define SPATE_FLOW_SLOTS_SHARED_PRIV_H

#include <pthread.h>

#include "flow/place/arrival.h"
#include "flow/slots/shared.h"
#include "flow/slots/slots_priv.h"

/*
 * A shared place, as its four parts share it: shared.c makes it and implements
 * the place, shared_put.c puts packets into open slots, shared_give.c passes
 * the other packets to slots.c, and shared_order.c makes threads wait for each
 * other.
 */
#define SHARED_PATIENCE 100000000ll /* ns */
#define SHARED_SILENCE	60000000ll  /* ns; an empty ring has no older packet */
#define SHARED_NEVER	INT64_MAX   /* time of a packet without a stamp */

struct shared;

/* Packets that a thread put into one of the open blocks and has not yet added
 * to the block's own sums. */
struct tally {
	uint32_t filled, used;
	int64_t first_ns, last_ns; /* arrival, UTC */
};

struct handle {
	struct place base;
	struct shared *shared;
	struct scratch *scratch;

	/* State of one batch; the thread's own. */
	struct aim *aim; /* aim of the batch's source */
	int64_t now_ns, now;
	struct arrival arrival; /* copy of shared::arrival for this batch */
	/* Packets for slots.c. */
	const struct receive_packet *left[RECEIVE_BATCH];
	unsigned lefts;
	unsigned sure; /* leading packets of `left` that cannot be an echo */
	struct tally tally[WINDOW_OPEN];
	uint64_t highest; /* one more than the highest sequence, as
			     window::highest */
	/* Packets placed that slots.c still has to hear of. */
	unsigned placed;
	int64_t placed_at; /* steady ns at which the last of them came */
	int64_t ahead_at;  /* steady ns of the last packet above all others of
			      this thread */
	bool starved;	   /* no block could be taken in this batch */

	/* Guarded by shared::lock. */
	pthread_t thread;
	bool begun;  /* `thread` is set */
	bool lapsed; /* did not come in time; not waited for until it does */
	/* Steady ns: packets that came before were all taken in. */
	int64_t passed;
};

struct shared {
	struct slots *slots;
	struct scratch *scratch;
	unsigned threads;

	/* Guards the window and its blocks.  Held for reading, a thread may set
	 * presence bits and fill slots; held for writing, it may do anything.
	 * The fields below it are used by its writers only. */
	pthread_rwlock_t gate;
	struct counts taken; /* the part of slots' counts that handles have */
	int64_t turned;	     /* steady ns of the packet that last moved the
				window */
	int64_t began;	     /* steady ns of the packet that began the run */

	/* Guards the sums of open blocks, window::highest and `newest` among
	 * threads that hold the gate for reading, and for all threads the
	 * fields below. */
	pthread_mutex_t lock;
	int64_t newest; /* steady ns of the newest packet in a slot */
	pthread_cond_t progress;
	int64_t patience;
	struct arrival arrival; /* UTC offset, one for all threads */
	int64_t looked;		/* steady ns of the pass that set it */
	unsigned waiting;
	uint64_t turns; /* moves of the window, and new runs */
	unsigned flushed, freed;

	struct handle handle[];
};

/* Returns when a packet came, steady ns; the same for all threads, whose own
 * offsets to UTC differ by as much as a pass takes. */
static inline int64_t
packet_at(const struct handle *h, const struct receive_packet *k)
{
	if (!k->arrived)
		return SHARED_NEVER;
	return arrival_time(&h->arrival, k->arrived, h->now);
}

/* ---- shared_order.c -------------------------------------------------- */

/* Records that this handle has taken in all packets that came before `at`
 * (steady ns). */
void shared_pass(struct handle *h, int64_t at);

/* True if another handle has not passed `since` yet, and is to be waited
 * for. */
bool shared_behind(struct handle *h, int64_t since);

/* Waits until no handle is behind `since`, or the window moved, or patience
 * ends.  `at`: the time up to which the caller has passed itself. */
void shared_wait(struct handle *h, int64_t at, int64_t since);

/* Wakes waiting threads: the window moved, or a run began. */
void shared_turned(struct shared *s);

/* ---- shared_put.c ---------------------------------------------------- */

/*
 * Puts packets into open slots, with the gate held for reading.  Returns how
 * many it went through; packets it could not place are in `left`, and go to
 * slots.c before the next call.
 */
unsigned shared_put(struct handle *h, const struct receive_packet *packet,
		    unsigned n);

/* One more than the highest sequence that this thread brought of the run.  If
 * it brought none: UINT64_MAX during an echo, so that its word alone ends no
 * echo, else 0. */
uint64_t shared_top(const struct handle *h);

/* ---- shared_give.c --------------------------------------------------- */

/* Passes the packets in `left` to slots.c, with the gate held for writing. */
void shared_give(struct handle *h);

/* Moves new counts of slots.c to the handle whose thread caused them. */
void shared_counts(struct handle *h);

#endif
