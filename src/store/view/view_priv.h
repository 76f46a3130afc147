/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VIEW_VIEW_PRIV_H
#define SPATE_STORE_VIEW_VIEW_PRIV_H

#include "store/foreign/foreign.h"
#include "store/recording/recording_priv.h"
#include "store/view/view.h"

/*
 * Declarations shared by the files of a view.
 *
 *   view.c         choices, making and freeing a view; spans, fill, and which
 *                  slots of a block have a packet
 *   view_lay.c     lays out pieces, one per block that has a part in the view;
 *                  which slots of a stretch are in the range of time
 *   view_thread.c  which slots belong to the thread, and whether packets do
 */

/* A stretch of the recording's file, in file order: the data of one block, or
 * bytes between blocks for which nothing was recorded. */
struct view_stretch {
	size_t place;			 /* position in the substream's order
					    of blocks */
	const struct recording_block *b; /* the block, or the block before the
					    stretch */
	uint64_t at, bytes;		 /* bytes; `at` counts from the
					    beginning of b */
	bool data;
};

/* The part of a stretch that the view shows. */
struct view_piece {
	uint64_t offset;     /* offset in the view */
	uint64_t at;	     /* first packet, in bytes from the beginning of the
			    block */
	uint32_t number;     /* number of the block */
	uint32_t every : 29; /* slots from one shown packet to the next */
	uint32_t kind : 3;   /* enum view_kind */
};

/* A run of empty slots in a block; `before` counts the slots before it that
 * have a packet. */
struct view_hole {
	uint32_t slot, count, before;
};

/*
 * The slots that belong to the chosen thread in one run: those whose sequence
 * modulo `cycle` is `rest`.  TURN_NONE: the run has no such thread; TURN_LOST:
 * unknown which slots.
 */
struct view_turn {
	bool known; /* valid for `run` */
	uint32_t run;
	uint32_t cycle, rest;
	enum { TURN_GOOD, TURN_NONE, TURN_LOST } what;
};

struct view {
	struct recording *rec;
	struct view_choice choice;
	const struct format_ops
	    *format; /* set for views of a thread or a range; else NULL */
	struct format_shape shape; /* for view_check(): as the recording's, but
				      without the list of threads, which a
				      refresh may replace */
	uint32_t payload, take;
	enum fill_kind stored; /* fill that the recording itself uses */
	bool whole;	       /* the view is the recording's file, or of
				  rows */
	bool ranged;
	bool picks; /* holes inside blocks are left out or filled again */

	struct view_piece *piece;
	size_t pieces, room;
	uint64_t bytes;

	/* The last block that was laid out: */
	bool begun;
	uint64_t number; /* number of that block */
	bool timed;	 /* true: a block with data was laid out */
	uint64_t last;	 /* number of the last block with data */
	struct view_turn turn;
	size_t ahead; /* while the view is laid out: position of the next block
			 with data, as far as it was searched; 0: not searched
			 yet */

	/* Absolute sequences of the range's two ends, if `exact`: sequence
	 * numbers follow from time. */
	bool exact;
	uint64_t from_sequence, to_sequence;

	/* Holes of the block that was asked for last. */
	bool holed;
	uint64_t holes_number;
	struct view_hole *hole;
	size_t holes, holes_room;
	int holes_err; /* set by the callback that collects holes */
};

static inline bool
view_threaded(const struct view *v)
{
	return v->choice.thread >= 0;
}

enum { VIEW_HEADER = 64 }; /* bytes of a packet that are read as its header */

static inline uint32_t
view_head_bytes(const struct format_shape *s)
{
	return s->payload < VIEW_HEADER ? s->payload : VIEW_HEADER;
}

/* Returns the sequence, relative to the run, of the slot `at` bytes from the
 * beginning of block b. */
static inline uint64_t
view_sequence(const struct view *v, const struct recording_block *b,
	      uint64_t at)
{
	return b->record.first + at / v->payload;
}

/* Returns how many slots of a block have a packet; all of them if some are
 * another recorder's fill and it is unknown which. */
static inline uint64_t
view_present(const struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload;

	if (v->rec->foreign &&
	    !foreign_knows_holes(v->rec->foreign, b->record.number))
		return slots;
	return b->record.present < slots ? b->record.present : slots;
}

/* Lays out what the recording has gained.  Returns 0 or -errno. */
int view_lay(struct view *v);

/* Finds the sequences of the range's ends. */
void view_range_begin(struct view *v);

/* Sets v->turn for the run of the block at this position. */
void view_turn(struct view *v, size_t place);

/* Loads the holes of block b into v->hole.  Returns 0; -ENODATA if they are on
 * record nowhere; -EAGAIN if they are not on record yet; -ENOMEM. */
int view_holes(struct view *v, const struct recording_block *b);
/* Returns how many slots before `slot` have a packet.  This and the next two
 * use the holes that view_holes() loaded. */
uint64_t view_holes_before(const struct view *v, uint64_t slot);
/* Returns the slot of packet `n` of the block.  *end: the first slot behind it
 * without a packet. */
uint64_t view_holes_slot(const struct view *v, uint64_t n, uint64_t slots,
			 uint64_t *end);

/* Returns the position of a block number in the substream's order of blocks, or
 * the position that it would have. */
size_t view_place(const struct view *v, uint64_t number);

#endif
