/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_SESSION_H
#define SPATE_FUSE_SESSION_H

#include "base/fault.h"
#include "fuse/tree/options.h"
#include "fuse/point.h"
#include "fuse/user.h"

struct ops;

/*
 * A session is the connection to the kernel for one mount.  Requests come by
 * /dev/fuse, and many threads answer them, each with a descriptor of its own,
 * until SIGTERM, SIGINT or SIGHUP, or until the mount is removed.
 *
 *   open -> mount -> (other threads may begin) -> run -> close
 *
 * The main thread calls all functions.  No other thread may exist before mount,
 * because it would take the signals.
 */
struct session;

/*
 * Makes a session; `ops` must outlive it. libfuse's messages go to the log from
 * now on.  Returns 0; -EINVAL or -ENOMEM with a fault.
 */
int session_open(struct session **s, const struct options *o, struct ops *ops,
		 struct fault *fault);

/*
 * Mounts for a user, and keeps the rights of the program.  Returns 0, or -errno
 * with a fault.
 */
int session_mount(struct session *s, struct point *p, const struct user *u,
		  struct fault *fault);

/*
 * Answers requests until the session ends, with as many threads as requests
 * need, at most `threads`.  Returns 0 or -errno.
 */
int session_run(struct session *s, unsigned threads);

/* Unmounts; lazily, if the mount is in use. */
void session_close(struct session *s); /* may be NULL */

#endif
