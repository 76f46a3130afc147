/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_PROBE_H
#define SPATE_DAEMON_SESSIONS_PROBE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/fault.h"
#include "daemon/loop/server.h"
#include "daemon/conf/stream.h"

/*
 * A probe looks at a stream that is not being recorded: for a few seconds it
 * receives packets, on its own thread and into its own memory, and reports what
 * it saw.  A recording of the stream ends the probe.
 *
 * The event loop's thread, except for `wake`.
 */
struct recorder;

struct probe {
	struct stream *stream;	     /* `look` holds the reference */
	struct server_ticket ticket; /* the client that waits for the result */
	struct probe_look *look;
	struct probe *next; /* recorder::probes */
};

/*
 * Opens the stream's sockets and starts the thread for `span` ns.  `wake` is
 * called on that thread when the time is over.  Returns 0, or -errno with a
 * fault and nothing left behind.
 */
int probe_begin(struct probe **probe, struct stream *stream, int64_t span,
		void (*wake)(void *arg), void *arg, struct fault *fault);

/* Answers clients whose probe is over.  Ends a probe early if its client has
 * left, if the daemon stops, or if its stream is `wanted` (may be NULL) for a
 * recording. */
void probes_step(struct recorder *r, const struct stream *wanted);

#endif
