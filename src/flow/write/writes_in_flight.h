/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_WRITES_IN_FLIGHT_H
#define SPATE_FLOW_WRITE_WRITES_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/write.h"
#include "flow/memory/beat.h"

/*
 * A flight is the set of writes that one write plugin has under way for one
 * disk: up to FLIGHT_JOBS pieces of memory, each going to one place in one
 * file, cut into requests that may all be with the plugin at the same time.
 *
 *   flight_add -> { flight_push ... flight_wait }* -> flight_done
 *
 * With a plugin that does not queue, flight_push returns when all of a job is
 * done.  Only the disk's thread calls these functions.
 */
enum { FLIGHT_JOBS = 2, FLIGHT_REQUESTS = 16 };

struct flight_job {
	int fd;
	const void *data;
	uint64_t offset; /* in the file, bytes */
	uint64_t bytes;
	/* NULL, or a flag that any thread may set: the data is not wanted any
	 * more, and the job ends with -ECANCELED before its next request.
	 * Relaxed: only a hint. */
	const atomic_bool *away;
	int err;

	/* Private to flight.c. */
	uint64_t sent;	/* bytes that are in requests, or written */
	unsigned parts; /* requests of this job that are in use */
};

struct flight {
	const struct write_ops *ops;
	struct write_state *state;
	uint64_t align; /* alignment of offsets and lengths in bytes; 1: none */
	uint32_t bytes; /* most bytes of one request */
	struct beat *beat;

	struct flight_job *job[FLIGHT_JOBS]; /* oldest first */
	unsigned jobs;
	unsigned queued; /* requests that the plugin has */
	struct write_request request[FLIGHT_REQUESTS];
	struct write_request *idle[FLIGHT_REQUESTS];
	unsigned idles;
	/* Requests to be submitted again: the write was short or the plugin
	 * busy. */
	struct write_request *ready[FLIGHT_REQUESTS];
	unsigned readies;
};

/* Sets up a flight for an opened plugin instance `state`.  `beat` may be
 * NULL. */
void flight_init(struct flight *f, const struct write_ops *ops,
		 struct write_state *state, uint64_t align, struct beat *beat);

/* Adds a job, which the caller keeps alive until flight_done returns it.  Only
 * while flight::jobs < FLIGHT_JOBS. */
void flight_add(struct flight *f, struct flight_job *job);

/* True if there is room for another job, and all data of the newest one was
 * given to the plugin: one more keeps the disk busy.  Always false with a
 * plugin that does not queue. */
bool flight_hungry(const struct flight *f);

/* Submits requests until the plugin takes no more, and starts them.  Never
 * waits for requests that are queued. */
void flight_push(struct flight *f);

/* Waits until at least one queued request is done; returns at once if none is
 * queued. */
void flight_wait(struct flight *f);

/* Returns a finished job to the caller, who owns it again: job->err is set or
 * all bytes are written, and the plugin has no request of it.  NULL: none is
 * finished. */
struct flight_job *flight_done(struct flight *f);

#endif
