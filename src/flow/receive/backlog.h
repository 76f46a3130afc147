/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_BACKLOG_H
#define SPATE_FLOW_RECEIVE_BACKLOG_H

#include <stdint.h>

#include "contract/block.h"
#include "flow/place/counts.h"
#include "flow/memory/pool.h"

/*
 * A backlog is the memory of what came before a recording was to begin.  The
 * closed blocks of an armed feed wait in it, the oldest first, until there is
 * a recording that they can go to:
 *
 *   WAITING   put -> [ oldest ... newest ]
 *                        |
 *                        +--> home, unused: older than `keep`, or the stock
 *                             gets short
 *   HELD      the gate has opened: none goes home any more
 *   OPEN      there are folders: all that wait go out, in their order, and
 *             what is put passes straight through
 *   DROPPED   there will be none: all go home, what is put as well
 *
 * Blocks are kept whole, so a recording begins with up to a block more than
 * it asked for, and with less where the stock is too small.
 *
 * Packets of a block that went home were counted as placed, and are in fact
 * before_start: backlog_counts() puts that right.
 *
 * Any thread may call; a lock, once per block.
 */
struct backlog;

struct backlog_args {
	int64_t keep;	     /* ns; 0: nothing is kept while it is WAITING */
	struct stock *stock; /* of all its blocks */
	unsigned subs;	     /* substreams; 0 is 1 */
	/* Takes a CLOSED block over, as place_args::out; called with the
	 * backlog's lock held. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

/* 0 or -ENOMEM. */
int backlog_make(struct backlog **backlog, const struct backlog_args *args);

/* What waits yet goes home; NULL is none. */
void backlog_free(struct backlog *backlog);

/* Takes a CLOSED block over.  now: steady. */
void backlog_put(struct backlog *backlog, struct block *b, int64_t now);

/* Lets go of what is too old; call every tenth of a second or so. */
void backlog_age(struct backlog *backlog, int64_t now);

/* The moves of its state; each only forward, again: nothing. */
void backlog_hold(struct backlog *backlog);
void backlog_open(struct backlog *backlog);
void backlog_drop(struct backlog *backlog);

/* ns that blocks were kept for when they were held: `keep`, or less where the
 * stock was too small for that.  Nothing is known before: `keep`. */
int64_t backlog_kept(struct backlog *backlog);

/* Blocks that wait. */
unsigned backlog_length(struct backlog *backlog);

/* Corrects what the places of the feed have counted together. */
void backlog_counts(struct backlog *backlog, struct counts *counts);

#endif
