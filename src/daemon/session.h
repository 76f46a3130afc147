/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSION_H
#define SPATE_DAEMON_SESSION_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/stream.h"
#include "flow/intake.h"
#include "flow/output.h"
#include "flow/pool.h"
#include "flow/receiver.h"
#include "flow/writer.h"

/*
 * A session is a stream being recorded: it owns everything that this takes,
 * and sees it through.
 *
 *   BEGINNING --> RECORDING --> STOPPING --> WRITING --> CLOSING --> ENDED
 *       |              |           ^
 *       +--------------+- no disk -+
 *
 *   BEGINNING  writers make their folders; the stream is received already
 *   RECORDING  at least one disk has a folder
 *   STOPPING   the receiver takes what has arrived, and closes its blocks
 *   WRITING    blocks are on their way to disks
 *   CLOSING    writers do a last round and close their indexes
 *   ENDED      everything is durable; session_free may be called
 *
 * The event loop's thread owns it; what the receiver and the writers have of
 * it is in intake and output, and says so there.
 */
enum session_state {
	SESSION_BEGINNING,
	SESSION_RECORDING,
	SESSION_STOPPING,
	SESSION_WRITING,
	SESSION_CLOSING,
	SESSION_ENDED,
};

/* What a session needs of the daemon; outlives it. */
struct session_host {
	struct pool *pool;
	struct queue *queue;
	struct writer **writer;
	unsigned writers;
	int64_t durable;
	void (*wake)(void *arg); /* wakes the event loop; any thread */
	void *arg;
};

struct session {
	const struct session_host *host;
	struct stream *stream;
	struct receiver *receiver;
	unsigned id;
	char name[160]; /* of the recording: its folder */
	char group[80]; /* as `record` was told */
	enum session_state state;
	const char *reason; /* why it stopped; static text */
	bool failed;

	struct format_shape shape;
	struct host log;
	struct stock *stock;
	struct receive_state *received;
	struct intake *intake;
	json_t *head;
	struct output output;

	int64_t start_ns, end_ns; /* UTC; end 0: runs */
	int64_t started, stop_at; /* steady; stop_at 0: not by itself */
	atomic_bool flushed; /* by the receiver (release), see session_step */

	/* The last second, for rates. */
	int64_t sampled;
	uint64_t sampled_bytes;
	double rate; /* bits per second */

	struct session *next; /* daemon::sessions */
};

/*
 * Borrows memory and opens the stream's sockets.  0, or -errno with a fault
 * and nothing left behind.
 */
int session_open(struct session **session, const struct session_host *host,
		 struct stream *stream, const char *name, struct fault *fault);

/* A session that was opened and is not to begin. */
void session_drop(struct session *s);

/* Packets are taken in, and folders made, from here on.  It cannot fail but
 * for a few bytes of memory, which ends the daemon. */
void session_begin(struct session *s, struct receiver *receiver);

/* Orders it to stop; `reason` is static text.  Again: nothing. */
void session_stop(struct session *s, const char *reason);

/* Moves it on as far as it goes; call when woken, and every second. */
void session_step(struct session *s, int64_t now);

/* ENDED only. */
void session_free(struct session *s);

#endif
