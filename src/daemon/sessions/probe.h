/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_PROBE_H
#define SPATE_DAEMON_SESSIONS_PROBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"
#include "daemon/requests/server.h"
#include "daemon/conf/stream.h"

/*
 * A probe is a look at a stream that is not being recorded: for a few seconds
 * it receives what comes, on a thread of its own and with memory of its own,
 * and says what it saw.  A recording of the stream comes first: it ends the
 * probe.
 *
 * The event loop's thread, but for `wake`.
 */
struct probe {
	struct stream *stream;	     /* its look holds it */
	struct server_ticket ticket; /* who waits for it */
	struct probe_look *look;
	struct probe *next; /* daemon::probes */
};

/*
 * Opens the stream's sockets and begins; `wake` is called when it is over,
 * from its thread.  0, or -errno with a fault and nothing left behind.
 */
int probe_begin(struct probe **probe, struct stream *stream, int64_t span,
		void (*wake)(void *arg), void *arg, struct fault *fault);

bool probe_over(const struct probe *p);

/* Ends it, if it is not over, and says what was seen: verbs.h's PROBE. */
json_t *probe_end(struct probe *p);

#endif
