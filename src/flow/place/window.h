/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_PLACE_WINDOW_H
#define SPATE_FLOW_PLACE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "flow/memory/block_pool.h"

/*
 * A run is a stretch of a sequence in which the sender's counter did not
 * restart or jump.  A window is the part of the current run in which packets
 * can still be placed: two open blocks, and perhaps a third so that the kernel
 * has memory for packets that come after them.
 *
 *        origin          +slots          +2 slots         +3 slots
 *          | open[0]       | open[1]       | open[2]: ahead   |
 *
 * The window only moves forward.  Blocks it leaves behind are closed, in order;
 * a block without a packet becomes part of the next block's gap.  Closed
 * blocks, and blocks that were never used, wait for window_release, because
 * packets of the batch that is being sorted may lie in their memory.
 *
 * A first block that is full leaves at once (`gone`), so that its substream has
 * the memory for what comes next.  The window stays where it is, so a packet
 * for that block is still recognized as a duplicate.
 *
 * Sequences are relative to the run.  Only the receiver thread may call.
 */
enum { WINDOW_OPEN = 2, WINDOW_BLOCKS = 3 };

/*
 * A candidate for the next run is packets that agree with each other, but not
 * with the current run.  Garbage and late packets do so by accident, a few at a
 * time; a sender that was restarted goes on to.
 */
enum {
	RUN_AGREE = 32,	  /* packets that make a candidate a run */
	RUN_BEHIND = 256, /* or behind the head of the current run, its highest
			     sequence: a burst of late packets agrees with
			     itself, too */
};

/*
 * Number of packets, `least` to `most`, that a candidate needs behind the head
 * of a run with so many packets.  A short run asks for fewer: a restarted
 * counter would otherwise be back at the head before it had enough.
 */
static inline unsigned
run_behind(uint64_t packets, unsigned least, unsigned most)
{
	uint64_t need = packets / 4 * 3;

	if (need < least)
		return least;
	return need < most ? (unsigned)need : most;
}

struct window {
	struct block_pool *pool; /* window_init takes these four from `set` */
	unsigned sub;
	uint32_t slots, parts;
	bool running; /* a run has begun and not ended */
	uint32_t run;
	uint64_t base;	  /* absolute sequence of slot 0 of the run */
	uint64_t origin;  /* sequence of the first slot of open[0] */
	uint64_t highest; /* one more than the highest sequence that came */
	uint64_t gap;	  /* slots without any packet before open[0] */
	uint64_t stored;  /* one more than the last sequence in a block that
			     left; 0: none left */
	/* Value to which a block that closed early raised `highest` although no
	 * packet came there; 0: never. */
	uint64_t lifted;
	uint64_t outside; /* window_outside() of ended runs, and of the
			     beginning of this one */
	struct block *open[WINDOW_BLOCKS]; /* NULL: no memory taken yet */
	bool gone;			   /* open[0] left the window early */
	bool holes;			   /* with slots that had no packet */
	int64_t born[WINDOW_OPEN]; /* steady ns of arrival of each block's first
				      packet */
	struct block *closed, **closed_end;
	struct block *unused;
};

void window_init(struct window *w, const struct window *set);

void window_begin(struct window *w, uint32_t run, uint64_t base);

/* Ends the run and closes its open blocks.  Does nothing if no run has
 * begun. */
void window_end(struct window *w);

/*
 * Lost packets that no block accounts for, in slots: before the first block
 * with packets of each run, and behind its last one up to the highest packet
 * that came, if there was no memory for it.  While a run goes on, only slots
 * that no packet can come for any more.
 */
static inline uint64_t
window_outside(const struct window *w)
{
	return w->outside + w->gap;
}

/* Returns block i of the window, and takes its memory on first use.  NULL: no
 * block is free, or the block is gone. */
struct block *window_block(struct window *w, unsigned i);

/* Moves the window so that the packet `off` slots behind the origin is in
 * open[1]; `off` is at least two blocks. */
void window_forward(struct window *w, uint64_t off);

/*
 * Closes the oldest block with packets; cut short if no block behind it has
 * any.  An incomplete frame at its end moves to a new block.  False if there is
 * nothing to close.
 */
bool window_close_oldest(struct window *w, int64_t now);

/* Closes a block of another run that was never in the window.  Its first slot
 * has sequence `first`, and no slot is missing. */
void window_leave(struct window *w, struct block *b, uint32_t run,
		  uint64_t first);

/* Hands the first block on if it is full, or, with `early`, as it is.  Call it
 * after a batch is sorted. */
void window_pass_on(struct window *w, bool early);

/* Finds when the first packet of the oldest block with packets came; false if
 * there is none. */
bool window_oldest(const struct window *w, int64_t *born);

/* Returns unused blocks to the pool; closed ones stay. */
void window_put_unused(struct window *w);

/* Returns unused blocks to the pool and hands closed ones to `out`, in
 * order. */
void window_release(struct window *w, void (*out)(void *arg, struct block *b),
		    void *arg);

#endif
