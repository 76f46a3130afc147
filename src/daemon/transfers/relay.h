/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_TRANSFERS_RELAY_H
#define SPATE_DAEMON_TRANSFERS_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/sessions/session.h"
#include "flow/source/source_relay.h"

/*
 * A relay is a stream that is passed on without being recorded: a supply whose
 * blocks go to a source for a sender, instead of to an output.  It has memory
 * of its own, and shares the stream's reception with whoever records it.
 *
 *   relay_open -> relay_source -> relay_begin -> ... relay_stop, or its time
 *   -> relay_ended -> relay_free
 *
 * The sender may be freed before or after it.  The event loop's thread.
 */
struct relay;

struct relay_args {
	struct stream *stream;
	const char *name; /* of the transfer, for people; copied */
	/* As for a recording; without a backlog, and not by the data. */
	struct session_when when;
};

/* Borrows memory and opens the stream's sockets.  0, or -errno with a fault
 * and nothing left behind.  A stream that is split is refused: its parts are
 * streams of their own. */
int relay_open(struct relay **relay, const struct session_host *host,
	       const struct relay_args *args, struct fault *fault);

/* For sender_start; once. */
struct source *relay_source(struct relay *r);

/* Packets are taken in from here on.  It cannot fail but for a few bytes of
 * memory, which ends the daemon. */
void relay_begin(struct relay *r);

/* Takes what has arrived, and nothing more; its source ends behind that.
 * `why` is static text.  Again: nothing. */
void relay_stop(struct relay *r, const char *why);

/* Ends it then (steady; 0: not by itself). */
void relay_stop_at(struct relay *r, int64_t at);

/* Moves it on; call when woken, and every second.  True: it takes nothing any
 * more, and relay_free may be called. */
bool relay_step(struct relay *r, int64_t now);

/* Also of one that was not begun.  What its sender has not sent yet it goes on
 * sending. */
void relay_free(struct relay *r);

#endif
