/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_HEAPS_PRIV_H
#define SPATE_FLOW_HEAPS_HEAPS_PRIV_H

#include "flow/heaps/heaps.h"
#include "flow/heaps/ranges.h"
#include "flow/place/relocate.h"
#include "flow/place/placement.h"
#include "flow/place/window.h"

/*
 * State and functions that the parts of heaps share.  heaps.c sorts batches, has
 * the table of live heaps and predicts where the next pieces should land;
 * heap_candidate.c keeps heaps that may be of the next run; and each kind of
 * store, rows.c and cubes.c, gives heaps their memory.
 *
 *   aim -> (receive) -> for each packet: [begin] -> take -> [finish]
 *                       -> release -> aim ...        age now and then
 */
enum {
	HEAPS_LIVE = 8,
	HEAPS_WHOLE = 8, /* pieces of a complete heap that make a candidate a
			    run */
};

/* A live heap: it may still get pieces. */
struct heap {
	bool live;
	bool parked; /* belongs to a candidate */
	/* Reason to drop its pieces if the candidate is no run. */
	enum drop why;
	bool held; /* its pieces are not counted as placed yet */
	uint16_t flavour, control;
	uint32_t sender;
	uint64_t count, length;
	struct ranges ranges;
	/* Bytes of the heap before the stored part, bytes of that part, and the
	 * address of its first byte. */
	uint64_t skip, keep;
	uint8_t *at;
	uint32_t pieces, items;
	uint64_t bytes; /* stored bytes that came */
	int64_t last;	/* steady ns, arrival of its newest piece */
	uint64_t order; /* rank by age: higher began later */

	/* The kind's own part, by heaps::kind. */
	union {
		struct {
			struct row_block *block;
			struct note *note;
			/* Times it was moved to another block. */
			uint32_t moves;
			/* heaps::batch in which items were noted down that
			 * are written at its end. */
			uint64_t items_late;
		} row;
		struct {
			struct block *b;
			uint32_t slot;
			uint64_t rel; /* that slot as an index in the run */
		} cube;
	};
};

/* Predictions: sizes of the next heap, as far as recent heaps agree. */
struct guess {
	uint64_t length;       /* bytes of a heap; 0: not known */
	uint32_t datagram;     /* bytes of each datagram but a heap's last */
	uint32_t first, later; /* header bytes of its first packet, of later
				  ones */
	uint32_t first_items;  /* item pointers in the first packet */
	uint32_t items, room;  /* item pointers of a whole heap; header bytes
				  when stored */
	uint32_t pieces;       /* packets of a whole heap */
};

/* A candidate: heaps of a run that may be about to begin. */
struct heap_candidate {
	struct block *b; /* has its heaps; NULL: no candidate */
	uint32_t sender;
	uint32_t pieces;
	uint32_t need;		   /* pieces that make it a run */
	uint32_t drop[DROP_KINDS]; /* its pieces by the reason to drop them, if
				      it is no run */
	uint64_t bytes;
	bool whole;		    /* one of its heaps is complete, with more
				       than one piece */
	bool sure;		    /* one is complete, with HEAPS_WHOLE pieces
				       or more */
	uint32_t heaps, incomplete; /* heaps that are finished */
	int64_t since;		    /* steady ns; it began */
};

struct heaps;

/* The part of a placement that differs by kind, in the order of a batch. */
struct heaps_kind {
	/* Aims pairs at the memory where the next pieces belong.  Returns how
	 * many of the n it aimed. */
	unsigned (*aim)(struct heaps *p, struct receive_pair *pair, unsigned n);
	/* Begins a heap that is not live, with its first piece.  Returns it, or
	 * NULL if the piece was counted as dropped, or heaps::again is set. */
	struct heap *(*begin)(struct heaps *p, const struct receive_packet *k,
			      const struct format_piece *piece);
	/* Makes room for a piece of a live heap and takes in its items, then
	 * has heaps_take() account for it; or counts it as dropped.  The
	 * remaining packets of the batch may lie elsewhere afterwards. */
	void (*take)(struct heaps *p, struct heap *h,
		     const struct format_piece *piece);
	/* Ends a heap, which is no longer live. */
	void (*finish)(struct heaps *p, struct heap *h, bool complete);
	/* Decides about what began by `since` (steady ns), and closes blocks
	 * that did.  INT64_MAX: the recording ends, and all blocks close. */
	void (*age)(struct heaps *p, int64_t since);
	/* Ends a batch: closed blocks leave, unused ones go back. */
	void (*release)(struct heaps *p);
};

/* A placement of heaps; the first member of struct rows and struct cubes. */
struct heaps {
	struct placement base;
	struct placement_args a;
	const struct heaps_kind *kind;
	struct heap live[HEAPS_LIVE];
	struct heap *current; /* heap that got the last piece */
	struct heap *newest;  /* newest heap of the run */
	uint64_t order;
	struct guess guess;
	struct heap_candidate candidate;
	struct block *unused; /* blocks that return to the pool with the
				 batch: packets of it may lie in them */

	/* State of one batch. */
	struct heaps_scratch *scratch;
	const struct receive_packet *packet;
	unsigned at, packets;
	const void *head; /* header of the packet that is looked at, in one
			     piece */
	bool cut;	  /* the rest of the batch was copied aside */
	bool again;	  /* look at this packet again: its heap was given up */
	uint64_t batch;	  /* number of the batch */
	int64_t now_ns;	  /* UTC ns, arrival of the packet */
	int64_t now;	  /* steady ns, time of the batch */
};

