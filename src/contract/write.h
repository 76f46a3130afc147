/* SPDX-License-Identifier: MIT */
#ifndef SPATE_CONTRACT_WRITE_H
#define SPATE_CONTRACT_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "contract/plugin.h"

/*
 * A write plugin moves bytes from memory to an open file.
 *
 * The core's writer thread, one per disk, does everything else: it creates the
 * chunk file, reserves its space, repeats short writes, truncates, makes
 * durable and closes.  Each writer thread opens an instance of its own and
 * makes all calls to it.
 *
 *   open -> { submit ... [start] ... reap }* -> close
 *
 * Requests of several files may be in flight at the same time.
 *
 * submit answers for one request
 *
 *   WRITE_DONE    written (or -errno in request->result): not to be reaped
 *   WRITE_QUEUED  in flight; reap returns it, in any order
 *   WRITE_BUSY    not taken: reap first, then submit it again
 *
 * so that synchronous and asynchronous plugins look alike.
 */
enum write_answer { WRITE_DONE, WRITE_QUEUED, WRITE_BUSY };

struct write_request {
	int fd;
	const void *data;
	size_t bytes;
	uint64_t offset; /* byte in the file */
	int64_t result;	 /* bytes written, maybe fewer than asked for; or
			  * -errno */
	void *tag;	 /* private to the caller */
};

enum {
	WRITE_DIRECT = 1,  /* wants files opened with O_DIRECT: the core */
	WRITE_NOTHING = 2, /* stores nothing: the core creates no files */
};

struct write_args {
	const struct host *host;
	const void *options; /* the plugin's own options, filled by its table */
	/*
	 * The memory that nearly all data comes from: a plugin may register it
	 * with the kernel once instead of with each request.  It stays mapped
	 * until after close.  If the kernel refuses, the plugin logs one line
	 * and continues.  NULL and 0: unknown.  Data outside of it must be
	 * written as well.
	 */
	const void *arena;
	size_t arena_bytes;
	/*
	 * Bytes at the beginning of `arena` that are ready: what lies behind is
	 * still being touched, and to register it would wait for that.  It only
	 * rises, and may be read at any time.  NULL: all.
	 */
	const _Atomic size_t *arena_ready;
};

struct write_state;

struct write_ops {
	struct plugin head; /* head.flags: WRITE_DIRECT, WRITE_NOTHING */

	/* Makes an instance for one disk.  0, or -errno.  Mandatory. */
	int (*open)(struct write_state **state, const struct write_args *args);

	/*
	 * Writes, or starts to write, request->bytes.  The caller leaves the
	 * request and its memory alone until it is done.  A queued request may
	 * reach the kernel only with the next start or reap.  Never waits for
	 * other requests.  Mandatory.
	 */
	enum write_answer (*submit)(struct write_state *state,
				    struct write_request *request);

	/*
	 * Starts what is queued, waits until at least one queued request is
	 * done, and returns up to n of them, each once, in any order, with its
	 * result.  Returns 0 only if none is queued.  Signals do not end the
	 * wait, and on a disk that does not answer it lasts for ever.  NULL if
	 * nothing is ever queued.
	 */
	unsigned (*reap)(struct write_state *state, struct write_request **done,
			 unsigned n);

	/*
	 * Called before a file is closed, even after errors, when none of its
	 * requests is queued any more: releases what the plugin keeps for this
	 * descriptor, whose number the next file may get.  NULL if it keeps
	 * nothing.
	 */
	int (*finish)(struct write_state *state, int fd);

	/* Frees the instance; no request is queued any more.  Mandatory. */
	void (*close)(struct write_state *state);

	/*
	 * Submits all queued requests to the kernel in one call and does not
	 * wait.  The core calls it after a batch if it has other work before
	 * the next reap.  NULL if submit needs no help.
	 */
	void (*start)(struct write_state *state);
};

#endif
