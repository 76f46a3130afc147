/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_WINDOW_H
#define SPATE_FLOW_PLACE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/memory/pool.h"

/*
 * A window is the part of a run that packets may still come for: two blocks
 * are open, and a third may be there so that the kernel has somewhere to put
 * what comes after them.
 *
 *        origin          +slots          +2 slots         +3 slots
 *          | open[0]       | open[1]       | open[2]: ahead   |
 *
 * It only ever moves forward.  What it leaves behind is closed, in order; a
 * block without a packet becomes part of the next one's gap.  Closed blocks
 * and blocks that were never used wait for window_release, because packets
 * of the batch that is being sorted may lie in their memory.
 *
 * A first block that is full leaves at once, so that its substream has the
 * memory for what comes next: `gone`.  The window stays where it is, and what
 * comes for that block is still known to be a duplicate.
 *
 * Sequences are relative to the run.  The receiver's thread only.
 */
enum { WINDOW_OPEN = 2, WINDOW_BLOCKS = 3 };

struct window {
	struct stock *stock; /* set these four, and init it from that */
	unsigned sub;
	uint32_t slots, parts;
	bool running; /* a run has begun, and has not ended */
	uint32_t run;
	uint64_t base;	  /* absolute sequence of the run's slot 0 */
	uint64_t origin;  /* of open[0] */
	uint64_t highest; /* one behind the highest that came */
	uint64_t gap;	  /* slots without any packet before open[0] */
	uint64_t stored;  /* one behind the last packet in a block that left;
			     0: none has */
	uint64_t lifted;  /* `highest` was raised to here by a block that closed
			     early: no packet came there; 0: never */
	uint64_t outside; /* see window_outside(), of runs that have ended, and
			     of the beginning of this one */
	struct block *open[WINDOW_BLOCKS]; /* NULL: no memory taken yet */
	bool gone;		   /* open[0] has left before its time */
	bool holes;		   /* and was not full */
	int64_t born[WINDOW_OPEN]; /* first packet's arrival; steady */
	struct block *closed, **closed_end;
	struct block *unused;
};

void window_init(struct window *w, const struct window *set);

void window_begin(struct window *w, uint32_t run, uint64_t base);

/* Closes what is open.  Nothing where nothing runs. */
void window_end(struct window *w);

/*
 * Slots of all its runs that no block tells of: before the first block with
 * packets, and behind the last one up to the highest packet that came, where
 * there was no memory for them.  While a run goes on, those that nothing can
 * come for any more.
 */
static inline uint64_t
window_outside(const struct window *w)
{
	return w->outside + w->gap;
}

/* The memory of a block of the window; NULL when none is free, or when it is
 * gone. */
struct block *window_block(struct window *w, unsigned i);

/* So that the packet `off` slots behind the origin is in open[1]; it is at
 * least two blocks behind it. */
void window_forward(struct window *w, uint64_t off);

/*
 * Closes the oldest block with packets: short, where nothing is open behind
 * it.  A frame of which only some packets have come goes into a new block.
 * False when there is nothing to close.
 */
bool window_close_oldest(struct window *w, int64_t now);

/* A block that is of another run, and was never in the window, is closed, too:
 * with slots `first` on, none of which is missing. */
void window_leave(struct window *w, struct block *b, uint32_t run,
		  uint64_t first);

/* The first block leaves if it is full; or, with `early`, as it is.  Call it
 * when a batch is sorted. */
void window_pass_on(struct window *w, bool early);

/* When that one's first packet came; false when there is none. */
bool window_oldest(const struct window *w, int64_t *born);

/* Sends unused blocks home, and leaves closed ones where they are. */
void window_put_unused(struct window *w);

/* Sends unused blocks home and hands closed ones on, in order. */
void window_release(struct window *w, void (*out)(void *arg, struct block *b),
		    void *arg);

#endif
