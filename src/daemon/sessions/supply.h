/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_SUPPLY_H
#define SPATE_DAEMON_SESSIONS_SUPPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/sessions/reception.h"
#include "flow/receive/backlog.h"
#include "flow/receive/feed.h"
#include "flow/memory/block_pool.h"

/*
 * A supply is one recording's share of a stream's open input (reception.h):
 * memory of its own, and a feed (flow/receive/feed.h) from each share of the
 * reception.  It feeds one session or, for a split stream, one session per
 * part.  Overlapping recordings of a stream have one reception, and a supply
 * each.
 *
 *   reception --+-- supply: pool, gate, feeds --> session(s)
 *               +-- supply                     --> session(s)
 *
 * It ends by itself when its gate (time window) has closed and all of its
 * blocks are out.
 *
 * The event loop's thread, but for the inside of a feed.
 */

/* The consumer of one part's blocks. */
struct supply_out {
	/* Takes a block over.  Called by receiver threads, and by
	 * supply_release (event loop) for blocks that waited. */
	void (*out)(void *arg, struct block *b);
	void *arg;
};

/* The feed from one share of the reception. */
struct supply_share {
	struct feed *feed;
	struct supply *supply;
};

/* A part of a split stream, or the whole stream, and where its blocks go. */
struct supply_part {
	struct supply_out out;
	/* blocks that wait; NULL: blocks go straight out */
	struct backlog *backlog;
};

struct supply {
	struct reception *in;
	char name[160]; /* of the recording */
	struct block_pool *pool;
	struct gate gate;
	int64_t keep; /* ns of data to keep from before the gate opens */
	struct supply_share *share; /* one per share of the reception */
	struct supply_part *part;   /* one per key of the stream */
	unsigned users;		    /* sessions that it feeds */
	bool passing;		    /* it is only relayed, not recorded */
	bool begun;
	const char *stopped; /* why it was stopped; NULL: it runs */
	struct supply *next; /* reception::supplies */

	/* set by a receiver thread when the gate has opened */
	atomic_bool opened;
	/* shares that are not flushed; the last share's decrement (release)
	 * pairs with supply_flushed */
	atomic_uint left;
	/* called when `opened` or `left` changes; any thread */
	void (*changed)(void *arg);
	void *arg;
};

/* Arguments of supply_feed. */
struct supply_args {
	struct gate gate;
	bool waits;  /* blocks wait for supply_release */
	bool lesser; /* not recorded: gives way to recordings, see feed_args */
	/* ns of data from before the gate opens that wait, too */
	int64_t backlog;
	void (*changed)(void *arg);
	void *arg;
};

/* Borrows memory, and holds the reception.  With `later` it also succeeds while
 * another recording still has that memory: packets are then dropped and counted
 * until supply_fill gets it.  Returns 0, or -errno with a fault and nothing
 * left behind. */
int supply_open(struct supply **supply, struct reception *in,
		struct arena *arena, const char *name, bool later,
		struct fault *fault);
/* gets memory that was late; else does nothing */
void supply_fill(struct supply *s);
/* As supply_open for a stream that is only relayed: takes no checksums, and
 * supply_recording and supply_armed ignore it. */
int supply_open_passing(struct supply **supply, struct reception *in,
			struct arena *arena, const char *name,
			struct fault *fault);

/* Makes the feeds, which give blocks to `out`, one entry per part.  Returns 0
 * or -ENOMEM. */
int supply_feed(struct supply *s, const struct supply_args *args,
		const struct supply_out *out);

/* Joins the feeds to their receivers: packets are taken in from now on.
 * Allocates a few bytes; if that fails the daemon aborts.  A second call does
 * nothing. */
void supply_begin(struct supply *s, struct receivers *receivers);

/* Sets another time window; not after it has ended. */
void supply_gate(struct supply *s, const struct gate *gate);

/* Lets a part's blocks go out, those that waited first. */
void supply_release(struct supply *s, unsigned part);
/* Frees waiting blocks of a part that are older than `keep`. */
void supply_age(struct supply *s, unsigned part, int64_t now);

/* supply_stop closes the gate now: takes what has arrived, and closes every
 * block; a second call does nothing.  supply_cancel takes nothing more and
 * drops blocks that wait.  `why` is static text. */
void supply_stop(struct supply *s, const char *why);
void supply_cancel(struct supply *s, const char *why);
bool supply_flushed(struct supply *s); /* acquire: all blocks are out */

/* Drops one session's use; the last one frees the supply.  All of its blocks
 * must be back. */
void supply_put(struct supply *s);

/* Return the name of the stream's first recording that runs, or that is armed;
 * NULL: there is none. */
const char *supply_recording(const struct stream *stream);
const char *supply_armed(const struct stream *stream);

/* Return the counts of a part, of one substream, and the overruns of all
 * sockets. */
void supply_counts(struct supply *s, unsigned part, struct counts *c);
void supply_sub_counts(struct supply *s, unsigned sub, struct counts *c);
uint64_t supply_overruns(struct supply *s);

/* Returns the counts of a source (0 ... reception_sources - 1) since the supply
 * joined, and in *sub its substream. */
void supply_look(struct supply *s, unsigned source,
		 struct receive_counts *counts, unsigned *sub);

#endif
