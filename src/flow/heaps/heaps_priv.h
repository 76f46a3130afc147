/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_HEAPS_PRIV_H
#define SPATE_FLOW_HEAPS_HEAPS_PRIV_H

#include "flow/heaps/bay.h"
#include "flow/heaps/heaps.h"
#include "flow/heaps/ranges.h"
#include "flow/heaps/recent.h"
#include "flow/place/shifts.h"
#include "flow/place/spare.h"
#include "flow/heaps/steps.h"
#include "flow/place/window.h"

/*
 * What the halves of heaps share: heaps.c sorts batches, heaps_aim.c says
 * where the next pieces should land, and each kind of store (rows.c, cube.c)
 * gives heaps their memory.
 */
enum {
	HEAPS_LIVE = 8,
	HEAPS_OPEN = 2,	    /* blocks */
	HEAPS_AGREE = 32,   /* pieces that make a run of a candidate */
	HEAPS_WHOLE = 8,    /* or as many that are a whole heap */
	HEAPS_BEHIND = 256, /* pieces, of one behind where the run is */
};

/* One that still gets pieces. */
struct heap {
	bool live;
	bool parked;   /* of a candidate; */
	enum drop why; /* then, what its pieces are if that is none */
	bool held;     /* its pieces are not counted yet */
	uint16_t flavour, control;
	uint32_t sender;
	uint64_t count, length;
	struct ranges ranges;
	/* Which of its bytes are stored, and where the first of them is. */
	uint64_t skip, keep;
	uint8_t *at;
	uint32_t pieces, items;
	uint64_t bytes; /* in them */
	int64_t last;	/* piece; steady */
	uint64_t order; /* of beginning */

	/* Of a row. */
	struct bay *bay;
	struct note *note;
	uint32_t moves;	     /* to other bays */
	uint64_t items_late; /* heaps::batch in which items were noted down
				that are written at its end */

	/* Of a cube. */
	struct block *b;
	uint32_t slot;
	uint64_t rel; /* that slot, of the run */
};

/* What heaps of this stream are like, as far as they are alike. */
struct guess {
	uint64_t length;       /* of a heap; 0: not known */
	uint32_t datagram;     /* of all but the last of a heap */
	uint32_t first, later; /* headers */
	uint32_t first_items;  /* in the first */
	uint32_t items, room;  /* of a whole heap, stored */
	uint32_t pieces;       /* of a whole heap */
};

/* Heaps of a run that may be about to begin; see rows_run.c, cubes_run.c. */
struct heaps_candidate {
	uint32_t sender;
	uint32_t pieces;
	uint32_t need;		   /* of them, to be a run */
	uint32_t drop[DROP_KINDS]; /* what they are if it is none */
	uint64_t bytes;
	bool whole;		    /* a heap of it is, */
	bool sure;		    /* of as many pieces as make it a run */
	uint32_t heaps, incomplete; /* of a cube: that are finished */
	int64_t since;
};

struct rows {
	struct bay bay[HEAPS_OPEN + 1];
	struct bay *open[HEAPS_OPEN];
	unsigned opens;
	struct block *ahead; /* aimed at, to be opened next */
	uint64_t ahead_aimed;
	struct heaps_candidate candidate;
	struct bay *parked; /* its heaps; NULL: there is none */
	struct steps steps;
	uint64_t outside; /* as in the counts, once no block will tell of it */
	/* The control heap that began a stream, last. */
	uint64_t start;
	uint32_t start_sender;
	int64_t started;
	struct block *closed, **closed_end, *unused;
};

/* Which slot a time is. */
struct ticks {
	uint64_t step;	      /* from slot to slot; 0: not known */
	uint64_t first;	      /* of slot 0 */
	uint64_t value, slot; /* of the newest there was */
};

enum {
	CUBES_KNOWN = 2, /* lengths of heaps */
	CUBES_CONTROLS = 8,
	CUBES_DESCRIPTORS = 32,
	CUBES_SIDE = 8 << 10, /* bytes of descriptors, */
	CUBES_RANGES = 16,    /* and ranges that they come in */
};

