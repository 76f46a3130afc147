/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_WRITE_H
#define SPATE_CONTRACT_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "contract/plugin.h"

/*
 * A write plugin moves bytes of memory to an open file.
 *
 * The core's writer thread, one for each disk, owns everything else: it
 * creates the chunk, reserves its space, repeats short writes, truncates,
 * makes durable and closes.  Each writer opens an instance of its own, on
 * its own thread, and all calls come from that thread.
 *
 *   open -> { submit ... [start] ... reap }* -> close
 *
 * Requests of several files may be in flight at the same time.
 *
 * submit answers for one request
 *   WRITE_DONE    written (or -errno in request->result): not to be reaped
 *   WRITE_QUEUED  on its way; reap gives it back, in any order
 *   WRITE_BUSY    not taken: reap first, then submit it again
 * so that synchronous and asynchronous plugins look alike.
 */
enum write_answer { WRITE_DONE, WRITE_QUEUED, WRITE_BUSY };

struct write_request {
	int fd;
	const void *data;
	size_t bytes;
	uint64_t offset; /* in the file */
	int64_t result;	 /* bytes written, maybe fewer; or -errno */
	void *tag;	 /* the caller's own */
};

enum {
	WRITE_DIRECT = 1,  /* files are opened with O_DIRECT: memory,
				   offset and bytes are aligned */
	WRITE_NOTHING = 2, /* nothing is stored: no file is made */
};

struct write_args {
	const struct host *host;
	const void *options; /* the plugin's own, filled by its table */
	/*
	 * Where nearly all data will lie: a plugin may make it known to the
	 * kernel once instead of with each request.  Mapped until after close.
	 * A refusal is one line of the log and no error; NULL and 0: nothing is
	 * known.  Data from elsewhere is written as well.
	 */
	const void *arena;
	size_t arena_bytes;
};

struct write_state;

struct write_ops {
	struct plugin head; /* head.flags: WRITE_DIRECT, WRITE_NOTHING */

	/* Makes an instance for one disk.  0 or -errno.  Mandatory. */
	int (*open)(struct write_state **state, const struct write_args *args);

	/*
	 * Writes, or starts to write, request->bytes.  The request and its
	 * memory stay untouched by the caller until it is done.  Where it is
	 * queued, the kernel may learn of it only with the next start or reap.
	 * Never waits for other requests.  Mandatory.
	 */
	enum write_answer (*submit)(struct write_state *state,
				    struct write_request *request);

	/*
	 * Starts what is queued, waits until at least one queued request is
	 * done and gives up to n of them back, each once, in any order, with
	 * its result; 0 only when none is queued.  Signals do not end it, and
	 * nothing does on a disk that does not answer.  NULL where nothing
	 * queues.
	 */
	unsigned (*reap)(struct write_state *state, struct write_request **done,
			 unsigned n);

	/*
	 * Called before the file is closed, also after errors, when none of
	 * its requests is queued any more: the plugin lets go of what it keeps
	 * for this descriptor, whose number the next file may get.  NULL where
	 * it keeps nothing.
	 */
	int (*finish)(struct write_state *state, int fd);

	/* Nothing is queued any more.  Mandatory. */
	void (*close)(struct write_state *state);

	/*
	 * Tells the kernel of all that submit queued, in one call, and does not
	 * wait: to be called after a batch, when something else is done before
	 * the next reap.  NULL where submit needs no help.
	 */
	void (*start)(struct write_state *state);
};

#endif
