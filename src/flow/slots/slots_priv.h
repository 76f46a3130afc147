/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SLOTS_PRIV_H
#define SPATE_FLOW_SLOTS_SLOTS_PRIV_H

#include "flow/slots/candidate.h"
#include "flow/place/moves.h"
#include "flow/slots/parking.h"
#include "flow/slots/slots.h"
#include "flow/place/spare.h"
#include "flow/place/window.h"

/*
 * What the parts of slots share: slots_aim.c says where packets should land,
 * slots.c sorts batches, slots_run.c knows when a run begins, slots_held.c holds
 * packets that have no sequence before their stream is learned.
 */
struct held;

struct slots {
	struct place base;
	struct place_args a;
	uint32_t slots, payload, parts; /* per block; bytes; per frame */
	uint32_t datagram;		/* bytes: prefix + payload */
	uint64_t max_gap;		/* slots */

	struct window window; /* and the run that it is of */

	/* The batch. */
	struct aim *aim; /* its source's; NULL: none, but age, or the end */
	const struct receive_pair *pair;
	uint64_t *key; /* sequences of the landings, in the spare memory */
	unsigned keys;
	bool moved_on;	      /* a run began: the keys mean nothing */
	uint64_t reached;     /* one behind the highest of this batch */
	int64_t pass_ns, now; /* when it was received: UTC; steady */
	int64_t now_ns;	      /* the same of the packet, if that is known */
	struct moves *moves;  /* the spare memory's */

	unsigned agree, behind; /* packets that a candidate needs */
	struct candidate candidate[CANDIDATES];
	bool parked; /* some of them have packets */
	/* Packets since a run began that could not be parked; the first. */
	uint64_t starved, starved_from;
	struct candidate_packet more[CANDIDATE_MORE]; /* for one of them */
	struct candidate echo; /* one inside the window; see slots_run.c */
	bool echoed;	       /* its memory is in use until the batch ends */
	bool unsummed; /* checksums are left to whoever seals the blocks */
	struct parking parking;

	/* Packets that are held, by block. */
	struct held *held, *held_last; /* the oldest, the newest; NULL: none */
	unsigned held_aimed; /* slots behind those that the batch lands in */
	struct aim held_aim; /* of who brings them to their slots */
	uint64_t held_out;   /* packets that went out as they came: of the */
	uint32_t held_run;   /* run that is, if there are any */
	bool held_told;

	int64_t waits_since; /* steady: closed blocks wait to be told the frames
				per second since then; 0: none did yet */
};

unsigned slots_aim(struct place *place, const struct aim *aim,
		   struct receive_pair *pair, unsigned n);
void slots_expect(struct place *place, struct aim *aim, uint64_t sequence);

/* Relative to the run, which has come to `highest`; false when it is too far
 * from all that is expected. */
static inline bool
slots_near_to(const struct slots *p, uint64_t highest, uint64_t sequence,
	      uint64_t *rel)
{
	const struct window *w = &p->window;
	int64_t ahead = sequence_distance(w->base + highest, sequence,
					  p->a.shape->sequence_bits);

	*rel = highest + (uint64_t)ahead;
	return w->running && ahead <= (int64_t)p->max_gap &&
	       ahead >= -(int64_t)(highest - w->origin);
}

static inline bool
slots_near(const struct slots *p, uint64_t sequence, uint64_t *rel)
{
	return slots_near_to(p, p->window.highest, sequence, rel);
}

/*
 * A look at a packet, which changes nothing: DROP_KINDS and what it says,
 * where it carries a sequence, else what it is to be dropped for.
 */
enum drop slots_read(const struct slots *p, const struct receive_packet *k,
		     struct format_packet *f);

/* The same as slots_oppose, between batches. */
void slots_rivals(struct slots *p, unsigned n, int64_t ahead, int64_t now);

/*
 * Gives a packet the slot of its sequence, which is not before the origin;
 * the window moves on where it has to.  Returns where its payload has to be,
 * or NULL when it was dropped.
 */
uint8_t *slots_give(struct slots *p, uint64_t rel, bool readable);

/* Sorts packets of one source, which were counted, as one batch. */
void slots_sort(struct slots *p, struct aim *aim,
		const struct receive_packet *packet, unsigned n);

/* Closed blocks leave, and those that were never used go home. */
void slots_release(struct slots *p);

/* Do batches go to be held now?  Then packets land in the first pairs of those
 * that this aims, whose number it returns. */
bool slots_holds(const struct slots *p);
unsigned slots_held_aim(struct slots *p, struct receive_pair *pair, unsigned n);

/* Holds a batch, and sorts some of what is held, if that is known. */
void slots_held_batch(struct slots *p, const struct receive_packet *packet,
		      unsigned n);

/* Sorts at most so many. */
void slots_held_place(struct slots *p, uint64_t most);

/* Lets go of what was held too long; of all. */
void slots_held_age(struct slots *p);
void slots_held_flush(struct slots *p);

/* A run begins with this sequence. */
void slots_run_from(struct slots *p, uint64_t base);

/* Formats without a sequence: packets follow each other. */
void slots_run_arrival(struct slots *p);

/* Parks a packet that is far from where the stream is. */
void slots_park(struct slots *p, const struct receive_packet *k,
		const struct format_packet *f);

/* Parks one that is in the window, but may be of a counter that restarted
 * there.  False: it is not. */
bool slots_echo(struct slots *p, uint64_t rel, const struct receive_packet *k,
		const struct format_packet *f);

/* n packets of the stream came; `ahead`: when the last of them that is ahead of
 * all others did, or SLOTS_NEVER. */
#define SLOTS_NEVER INT64_MIN
void slots_oppose(struct slots *p, unsigned n, int64_t ahead);

/* The window is about to move: the echo is a run, if it began by then and is
 * long enough, or its packets are duplicates, or late ones. */
void slots_echo_settle(struct slots *p, int64_t since);

/* Begins the runs of candidates that nobody opposed since then. */
void slots_runs_begin(struct slots *p, int64_t since);

/* The end: a last candidate may be the recording, the others are dropped. */
void slots_runs_flush(struct slots *p);

#endif
