/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_SUPPLY_H
#define SPATE_DAEMON_SESSIONS_SUPPLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/sessions/reception.h"
#include "flow/receive/backlog.h"
#include "flow/receive/feed.h"
#include "flow/memory/pool.h"

/*
 * A supply is what one recording has of a reception: memory of its own, and a
 * feed (flow/receive/feed.h) from each of its shares.  It goes to one session or,
 * where the stream is split, to one for each part.  Recordings that overlap
 * have one reception, and a supply each.
 *
 *   reception --+-- supply: stock, gate, feeds --> session(s)
 *               +-- supply                     --> session(s)
 *
 * It ends by itself when its gate has closed and all of its blocks are out.
 *
 * The event loop's thread, but for what is in a feed.
 */

/* Where the blocks of one part go. */
struct supply_out {
	void (*out)(void *arg, struct block *b); /* receiver threads */
	void *arg;
};

struct supply_share {
	struct feed *feed;
	struct supply *supply;
};

struct supply_part {
	struct supply_out out;
	struct backlog *backlog; /* NULL: blocks go straight out */
};

struct supply {
	struct reception *in;
	char name[160]; /* of its recording */
	struct stock *stock;
	struct gate gate;
	int64_t keep;		    /* ns of what came before it opens */
	struct supply_share *share; /* as many as the reception has */
	struct supply_part *part;   /* as many as the stream has keys */
	unsigned users;		    /* sessions that it feeds */
	bool passing;		    /* it is not recorded */
	bool begun;
	const char *stopped; /* why; NULL: it runs */
	struct supply *next; /* reception::supplies */

	atomic_bool opened; /* its gate: packets of its own came */
	atomic_uint left;   /* shares that are not flushed; the last one's
			       (release) pairs with supply_flushed */
	void (*changed)(void *arg); /* of these; any thread */
	void *arg;
};

struct supply_args {
	struct gate gate;
	bool waits;	 /* blocks wait for supply_release */
	bool lesser;	 /* see feed_args: it is not recorded */
	int64_t backlog; /* ns of what came before the gate opens, that wait,
			    too */
	void (*changed)(void *arg);
	void *arg;
};

/* Borrows memory.  0, or -errno with a fault and nothing left behind.  The
 * supply holds the reception.  With `later` it takes packets also while others
 * still have that memory: until supply_fill they are dropped, and counted. */
int supply_open(struct supply **supply, struct reception *in, struct pool *pool,
		const char *name, bool later, struct fault *fault);
void supply_fill(struct supply *s); /* again: nothing */
/* The same of one that is not recorded: no checksums are taken, and
 * supply_recording and supply_armed do not know it. */
int supply_open_passing(struct supply **supply, struct reception *in,
			struct pool *pool, const char *name,
			struct fault *fault);

/* Makes its feeds, which give their blocks to `out`: one for each part.
 * 0 or -ENOMEM. */
int supply_feed(struct supply *s, const struct supply_args *args,
		const struct supply_out *out);

/* Packets are taken in from here on.  It cannot fail but for a few bytes of
 * memory, which ends the daemon; again: nothing. */
void supply_begin(struct supply *s, struct crew *crew);

/* Other times, of one that has not ended. */
void supply_gate(struct supply *s, const struct gate *gate);

/* The blocks of a part go out from here on, and those that wait before them. */
void supply_release(struct supply *s, unsigned part);
/* Lets go of what waits too long. */
void supply_age(struct supply *s, unsigned part, int64_t now);

/* Closes the gate now: takes what has arrived, and closes every block; again:
 * nothing.  Cancel: takes nothing, and nothing that waits goes out. */
void supply_stop(struct supply *s, const char *why);
void supply_cancel(struct supply *s, const char *why);
bool supply_flushed(struct supply *s); /* acquire: all blocks are out */

/* The last user's closes everything; all blocks are home. */
void supply_put(struct supply *s);

/* The name of what a stream is recorded as, or armed for; the first of them.
 * NULL: it is not. */
const char *supply_recording(const struct stream *stream);
const char *supply_armed(const struct stream *stream);

/* What came for a part, and of that, what came of one substream. */
void supply_counts(struct supply *s, unsigned part, struct counts *c);
void supply_sub_counts(struct supply *s, unsigned sub, struct counts *c);
uint64_t supply_overruns(struct supply *s);

/* One of reception_sources, while the supply was there; `sub` is the substream
 * that it feeds. */
void supply_look(struct supply *s, unsigned source,
		 struct receive_counts *counts, unsigned *sub);

#endif
