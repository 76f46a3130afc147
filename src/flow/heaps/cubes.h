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
 *   cubes_run.c   decides when a run begins
 */

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

/* Guess the same from earlier heaps: the item from one of the same length, the
 * time from counts.  False: it cannot be guessed. */
bool cubes_guess_item(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);
bool cubes_guess_time(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);

/* Notes where the item of such heaps lies, if this packet says so and none did
 * before.  Called for packets that wait, so that pieces of the heap before,
 * whose head came before the start, find their place. */
void cubes_item_learn(struct heaps *p, const struct format_piece *piece);

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
