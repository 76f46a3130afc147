/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_BACKLOG_H
#define SPATE_FLOW_RECEIVE_BACKLOG_H

#include <stdint.h>

#include "store/record/block.h"
#include "flow/place/counts.h"
#include "flow/memory/block_pool.h"

/*
 * A backlog keeps what came before a recording began.  The closed blocks of an
 * armed subscriber wait in it, oldest first, until there is a recording that
 * they can go to:
 *
 *   WAITING   put -> [ oldest ... newest ]
 *                        |
 *                        +--> back to the pool: older than `keep`, or the
 *                             pool gets short
 *   HELD      the time window has opened: no block goes back any more
 *   OPEN      the recording has folders: waiting blocks go out, in order, and
 *             blocks that are put pass straight through
 *   DROPPED   there will be no recording: all blocks go back to the pool
 *
 * Only whole blocks are kept, so a recording begins with up to a block more
 * than it asked for, and with less if the pool is too small.
 *
 * Packets of a block that went back were counted as placed, but in fact came
 * before the start: backlog_counts() corrects that.
 *
 * Any thread may call; a lock is taken once per block.
 */
struct backlog;

struct backlog_args {
	int64_t keep;		 /* ns to keep a block while WAITING; 0: none is
				kept */
	struct block_pool *pool; /* pool of all its blocks */
	unsigned subs;		 /* substreams; 0 is 1 */
	/* Takes over a CLOSED block, as placement_args::out does; called with
	 * the backlog's lock held. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

/* Makes a backlog in state WAITING.  Returns 0 or -ENOMEM. */
int backlog_make(struct backlog **backlog, const struct backlog_args *args);

/* Returns waiting blocks to the pool and frees the backlog.  NULL is
 * allowed. */
void backlog_free(struct backlog *backlog);

/* Takes over a CLOSED block.  now: steady ns. */
void backlog_put(struct backlog *backlog, struct block *b, int64_t now);
/* The same now, as place_args::out wants it; `backlog` is a struct backlog. */
void backlog_take(void *backlog, struct block *b);

/* Returns blocks that are too old; call it about every tenth of a second. */
void backlog_age(struct backlog *backlog, int64_t now);

/* Change the state.  States only move forward; a move back does nothing. */
void backlog_hold(struct backlog *backlog);
void backlog_open(struct backlog *backlog);
void backlog_drop(struct backlog *backlog);

/* Time in ns for which blocks were kept when they were held: `keep`, or less if
 * the pool was too small for that.  Before that: `keep`. */
int64_t backlog_kept(struct backlog *backlog);

/* Corrects the sum of the counts of the subscriber's placements. */
void backlog_counts(struct backlog *backlog, struct counts *counts);

#endif
