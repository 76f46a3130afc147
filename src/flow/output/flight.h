/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_FLIGHT_H
#define SPATE_FLOW_OUTPUT_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/write.h"
#include "flow/memory/beat.h"

/*
 * A flight is the data that one write plugin has in hand for one disk: up to
 * FLIGHT_JOBS pieces of memory on their way into as many places of files, cut
 * in requests, all of which may be with the plugin at the same time.
 *
 *   flight_add -> { flight_push ... flight_wait }* -> flight_done
 *
 * A plugin that queues nothing has done all of a job when flight_push is
 * back.  The disk's thread only.
 */
enum { FLIGHT_JOBS = 2, FLIGHT_REQUESTS = 16 };

struct flight_job {
	int fd;
	const void *data;
	uint64_t offset; /* in the file */
	uint64_t bytes;
	/* NULL, or set by any thread: it is not wanted any more, and ends with
	 * -ECANCELED before its next request.  Relaxed: only a hint. */
	const atomic_bool *away;
	int err;

	/* The flight's own. */
	uint64_t sent;	/* bytes given to requests */
	unsigned parts; /* requests that are not idle */
};

struct flight {
	const struct write_ops *ops;
	struct write_state *state;
	uint64_t align; /* of bytes and offsets; 1: none */
	uint32_t bytes; /* of one request, at most */
	struct beat *beat;

	struct flight_job *job[FLIGHT_JOBS]; /* the oldest first */
	unsigned jobs;
	unsigned queued; /* requests that the plugin has */
	struct write_request request[FLIGHT_REQUESTS];
	struct write_request *idle[FLIGHT_REQUESTS];
	unsigned idles;
	struct write_request *ready[FLIGHT_REQUESTS]; /* written short, or */
	unsigned readies;			      /* the plugin was busy */
};

/* `state` is of an instance that is open; `beat` may be NULL. */
void flight_init(struct flight *f, const struct write_ops *ops,
		 struct write_state *state, uint64_t align, struct beat *beat);

/* There is room (flight::jobs < FLIGHT_JOBS). */
void flight_add(struct flight *f, struct flight_job *job);

/* Has the newest job been given to the plugin as a whole?  Then one more
 * keeps the disk busy. */
bool flight_hungry(const struct flight *f);

/* Gives the plugin what it takes, and never waits for what it queues. */
void flight_push(struct flight *f);

/* Waits until something is done; nothing where nothing is queued. */
void flight_wait(struct flight *f);

/* A job that is over, by job->err or with all its bytes written, and of which
 * the plugin has nothing any more; it is the caller's again.  NULL: none. */
struct flight_job *flight_done(struct flight *f);

#endif
