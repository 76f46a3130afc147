/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_RECEPTION_H
#define SPATE_DAEMON_RECEPTION_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/crew.h"
#include "daemon/stream.h"
#include "flow/intake.h"
#include "flow/pool.h"

/*
 * A reception is a stream that comes in: its memory, its sockets, and the
 * receiver threads that take from them.  It feeds one session or, where the
 * stream is split, one for each part.
 *
 *   sockets --> share 0 (an intake on one receiver) --> places --> session(s)
 *          \--> share 1 (on another)  ------------------^
 *
 * It has as many shares as there are receivers, at most as many as the stream
 * has substreams: share k takes the substreams k, k + shares, ...  Packet
 * rings are otherwise: every share takes some packets of all substreams.
 *
 * The event loop's thread, but for what is in an intake.
 */
struct reception_share {
	struct receive_state *state;
	struct format_shape shape; /* its own, since it may learn */
	struct intake *intake;
	struct crew_member *receiver; /* NULL: not begun */
	struct reception *in;
};

/* Where the blocks of one part go. */
struct reception_out {
	void (*out)(void *arg, struct block *b); /* receiver threads */
	void *arg;
};

struct reception {
	struct stream *stream; /* held */
	char name[160];
	struct host log;
	struct stock *stock;
	struct reception_share *share;
	unsigned shares;
	struct format_shape *own;   /* of each part; NULL: not split */
	struct format_shape **list; /* the same, for the intake */
	unsigned users;		    /* sessions that it feeds */
	bool begun;
	const char *stopped; /* why; NULL: it runs */

	atomic_uint left; /* shares that are not flushed; the last one's
			     (release) pairs with reception_flushed */
	void (*flushed)(void *arg); /* any thread */
	void *arg;
};

/*
 * Borrows memory and opens sockets for `receivers` threads at most.  0, or
 * -errno with a fault and nothing left behind.
 */
int reception_open(struct reception **reception, struct stream *stream,
		   const char *name, struct pool *pool, unsigned receivers,
		   struct fault *fault);

/* Makes its intakes, which give their blocks to `out`: one for each part. */
int reception_feed(struct reception *in, const struct reception_out *out);

/* Packets are taken in from here on.  It cannot fail but for a few bytes of
 * memory, which ends the daemon. */
void reception_begin(struct reception *in, struct crew *crew);

/* Takes what has arrived, closes every block, and calls `flushed`; again:
 * nothing. */
void reception_stop(struct reception *in, const char *why);
bool reception_flushed(struct reception *in); /* acquire: all blocks are out */

/* The last one closes everything; all blocks are home. */
void reception_put(struct reception *in);

/* The shape of a part's packets; of one that learns, when it has learned. */
struct format_shape *reception_shape(struct reception *in, unsigned part);

/* What came for a part, and of that, what came of one substream. */
void reception_counts(struct reception *in, unsigned part, struct counts *c);
void reception_sub_counts(struct reception *in, unsigned sub, struct counts *c);
uint64_t reception_overruns(struct reception *in);
bool reception_learning(struct reception *in);

/* All sources, of every share; `sub` is the substream that one feeds. */
unsigned reception_sources(const struct reception *in);
void reception_look(struct reception *in, unsigned source,
		    struct receive_counts *counts, unsigned *sub);

#endif
