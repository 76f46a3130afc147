/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_RELAY_H
#define SPATE_DAEMON_TRANSFERS_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/sessions/session.h"
#include "flow/source/source_relay.h"

/*
 * A relay passes a stream on without recording it: a recording input
 * (daemon/sessions: the packets of a stream for one user) whose blocks go to
 * the source of a sender instead of to an output on disks.  It has memory of
 * its own, and shares the stream's sockets with recordings.
 *
 *   relay_open -> relay_source -> relay_begin -> ... relay_stop, or its time
 *   -> relay_step returns true -> relay_free
 *
 * The sender may be freed before the relay or after it.  Only the event loop's
 * thread calls these functions.
 */
struct relay;

struct relay_args {
	struct stream *stream;
	const char *name; /* name of the transfer, for messages; copied */
	/*
	 * Start and stop as for a recording; backlog and data time are refused.
	 */
	struct session_when when;
};

/*
 * Borrows memory and opens the stream's sockets.  0; or -errno with a fault,
 * and nothing is left behind.  Refuses a stream with `split`, whose parts are
 * streams of their own.
 */
int relay_open(struct relay **relay, const struct session_host *host,
	       const struct relay_args *args, struct fault *fault);

/* Returns the source to give to sender_start(); call it once. */
struct source *relay_source(struct relay *r);

/*
 * Takes in packets from now on.  Fails only without a few bytes of memory,
 * which ends the daemon.
 */
void relay_begin(struct relay *r);

/*
 * Processes the packets that have arrived, takes no more, and then ends the
 * source.  `why` is static text.  A second call does nothing.
 */
void relay_stop(struct relay *r, const char *why);

/* Ends the relay at that time (steady ns; 0: never). */
void relay_stop_at(struct relay *r, int64_t at);

/*
 * Advances the relay; call it when woken and every second.  True: it takes no
 * more packets, and relay_free() may be called.
 */
bool relay_step(struct relay *r, int64_t now);

/* Frees the relay, begun or not.  Its sender still sends what it has queued. */
void relay_free(struct relay *r);

#endif
