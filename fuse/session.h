/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_SESSION_H
#define SPATE_FUSE_SESSION_H

#include "base/fault.h"
#include "fuse/tree/options.h"
#include "fuse/point.h"
#include "fuse/user.h"

struct ops;

/*
 * A session is the conversation with the kernel about one mount: requests come
 * by /dev/fuse, many threads answer them, each by a file descriptor of its
 * own, until SIGTERM, SIGINT or SIGHUP, or until it is unmounted.
 *
 *   open -> mount -> (threads of others) -> run -> close
 *
 * One thread, the main one, which made no other before mount: these must not
 * take its signals.
 */
struct session;

/* What libfuse says is in the log from now on.  0; -EINVAL; -ENOMEM; with a
 * fault.  `ops` must outlive it. */
int session_open(struct session **s, const struct options *o, struct ops *ops,
		 struct fault *fault);

/* Mounts, for that user; the program is still who it was.  0 or -errno, with
 * a fault. */
int session_mount(struct session *s, struct point *p, const struct user *u,
		  struct fault *fault);

/* Until its end; threads are those that requests need, up to `threads`.  0 or
 * -errno. */
int session_run(struct session *s, unsigned threads);

/* Unmounts, lazily where somebody is in it. */
void session_close(struct session *s); /* NULL: nothing */

#endif
