/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_PRIV_H
#define SPATE_FLOW_HEAPS_PRIV_H

#include "flow/bay.h"
#include "flow/heaps.h"
#include "flow/ranges.h"
#include "flow/recent.h"
#include "flow/shifts.h"
#include "flow/spare.h"
#include "flow/steps.h"

/*
 * What the halves of heaps share: heaps.c sorts batches, heaps_aim.c says
 * where the next pieces should land, and each kind of store (rows.c, cube.c)
 * gives heaps their memory.
 */
enum {
	HEAPS_LIVE = 8,
	HEAPS_OPEN = 2,	  /* blocks */
	HEAPS_AGREE = 32, /* pieces that make a run of a candidate */
	HEAPS_WHOLE = 8,  /* or as many that are a whole heap */
};

/* One that still gets pieces. */
struct heap {
	bool live;
	bool parked;		  /* of a candidate; */
	enum recent_answer known; /* then, what of it was there */
	uint16_t flavour, control;
	uint32_t sender;
	uint64_t count, length;
	struct ranges ranges;
	/* Which of its bytes are stored, and where the first of them is. */
	uint64_t skip, keep;
	uint8_t *at;
	uint32_t pieces, items;
	int64_t last;	/* piece; steady */
	uint64_t order; /* of beginning */

	/* Of a row. */
	struct bay *bay;
	struct note *note;
	uint64_t items_late; /* heaps::batch in which items were noted down
				that are written at its end */
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

/* Heaps of a run that may be about to begin; see rows_run.c. */
struct rows_candidate {
	struct bay *bay; /* NULL: there is none */
	uint32_t sender;
	uint32_t pieces, late;
	uint64_t bytes;
	bool whole; /* a heap of it is, */
	bool sure;  /* of as many pieces as make it a run */
	int64_t since;
};

struct rows {
	struct bay bay[HEAPS_OPEN + 1];
	struct bay *open[HEAPS_OPEN];
	unsigned opens;
	struct block *ahead; /* aimed at, to be opened next */
	uint64_t ahead_aimed;
	struct rows_candidate candidate;
	struct steps steps;
	/* The control heap that began a stream, last. */
	uint64_t start;
	uint32_t start_sender;
	int64_t started;
	struct block *closed, **closed_end, *unused;
};

struct heaps;

struct heaps_kind {
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
	/* A piece was taken. */
	void (*taken)(struct heaps *p, struct heap *h,
		      const struct format_piece *piece);
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
	uint64_t batch;	  /* its number */
	int64_t now_ns, now;

	uint32_t run;
	union {
		struct rows rows;
	};
};

/* Shared by the places of an intake, for the time of one batch. */
struct heaps_spare {
	struct shifts shifts;
	struct receive_packet rest[RECEIVE_BATCH];
	uint64_t item[NOTES_ITEMS];
	uint8_t head[UINT16_MAX + 1];
	bool told_large;
};

extern const struct heaps_kind rows_kind;

/* ---- heaps.c --------------------------------------------------------- */

/*
 * Settles what is sorted so far, and takes the packets that are not out of
 * the memory they landed in: for what writes to blocks in the middle of a
 * batch.
 */
void heaps_cut(struct heaps *p);

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
