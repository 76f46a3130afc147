/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_RECEPTION_H
#define SPATE_DAEMON_SESSIONS_RECEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/sessions/crew.h"
#include "daemon/conf/stream.h"
#include "flow/receive/intake.h"

/*
 * A reception is a stream that comes in: its sockets, and the receiver threads
 * that take from them.  Who records it has a supply of it (supply.h).
 *
 *   sockets --> share 0 (an intake on one receiver) --> feeds --> supplies
 *          \--> share 1 (on another)  ------------------^
 *
 * It has as many shares as there are receivers, at most as many as the stream
 * has substreams: share k takes the substreams k, k + shares, ...  Packet
 * rings are otherwise: every share takes some packets of all substreams.
 *
 * The event loop's thread, but for what is in an intake.
 */
struct supply;

struct reception_share {
	struct receive_state *state;
	struct format_shape shape; /* its own, since it may learn */
	struct intake *intake;
	struct crew_member *member; /* NULL: not begun */
};

struct reception {
	struct stream *stream; /* held */
	char name[160]; /* of the recording that opened it, for the log */
	struct host log;
	struct reception_share *share;
	unsigned shares;
	struct format_shape *own;   /* of each part; NULL: not split */
	struct format_shape **list; /* the same, for the intake */
	unsigned users;		    /* who holds it */
	struct supply *supplies;    /* in the order in which they came */
	bool begun;
};

/*
 * Opens the stream's sockets, for `receivers` threads at most.  0 and one that
 * the caller holds, or -errno with a fault and nothing left behind.
 */
int reception_open(struct reception **reception, struct stream *stream,
		   const char *name, unsigned receivers, struct fault *fault);

/* Its shares get a receiver each; again: nothing. */
void reception_begin(struct reception *in, struct crew *crew);

/* The last one's put closes everything. */
void reception_hold(struct reception *in);
void reception_put(struct reception *in);

/* The shape of a part's packets; of one that learns, when it has learned. */
struct format_shape *reception_shape(struct reception *in, unsigned part);
bool reception_learning(struct reception *in);

/* All sources, of every share. */
unsigned reception_sources(const struct reception *in);

/* The places that a share's packets go to: those of its substreams, of all
 * substreams, or of the parts. */
unsigned reception_places(const struct reception *in, unsigned share);

#endif
