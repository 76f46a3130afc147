/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_VIEW_VIEW_PRIV_H
#define SPATE_STORE_VIEW_VIEW_PRIV_H

#include "store/recording/foreign.h"
#include "store/recording/recording_priv.h"
#include "store/view/view.h"

/*
 * What the parts of a view share.
 *
 *   view.c         choices, sizes, and how it begins and ends
 *   view_lay.c     pieces, one for each block that has something of it
 *   view_time.c    which slots of a stretch are in the range
 *   view_turn.c    which slots are of the thread
 *   view_thread.c  whether packets are
 *   view_holes.c   which slots have a packet
 *   view_find.c    spans
 *   view_fill.c    fill for them
 */

/* A stretch of the recording's file, in the order of that: a block's data,
 * or what was never there. */
struct view_stretch {
	size_t place;			 /* in the order */
	const struct recording_block *b; /* it, or the one before it */
	uint64_t at, bytes;		 /* from that one's beginning */
	bool data;
};

/* What a view has of a stretch. */
struct view_piece {
	uint64_t offset; /* in the view */
	uint64_t at;	 /* of its first packet, from the block's beginning */
	uint32_t number; /* of the block */
	uint32_t every : 29; /* slots from one of its packets to the next */
	uint32_t kind : 3;   /* enum view_kind */
};

/* Slots of a block without a packet; `before` it there are so many with. */
struct view_hole {
	uint32_t slot, count, before;
};

/* Where a run has the thread: in every slot whose sequence, divided by
 * `cycle`, leaves `rest`. */
struct view_turn {
	bool known; /* of this run: */
	uint32_t run;
	uint32_t cycle, rest;
	enum { TURN_GOOD, TURN_NONE, TURN_LOST } what;
};

struct view {
	struct recording *rec;
	struct view_choice choice;
	const struct format_ops
	    *format; /* of a thread, or a range; else NULL */
	uint32_t payload, take;
	enum fill_kind stored; /* that holes are filled with on disks */
	bool whole;	       /* nothing but stored bytes */
	bool ranged;
	bool picks; /* holes of a block are left out, or filled anew */

	struct view_piece *piece;
	size_t pieces, room;
	uint64_t bytes;

	/* How far the recording was taken in. */
	bool begun;
	uint64_t number; /* of the last block of it */
	bool timed;	 /* there was one with data: */
	uint64_t last;	 /* its number */
	struct view_turn turn;
	size_t ahead; /* while it is laid out: where there is one that is not
			 taken in; 0: not looked for */

	/* Absolute sequences of the range's ends, where they tell time. */
	bool exact;
	uint64_t from_sequence, to_sequence;

	/* Of the block that was looked at last. */
	bool holed;
	uint64_t holes_number;
	struct view_hole *hole;
	size_t holes, holes_room;
	int holes_err; /* while they are told */
};

static inline bool
view_threaded(const struct view *v)
{
	return v->choice.thread >= 0;
}

enum { VIEW_HEADER = 64 }; /* as much of a packet as is looked at */

static inline uint32_t
view_head_bytes(const struct format_shape *s)
{
	return s->payload < VIEW_HEADER ? s->payload : VIEW_HEADER;
}

/* The sequence, relative to the run, of what is so far from a block. */
static inline uint64_t
view_sequence(const struct view *v, const struct recording_block *b,
	      uint64_t at)
{
	return b->record.first + at / v->payload;
}

/* Slots of a block's data that have a packet; all of them where another
 * recorder's fill is among them and nobody knows where. */
static inline uint64_t
view_present(const struct view *v, const struct recording_block *b)
{
	uint64_t slots = b->bytes / v->payload;

	if (v->rec->foreign && !foreign_knows_holes(v->rec, b->record.number))
		return slots;
	return b->record.present < slots ? b->record.present : slots;
}

/* Takes in what the recording has more than before.  0 or -errno. */
int view_lay(struct view *v);

/* Finds the range's sequences. */
void view_range_begin(struct view *v);
/* Narrows slots [*lo, *hi) of a stretch to what is in the range.  0, -ENOMEM. */
int view_range(struct view *v, const struct view_stretch *s, uint64_t *lo,
	       uint64_t *hi);

/* Finds v->turn of the run that the block at a place is of. */
void view_turn(struct view *v, size_t place);

/* Has v->hole be those of a block.  0; -ENODATA: nobody knows; -EAGAIN: nobody
 * knows yet; -ENOMEM. */
int view_holes(struct view *v, const struct recording_block *b);
/* With these: slots before this one that have a packet; */
uint64_t view_holes_before(const struct view *v, uint64_t slot);
/* the slot of packet `n` of the block, and the end of those in a row; */
uint64_t view_holes_slot(const struct view *v, uint64_t n, uint64_t slots,
			 uint64_t *end);
/* is a slot without one, and up to which are they alike? */
bool view_holes_at(const struct view *v, uint64_t slot, uint64_t slots,
		   uint64_t *end);

/* The place in the order of the block of a number, or where it would be. */
size_t view_place(const struct view *v, uint64_t number);

#endif