/* Scratch memory of the placements of an intake, valid for one batch. */
struct heaps_scratch {
	struct receive_packet rest[RECEIVE_BATCH];
	uint64_t item[NOTES_ITEMS], kept[NOTES_ITEMS];
	uint8_t head[UINT16_MAX + 1];
	bool told_large, told_item;
	uint8_t aside[]; /* relocate::aside */
};

/* Make the heaps of a kind, zeroed but for what is the kind's own.  NULL: no
 * memory. */
struct heaps *rows_make(const struct placement_args *args);
struct heaps *cubes_make(const struct placement_args *args);

/* ---- heaps.c --------------------------------------------------------- */

/*
 * Moves everything that is sorted so far, and copies the remaining packets of
 * the batch out of the memory they landed in.  Call it before writing to a
 * block in the middle of a batch.
 */
void heaps_cut(struct heaps *p);

/* Sorts a packet again that was counted when it came, and lies in memory that
 * no heap has.  Copies the remaining packets of the batch aside first. */
void heaps_again(struct heaps *p, const struct receive_packet *k);

static inline void
heaps_drop(struct heaps *p, enum drop why)
{
	p->base.counts.drop[why]++;
}

/* The packet that is being looked at. */
static inline const struct receive_packet *
heaps_packet(const struct heaps *p)
{
	return &p->packet[p->at];
}

/* Compares a piece with the bytes of its heap that came.  Packets without heap
 * bytes are new only as the first of their heap. */
static inline enum ranges_answer
heaps_look(const struct heap *h, const struct format_piece *piece)
{
	uint32_t from = (uint32_t)piece->offset;

	if (piece->bytes)
		return ranges_look(&h->ranges, from, from + piece->bytes);
	return h->pieces ? RANGES_DUPLICATE : RANGES_NEW;
}

/* True if that is an answer to drop a piece for, which it then counts. */
static inline bool
heaps_refuse(struct heaps *p, enum ranges_answer answer)
{
	if (answer == RANGES_NEW)
		return false;
	heaps_drop(p, answer == RANGES_FULL ? DROP_FRAGMENTED : DROP_DUPLICATE);
	return true;
}

/* Takes a new piece, for which the heap has room: notes where its bytes have to
 * move, and counts them.  Returns how many of them are stored. */
uint32_t heaps_take(struct heaps *p, struct heap *h,
		    const struct format_piece *piece);

/* Makes a live heap without memory; the oldest may have to be finished for
 * it. */
struct heap *heaps_add(struct heaps *p, const struct format_piece *piece,
		       uint32_t sender);

void heaps_finish(struct heaps *p, struct heap *h);

/* Forgets a heap of which nothing is kept. */
void heaps_remove(struct heaps *p, struct heap *h);

/* Counts pieces that got their place in a block.  True: they are its first. */
static inline bool
heaps_fill(const struct heaps *p, struct block *b, uint32_t pieces)
{
	bool first = !b->filled;

	b->filled += pieces;
	if (first)
		b->first_ns = b->last_ns = p->now_ns;
	if (b->last_ns < p->now_ns)
		b->last_ns = p->now_ns;
	return first;
}

/* Estimates how many pieces are missing in a heap. */
static inline uint32_t
heaps_missing(const struct heaps *p, const struct heap *h)
{
	const struct guess *g = &p->guess;
	uint64_t n = ranges_missing(
	    &h->ranges, g->datagram > g->later ? g->datagram - g->later : 0);

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Puts an unused block aside until the end of the batch. */
static inline void
heaps_unused(struct heaps *p, struct block *b)
{
	b->next = p->unused;
	p->unused = b;
}

/* ---- heap_candidate.c ------------------------------------------------- */

/* Begins a candidate behind a run with that many heaps; 0: it is not behind.
 * False: no block is free. */
bool heap_candidate_begin(struct heaps *p, uint32_t sender, uint64_t behind);

/* Account for a piece of a parked heap, of which `bytes` are stored, and for a
 * parked heap that is finished. */
void heap_candidate_piece(struct heaps *p, const struct heap *h,
			  uint32_t bytes);
void heap_candidate_finish(struct heaps *p, const struct heap *h,
			   bool complete);

/* Takes the pieces of a heap out of the account again. */
void heap_candidate_withdraw(struct heaps *p, const struct heap *h);

/* True if there are enough pieces for a run. */
bool heap_candidate_sure(const struct heaps *p);

/* True if there is a candidate that began by `since`, steady ns. */
static inline bool
heap_candidate_due(const struct heaps *p, int64_t since)
{
	return p->candidate.b && p->candidate.since <= since;
}

/* End the candidate.  Dropped: its heaps are forgotten, its pieces counted as
 * drops.  Taken: it is a run, its heaps count, and its block is the caller's. */
void heap_candidate_drop(struct heaps *p);
void heap_candidate_take(struct heaps *p);

/* ---- heaps.c, where pieces should land -------------------------------- */

/* Memory for the stored part of a heap: `keep` bytes after the first `skip` of
 * the heap. */
struct spot {
	uint8_t *at;
	uint64_t skip, keep;
};

/* Aims pairs i to n-1 at a heap of `length` bytes, from byte `from` on.
 * Returns how many it wrote. */
unsigned heaps_aim_at(struct heaps *p, const struct spot *spot, uint64_t from,
		      uint64_t length, struct receive_pair *pair, unsigned i,
		      unsigned n);

#endif
