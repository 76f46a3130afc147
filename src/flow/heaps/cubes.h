/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_CUBES_H
#define SPATE_FLOW_HEAPS_CUBES_H

#include "flow/heaps/heaps_priv.h"

/*
 * Functions that the parts of a cube share.
 *
 *   cubes.c       slots of the window and the heaps that have them, times that
 *                 become known, where the next pieces should land
 *   cubes_head.c  reads the items of a packet: the bytes to store, the time,
 *                 what is kept beside the data; keeps packets until these are
 *                 known
 */

/* Conversion of heap times into slots. */
struct ticks {
	uint64_t step;	      /* time from slot to slot; 0: not known */
	uint64_t first;	      /* time of slot 0 */
	uint64_t value, slot; /* time and slot of the newest heap */
};

enum {
	CUBES_KNOWN = 2, /* lengths of heaps for which the item's position is
			    known */
	CUBES_CONTROLS = 8,
	CUBES_DESCRIPTORS = 32,
	CUBES_SIDE = 8 << 10, /* bytes of descriptors */
	CUBES_RANGES = 16,    /* ranges of them that may come apart */
};

/* Position of the stored item in heaps of one length. */
struct cube_known {
	uint64_t length, skip;
	bool any;
};

/* Descriptors and control heaps on their way into the notes of a block. */
struct cube_aux {
	struct aux_item control[CUBES_CONTROLS];
	unsigned controls;

	bool busy, ready, done; /* being collected; all came; written */
	uint64_t count;
	uint32_t sender;
	uint64_t from, to;  /* bytes of the heap from the first to the last
			       descriptor */
	struct ranges came; /* ranges of them that came */
	struct range range[CUBES_RANGES];
	uint64_t at[CUBES_DESCRIPTORS];
	uint32_t bytes[CUBES_DESCRIPTORS];
	unsigned n;
	uint8_t data[CUBES_SIDE];
};

/* Packets that wait until their slot is known. */
struct cube_early {
	struct block *b; /* block that holds their list and behind it the
			    packets; NULL: no packet waits */
	uint64_t used;	 /* bytes of it */
	unsigned n;
	bool news;     /* the time of a heap became known since the last try */
	bool last;     /* they are tried for the last time */
	int64_t since; /* steady ns of arrival of the first */
	struct cube_wait *tried; /* the one that is being tried; or NULL */
};

struct cubes {
	struct heaps heaps;
	struct window window;
	struct cube_early early;
	struct ticks ticks;
	/* Count of the newest heap, and counts per slot, to guess times by. */
	uint64_t count;
	int64_t count_step; /* 0: not known */
	struct cube_known known[CUBES_KNOWN];
	unsigned knowns;
	struct ticks parked_ticks;   /* the candidate's */
	uint64_t given;		     /* the candidate's step, if it need not be
					learned; else 0 */
	struct heap *begun, *second; /* first two heaps of the candidate, which
					set its step */
	uint32_t second_slot;
	uint32_t seconds;     /* heaps parked after the first */
	struct heap *learner; /* heap from which the run's step was learned,
				 until another heap agrees with it */
	/* Pieces that did not agree with the candidate. */
	uint32_t strangers;
	/* Pieces lost for lack of memory before the first run. */
	uint64_t starved;
	uint64_t parked_count; /* count of its newest heap */
	struct cube_aux aux;
};

static inline struct cubes *
cubes_of(const struct heaps *p)
{
	return (struct cubes *)p;
}

/* Facts about a heap, read from one of its packets. */
struct cube_head {
	bool item;  /* the packet's items include the one to store */
	bool timed; /* `value` is known: from an item, or the heap's count */
	/* Offset of the item in the heap, and its length. */
	uint64_t skip, bytes;
	uint64_t value; /* the heap's time */
};

/* ---- cubes_head.c ---------------------------------------------------- */

void cubes_head(struct heaps *p, const struct format_piece *piece,
		struct cube_head *head);

/* Finds where the item lies in heaps of this length.  NULL: it is not known. */
const struct cube_known *cubes_known(const struct heaps *p, uint64_t length);

/* Guess the same from earlier heaps: the item from one of the same length, the
 * time from counts.  False: it cannot be guessed. */
bool cubes_guess_item(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);
bool cubes_guess_time(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);

/* Checks that the item is as long as a slot.  False: it is not, and the piece
 * was counted as dropped. */
bool cubes_item_check(struct heaps *p, const struct format_piece *piece,
		      const struct cube_head *head);

/* Finds the slot of a time; *rel may be negative.  False: the time is not that
 * of a slot.  If the step is not known, this time sets it. */
bool ticks_slot(struct ticks *t, const struct format_shape *shape,
		uint64_t value, int64_t *rel);

/* Number of slot 0, counted from time 0. */
uint64_t ticks_base(const struct ticks *t);

/* ---- cubes_head.c, packets that wait ----------------------------------- */

/* Makes the current packet wait.  False: it cannot wait, or has waited long
 * enough. */
bool cubes_wait(struct heaps *p, const struct format_piece *piece);

/* Makes any packet wait while nothing is known about the stream yet.  True: it
 * waits, or, with heaps::again set, has to be looked at again. */
bool cubes_begin_wait(struct heaps *p, const struct format_piece *piece);

/* Tries the waiting packets again if more is known now, or if it is the last
 * time. */
void cubes_early_try(struct heaps *p, bool last);

/* ---- cubes_head.c, beside the data ------------------------------------- */

/* Collects descriptors from a piece, whether its heap is stored or not. */
void cubes_side_piece(struct heaps *p, const struct format_piece *piece);

void cubes_side_control(struct heaps *p, const struct format_piece *piece);

/* Writes controls and descriptors into the notes of this block. */
void cubes_side_tell(struct heaps *p, struct block *b);

#endif
