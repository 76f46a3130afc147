/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_WRITES_IN_FLIGHT_H
#define SPATE_FLOW_WRITE_WRITES_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/write.h"
#include "flow/memory/heartbeat.h"

/*
 * The writes in flight are those that one write plugin has under way for one
 * disk: up to WRITES_FILES pieces of memory, each going to one place in one
 * file, cut into requests.  A folder's plugin has up to WRITES_LOCAL of them at the
 * same time, that of a remote disk WRITES_REQUESTS.
 *
 *   writes_add -> { writes_push ... writes_wait }* -> writes_done
 *
 * With a plugin that does not queue, writes_push returns when all of a write is
 * done.  Only the disk's thread calls these functions.
 */
enum { WRITES_FILES = 2, WRITES_LOCAL = 16, WRITES_REQUESTS = 24 };

struct file_write {
	int fd;
	const void *data;
	uint64_t offset; /* in the file, bytes */
	uint64_t bytes;	 /* of `before` and `data` */
	/*
	 * Bytes that are written in front of `data`, and zeros that are written
	 * behind it.  With either, all of the write is copied to aligned memory
	 * on its way.
	 */
	const void *before;
	uint32_t before_bytes, pad;
	/* NULL, or a flag that any thread may set: the data is not wanted any
	 * more, and the write ends with -ECANCELED before its next request.
	 * Relaxed: only a hint. */
	const atomic_bool *away;
	int err;

	/* Private to writes_in_flight.c. */
	uint64_t sent;	/* bytes that are in requests, or written */
	unsigned parts; /* requests of this write that are in use */
};

struct writes_in_flight {
	const struct write_ops *ops;
	struct write_state *state;
	uint64_t align; /* alignment of offsets and lengths in bytes; 1: none */
	uint32_t bytes; /* most bytes of one request */
	unsigned requests; /* most of them at a time */
	struct heartbeat *beat;

	struct file_write *file[WRITES_FILES]; /* oldest first */
	unsigned files;
	unsigned queued; /* requests that the plugin has */
	struct write_request request[WRITES_REQUESTS];
	struct write_request *idle[WRITES_REQUESTS];
	unsigned idles;
	/* Requests to be submitted again: the write was short or the plugin
	 * busy. */
	struct write_request *ready[WRITES_REQUESTS];
	unsigned readies;
	/* Aligned memory of each request for data that is copied, in the order
	 * of `request`; NULL before the first such write. */
	uint8_t *stage;
};

/* Sets up a flight of up to `requests` for an opened plugin instance `state`.
 * `beat` may be NULL. */
void writes_init(struct writes_in_flight *f, const struct write_ops *ops,
		 struct write_state *state, unsigned requests, uint64_t align,
		 struct heartbeat *beat);
/* Frees the memory; no write is under way. */
void writes_finish(struct writes_in_flight *f);

/* Adds a write, which the caller keeps alive until writes_done returns it.  Only
 * while writes_in_flight::files < WRITES_FILES. */
void writes_add(struct writes_in_flight *f, struct file_write *file);

/* True if there is room for another write, and all data of the newest one was
 * given to the plugin: one more keeps the disk busy.  Always false with a
 * plugin that does not queue. */
bool writes_hungry(const struct writes_in_flight *f);

/* Submits requests until the plugin takes no more, and starts them.  Never
 * waits for requests that are queued. */
void writes_push(struct writes_in_flight *f);

/* Waits until at least one queued request is done; returns at once if none is
 * queued. */
void writes_wait(struct writes_in_flight *f);

/* Returns a finished write to the caller, who owns it again: file->err is set or
 * all bytes are written, and the plugin has no request of it.  NULL: none is
 * finished. */
struct file_write *writes_done(struct writes_in_flight *f);

#endif
