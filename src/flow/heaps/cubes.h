/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_HEAPS_CUBES_H
#define SPATE_FLOW_HEAPS_CUBES_H

#include "flow/heaps/heaps_priv.h"

/*
 * What the parts of a cube share.
 *
 *   cubes.c       slots of the window, and the heaps that have them
 *   cubes_place.c which slot a heap has
 *   cubes_time.c  and when that is known
 *   cubes_head.c  what the items of a packet say: which bytes are stored, and
 *                 when the heap is from
 *   cubes_early.c what waits until that is known
 *   cubes_aim.c   where the next pieces will land
 *   cubes_run.c   when a run begins
 *   cubes_side.c  what is told beside the data: controls and descriptors
 */

/* What is known of a heap when a piece of it comes. */
struct cube_head {
	bool item;	      /* it is among these items: */
	bool timed;	      /* the same, or the heap's count tells */
	uint64_t skip, bytes; /* where the item is in the heap, and how long */
	uint64_t value;	      /* time */
};

/* ---- cubes_head.c ---------------------------------------------------- */

void cubes_head(struct heaps *p, const struct format_piece *piece,
		struct cube_head *head);

/* As of the heaps before, where a heap is as long as one of them.  False: it
 * cannot be told. */
bool cubes_guess_item(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);
bool cubes_guess_time(const struct heaps *p, const struct format_piece *piece,
		      struct cube_head *head);

/* Notes where the item of such heaps lies, if the packet says so and none did
 * before: while it waits, for packets of the heap before, whose head came
 * before the start. */
void cubes_item_learn(struct heaps *p, const struct format_piece *piece);

/* Is the item as long as a slot?  Else counts why not. */
bool cubes_item_check(struct heaps *p, const struct format_piece *piece,
		      const struct cube_head *head);

/* The slot of that time, which may be before 0; false: there is none.  Of the
 * second time there is, the difference is the step. */
bool ticks_slot(struct ticks *t, const struct format_shape *shape,
		uint64_t value, int64_t *rel);

/* Slot 0 as an index of all times. */
uint64_t ticks_base(const struct ticks *t);

/* ---- cubes.c --------------------------------------------------------- */

/* A block of the window, with notes; NULL without memory. */
struct block *cubes_block(struct heaps *p, unsigned i);

bool cubes_slot_taken(const struct heaps *p, const struct block *b,
		      uint32_t slot);

/* Nothing came for a heap's slot. */
static inline void
cubes_slot_clear(struct heap *h)
{
	notes_card(h->b, h->slot)->ranges = 0;
	h->b->filled -= h->pieces;
}

/* Makes a heap live that has this slot. */
struct heap *cubes_lay(struct heaps *p, const struct receive_packet *k,
		       const struct format_piece *piece,
		       const struct cube_head *head, struct block *b,
		       uint32_t slot);

/* Moves the window so that a slot so far behind its origin is in it. */
void cubes_reach_out(struct heaps *p, uint64_t off);

/* ---- cubes_place.c: heaps_kind::begin -------------------------------- */

struct heap *cubes_begin(struct heaps *p, const struct receive_packet *k,
			 const struct format_piece *piece);

/* ---- cubes_time.c ---------------------------------------------------- */

/* The newest heap is what times are measured from. */
void cubes_ticks(struct heaps *p, const struct format_piece *piece,
		 uint64_t value, uint64_t rel);

/* All that came of a heap was for nothing. */
void cubes_undo(struct heaps *p, struct heap *h, enum drop why);

/* heaps_kind::items */
bool cubes_items(struct heaps *p, struct heap *h,
		 const struct format_piece *piece, bool in_place);

/* ---- cubes_early.c --------------------------------------------------- */

/* The packet that is looked at waits.  False: it cannot, or did for long. */
bool cubes_wait(struct heaps *p, const struct format_piece *piece);

/* The same while nothing is known of the stream yet, of whatever comes; true
 * with heaps::again: it has to be looked at again. */
bool cubes_begin_wait(struct heaps *p, const struct format_piece *piece);

/* Looks at those that wait, if more is known than before, or for the last
 * time. */
void cubes_early_try(struct heaps *p, bool last);

/* ---- cubes_aim.c: heaps_kind::aim ------------------------------------ */

unsigned cubes_aim(struct heaps *p, struct receive_pair *pair, unsigned n);

/* ---- cubes_run.c ----------------------------------------------------- */

/* A heap that has no place in the run there is: parks it with a candidate for
 * another.  NULL and `again`: that is the run now, so look again; NULL: it is
 * counted, as `why`. */
struct heap *cubes_park(struct heaps *p, const struct receive_packet *k,
			const struct format_piece *piece,
			const struct cube_head *head, enum drop why,
			bool *again);

void cubes_park_judge(struct heaps *p);

/* A piece came where the run is. */
void cubes_oppose(struct heaps *p);

/* Unopposed since then, it is the next run; else it is none. */
void cubes_park_settle(struct heaps *p, int64_t since, bool end);

/* ---- cubes_side.c ---------------------------------------------------- */

/* The packet's items: is there something to collect? */
void cubes_side_items(struct heaps *p, const struct format_piece *piece,
		      const uint64_t *item, uint32_t n);

/* A piece came, of a heap that is stored or not. */
void cubes_side_piece(struct heaps *p, const struct format_piece *piece);

void cubes_side_control(struct heaps *p, const struct format_piece *piece);

/* There is a block that it can be told with. */
void cubes_side_tell(struct heaps *p, struct block *b);

#endif
