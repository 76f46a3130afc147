/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_WORKER_H
#define SPATE_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A worker is a thread for what may hang: a disk that does not answer, a name
 * server, a folder of a file server.  It calls round() whenever somebody pokes
 * it, when the last round asked for another one, and when `watch` has news.
 * Nobody else waits for it longer than he said, and a worker that hangs when
 * its owner ends is left behind.
 *
 * The owner's thread starts and stops it; any thread may call the others.
 */
struct worker;

/* A round returns the time until the next one, in ns; a poke makes it earlier.
 * WORKER_RESTS: no round before a poke. */
#define WORKER_RESTS INT64_MAX

struct worker_args {
	const char *name; /* of the thread; at most 15 characters; a constant */
	int64_t (*round)(void *arg);
	void *arg;
	int64_t first; /* time until the first round, as round() returns it */
	int watch;     /* POLLPRI of this descriptor begins a round; 0: none */
	bool nice;     /* lowest priority of the processor */
	bool finishes; /* worker_stop() makes a last round */
};

/* Starts the thread.  Returns 0 or -errno. */
int worker_start(struct worker **worker, const struct worker_args *args);

/* Asks for a round that begins after this call, and returns the number of the
 * poke, from 1.  Several pokes before it begins make one round. */
uint64_t worker_poke(struct worker *w);

/* Waits for the end of the round that this poke asked for.  Returns false if it
 * has not ended after `patience` ns. */
bool worker_wait(struct worker *w, uint64_t poke, int64_t patience);

/* True if a round has lasted longer than `patience` ns by now. */
bool worker_hangs(struct worker *w, int64_t patience);

/* True once worker_stop() was called: a round that takes long returns then. */
bool worker_stops(struct worker *w);

/*
 * Ends the thread and frees the worker.  Returns false if a round still runs
 * after `patience` ns: the thread is left behind, with the worker and with all
 * that `arg` leads to, which the caller must not free.  NULL: true.
 */
bool worker_stop(struct worker *w, int64_t patience);

#endif
