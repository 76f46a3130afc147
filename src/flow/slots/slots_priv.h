/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SLOTS_SLOTS_PRIV_H
#define SPATE_FLOW_SLOTS_SLOTS_PRIV_H

#include "flow/slots/candidate.h"
#include "flow/slots/slots.h"
#include "flow/place/placement.h"
#include "flow/place/window.h"

/*
 * The state of a placement in slots, shared by its parts: slots.c predicts
 * where packets should land and sorts batches, slots_run.c decides when a run
 * begins, slots_held.c holds packets that have no sequence until their stream
 * is learned.  shared.c lets several threads feed it.
 */

/* ns that packets are held for learning, and that closed blocks wait for the
 * frames per second: the format may need two seconds of data to learn. */
#define SLOTS_HELD_LONGEST INT64_C(4000000000)
#define SLOTS_WAITS	   INT64_C(4000000000)

/* A block of packets in the order of arrival.  Lies beside the block
 * (block_pool_side), since the data path allocates nothing. */
struct held {
	struct held *next;
	struct block *b;   /* OPEN; a bit for each slot with a packet */
	uint32_t at, end;  /* first slot not sorted yet; one more than the last
			      used slot */
	int64_t since;	   /* steady ns, arrival of the first packet */
	int64_t arrived[]; /* UTC ns, per slot */
};

struct slots {
	struct placement base;
	struct placement_args a;
	uint32_t slots, payload, parts; /* slots per block; payload bytes;
					   packets per frame */
	uint32_t datagram;		/* bytes of prefix and payload */
	uint64_t max_gap;		/* slots */

	struct window window; /* the open blocks and their run */

	/* State of one batch. */
	struct prediction
	    *prediction;  /* that of the batch's source; NULL: not in a batch */
	uint64_t reached; /* one more than the highest sequence of this
				 batch */
	int64_t pass_ns, now; /* time of the batch: UTC ns; steady ns */
	int64_t now_ns;	      /* UTC ns of the packet that is being sorted */
	struct relocate *relocate; /* lies in the scratch memory */

	unsigned agree, behind; /* packets that a candidate needs: ahead of the
				   head; behind it */
	struct candidate candidate[CANDIDATES];
	bool parked; /* some candidate has packets */
	/* Packets since the last run that could not be parked for lack of
	 * memory, and the sequence of the first of them. */
	uint64_t starved, starved_from;
	/* Lent to one long candidate. */
	struct candidate_packet more[CANDIDATE_MORE];
	/* Candidate inside the window; see slots_run.c. */
	struct candidate echo;
	bool echoed; /* echo packets are copied at the end of the batch */
	/* A frame of several packets that is to be copied when all of them are
	 * there, by the sequence of its first one, relative to frame_run; among
	 * threads that share a window, guarded by shared::lock. */
	uint64_t frame;
	uint32_t frame_run;
	bool frame_waits;
	bool unsummed; /* leave checksums to the thread that seals the block */
	struct parking parking;

	/* Blocks of packets that wait until the stream is learned. */
	struct held *held, *held_last; /* oldest and newest; NULL: none */
	unsigned held_aimed; /* slots that this batch was aimed at, behind
				held_last->end */
	struct prediction
	    held_prediction; /* for packets that are taken out of held
				blocks */
	uint64_t held_out;   /* packets that left unsorted, in run held_run */
	uint32_t held_run;   /* valid if held_out is not 0 */
	bool held_told;

	int64_t waits_since; /* steady ns since closed blocks wait for the
				frames per second; 0: none waited yet */
};

/* Computes the sequence relative to the run, whose packets have reached
 * `highest`.  False if it is before the window or more than max_gap ahead. */
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
 * Checks and parses a packet; changes nothing.  Returns DROP_KINDS with the
 * parsed packet in f if it carries a sequence, else the reason to drop it.
 */
enum drop slots_read(const struct slots *p, const struct receive_packet *k,
		     struct format_packet *f);

/* Runs slots_oppose outside of a batch, as a batch of its own; now is steady
 * ns. */
void slots_rivals(struct slots *p, unsigned n, int64_t ahead, int64_t now);

/*
 * Claims the slot for a sequence that is not before the origin, and moves the
 * window on if needed.  Returns the address where the payload belongs, or NULL
 * if the packet was dropped (and counted).
 */
uint8_t *slots_give(struct slots *p, uint64_t rel, bool readable);

/*
 * slots_sample copies a frame of one packet into the ring if it is one of those
 * that are chosen; one of several packets is noted by its first one, and copied
 * by slots_frame_take when all of them are there, or given up when its block
 * leaves.  One such frame is waited for at a time.  The ring belongs to the
 * calling thread; there is one.
 */
void slots_sample(struct slots *p, const struct format_packet *f,
		  const void *payload, uint64_t rel);
void slots_frame_take(struct slots *p); /* if frame_waits */

/* Sorts packets of one source as one batch.  The caller has counted them as
 * datagrams. */
void slots_sort(struct slots *p, struct prediction *prediction,
		const struct receive_packet *packet, unsigned n);

/* Hands closed blocks on and returns unused ones to the pool, unless closed
 * ones wait for the frames per second. */
void slots_release(struct slots *p);

/* slots_holds is true while batches are held.  Then slots_held_aim aims the
 * first pairs at held blocks, and returns their number. */
bool slots_holds(const struct slots *p);
unsigned slots_held_aim(struct slots *p, struct receive_pair *pair, unsigned n);

/* Holds a batch; when the stream is learned, also sorts some of the packets
 * that are held. */
void slots_held_batch(struct slots *p, const struct receive_packet *packet,
		      unsigned n);

/* Sorts up to `most` held packets, once the stream is learned. */
void slots_held_place(struct slots *p, uint64_t most);

/* Stop holding: packets that were held too long; all packets, at the end. */
void slots_held_age(struct slots *p);
void slots_held_flush(struct slots *p);

/* Begins a run at this absolute sequence. */
void slots_run_from(struct slots *p, uint64_t base);

/* Begins a run for formats without a sequence, whose packets count as they
 * come. */
void slots_run_arrival(struct slots *p);

/* Parks a packet that is far from the window, as a candidate. */
void slots_park(struct slots *p, const struct receive_packet *k,
		const struct format_packet *f);

/* Parks a packet that is inside the window, but may come from a counter that
 * restarted there.  False: it does not look like that, and was not parked. */
bool slots_echo(struct slots *p, uint64_t rel, const struct receive_packet *k,
		const struct format_packet *f);

/* Tells candidates and the echo that n packets of the current run came.
 * `ahead` is the steady time at which the last of them came that had the
 * highest sequence so far, or SLOTS_NEVER. */
#define SLOTS_NEVER INT64_MIN
void slots_oppose(struct slots *p, unsigned n, int64_t ahead);

/* Decides about the echo before the window moves: it becomes a run if it is
 * long enough and began by `since` (steady ns), else its packets are duplicates
 * or late. */
void slots_echo_settle(struct slots *p, int64_t since);

/* Begins a run for each unopposed candidate that began by `since` (steady
 * ns). */
void slots_runs_begin(struct slots *p, int64_t since);

/* Decides at the end: a last candidate may become a run, the others are
 * dropped. */
void slots_runs_flush(struct slots *p);

#endif