/* Where the item is in a heap of that length. */
struct cube_known {
	uint64_t length, skip;
	bool any;
};

/* Descriptors on their way from a heap to the notes of a block. */
struct cube_side {
	struct side control[CUBES_CONTROLS];
	unsigned controls;

	bool busy, ready, done; /* collecting; all there; told */
	uint64_t count;
	uint32_t sender;
	uint64_t from, to;  /* bytes of the heap */
	struct ranges came; /* of them */
	struct range range[CUBES_RANGES];
	uint64_t at[CUBES_DESCRIPTORS];
	uint32_t bytes[CUBES_DESCRIPTORS];
	unsigned n;
	uint8_t data[CUBES_SIDE];
};

/* Packets that wait until it is known where they belong. */
struct cube_early {
	struct block *b; /* in which they lie, behind the list of them; NULL:
			    there are none */
	uint64_t used;	 /* bytes of it */
	unsigned n;
	bool news;     /* a heap's time became known since they were tried */
	bool last;     /* they are tried for the last time */
	int64_t since; /* when the first came; steady */
	struct cube_wait *tried; /* the one that is looked at again; or NULL */
};

struct cubes {
	struct window window;
	struct cube_early early;
	struct ticks ticks;
	/* Of the newest heap, to guess times by. */
	uint64_t count, count_step;
	struct cube_known known[CUBES_KNOWN];
	unsigned knowns;
	struct heaps_candidate candidate;
	struct block *parked; /* its slots; NULL: there is none */
	struct ticks parked_ticks;
	uint64_t given;		     /* its step, if it need not be learned */
	struct heap *begun, *second; /* what it was learned of, */
	uint32_t second_slot;
	uint32_t seconds;     /* and heaps since, with that */
	struct heap *learner; /* what the run's step was learned of, while no
				 other heap agrees with it */
	uint32_t strangers;
	uint64_t starved; /* pieces of before the first run: no memory */
	int64_t parked_born;
	uint64_t parked_count;
	struct cube_side side;
};

struct heaps;

struct heaps_kind {
	void (*make)(struct heaps *p);
	/* The first piece of a heap that is not live: makes it so, or counts
	 * why not. */
	struct heap *(*begin)(struct heaps *p, const struct receive_packet *k,
			      const struct format_piece *piece);
	/* Is there room for these bytes?  Else counts why not.  The packets of
	 * the batch may lie elsewhere afterwards. */
	bool (*reach)(struct heaps *p, struct heap *h,
		      const struct format_piece *piece);
	/* Takes in items, which are not the first time here or are; else
	 * counts why not. */
	bool (*items)(struct heaps *p, struct heap *h,
		      const struct format_piece *piece, bool in_place);
	/* Its pieces are so small and out of order that there is no room for
	 * the headers that they need if no others come: makes some. */
	bool (*widen)(struct heaps *p, struct heap *h);
	/* A piece was taken, of which so many bytes are stored. */
	void (*taken)(struct heaps *p, struct heap *h,
		      const struct format_piece *piece, uint32_t kept);
	/* It is not live any more. */
	void (*finish)(struct heaps *p, struct heap *h, bool complete);
	unsigned (*aim)(struct heaps *p, struct receive_pair *pair, unsigned n);
	void (*age)(struct heaps *p);
	void (*flush)(struct heaps *p);
	void (*release)(struct heaps *p);
};

struct heaps {
	struct place base;
	struct place_args a;
	const struct heaps_kind *kind;
	struct heap live[HEAPS_LIVE];
	struct heap *current; /* the one that got the last piece */
	struct heap *newest;  /* of those that are not parked */
	uint64_t order;
	struct guess guess;
	struct recent recent;

	/* The batch. */
	struct heaps_spare *spare;
	const struct receive_packet *packet;
	unsigned at, packets;
	const void *head; /* of the piece that is looked at, whole */
	bool cut;	  /* what is left of it was copied aside */
	bool again;	  /* its heap was given up, not the piece */
	uint64_t batch;	  /* its number */
	int64_t now_ns;	  /* UTC, of the packet */
	int64_t now;	  /* steady, of the batch */

	uint32_t run;
	union {
		struct rows rows;
		struct cubes cubes;
	};
};

/* Shared by the places of an intake, for the time of one batch. */
struct heaps_spare {
	struct shifts shifts;
	struct receive_packet rest[RECEIVE_BATCH];
	uint64_t item[NOTES_ITEMS], kept[NOTES_ITEMS];
	uint8_t head[UINT16_MAX + 1];
	bool told_large, told_item;
};

extern const struct heaps_kind rows_kind, cubes_kind;

/* ---- heaps.c --------------------------------------------------------- */

/*
 * Settles what is sorted so far, and takes the packets that are not out of
 * the memory they landed in: for what writes to blocks in the middle of a
 * batch.
 */
void heaps_cut(struct heaps *p);

/* Looks once more at a packet that was counted when it came, and lies in
 * nobody's memory.  What is left of the batch is out of the way then. */
void heaps_again(struct heaps *p, const struct receive_packet *k);

static inline void
heaps_drop(struct heaps *p, enum drop why)
{
	p->base.counts.drop[why]++;
}

/* The payload of the packet that is looked at is where it belongs? */
static inline const struct receive_packet *
heaps_packet(const struct heaps *p)
{
	return &p->packet[p->at];
}

/* ---- heaps_live.c ---------------------------------------------------- */

struct heap *heaps_find(struct heaps *p, const struct format_piece *piece,
			uint32_t sender);

/* A live heap without memory; the oldest may have to be finished for it. */
struct heap *heaps_add(struct heaps *p, const struct format_piece *piece,
		       uint32_t sender);

void heaps_finish(struct heaps *p, struct heap *h);
bool heap_complete(const struct heap *h);

/* Forgets a heap of which nothing is kept. */
void heaps_remove(struct heaps *p, struct heap *h);

/* Learns from a piece what the next ones will be like. */
void heaps_learn(struct heaps *p, const struct heap *h,
		 const struct format_piece *piece, uint32_t datagram);

/* Finishes those that got nothing for max_age. */
void heaps_age(struct heaps *p);

static inline bool
candidate_sure(const struct heaps_candidate *c)
{
	return c->pieces >= c->need || (c->sure && c->need == HEAPS_AGREE);
}

/*
 * Pieces that it takes behind where the run is, which has so many heaps: a
 * burst of late ones agrees as well as a counter that was restarted does, but
 * then the run goes on.  A run that is short itself does not ask for more, or
 * a counter that restarts would be back where it was before.
 */
static inline uint32_t
candidate_behind(const struct heaps *p, uint64_t heaps)
{
	uint64_t most = heaps * p->guess.pieces / 4 * 3;

	if (most >= HEAPS_BEHIND)
		return HEAPS_BEHIND;
	return most > HEAPS_AGREE ? (uint32_t)most : HEAPS_AGREE;
}

/* A piece of a candidate was taken; a heap of it is finished. */
void heaps_parked_taken(struct heaps_candidate *c, const struct heap *h,
			uint32_t bytes);
void heaps_parked_finish(struct heaps_candidate *c, const struct heap *h,
			 bool complete);

/* It is none: its heaps are gone, its pieces dropped.  Or a run: they are
 * placed. */
void heaps_parked_drop(struct heaps *p, const struct heaps_candidate *c);
void heaps_parked_take(struct heaps *p, const struct heaps_candidate *c);

/* ---- heaps_aim.c ----------------------------------------------------- */

/* Where the stored bytes of a heap go. */
struct spot {
	uint8_t *at;
	uint64_t skip, keep;
};

/* Aims at a heap from byte `from` on; returns how many pairs, of n from the
 * i-th on, it wrote. */
unsigned heaps_aim_at(struct heaps *p, const struct spot *spot, uint64_t from,
		      uint64_t length, struct receive_pair *pair, unsigned i,
		      unsigned n);

/* Is enough known to do so? */
bool heaps_aim_can(const struct heaps *p);

/* Aims the pairs from the i-th on at spare memory. */
void heaps_aim_away(struct heaps *p, struct receive_pair *pair, unsigned i,
		    unsigned n);

#endif
