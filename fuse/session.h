/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_SESSION_H
#define SPATE_FUSE_SESSION_H

#include <sys/types.h>

#include "base/fault.h"
#include "fuse/point.h"
#include "fuse/tree/options.h"

struct ops;

/*
 * The user who owns a mount.  Root may mount for another user and become that
 * user afterwards, so that no code that reads recordings has root's rights.
 */
struct mount_user {
	/* NULL: the user who started the program; nothing changes */
	const char *name;
	uid_t uid;
	gid_t gid;
};

/*
 * Looks a user up; name NULL: the user who started the program.  Returns 0;
 * -ENOENT; -EPERM: only root can become another user; with a fault.
 */
int user_find(struct mount_user *u, const char *name, struct fault *fault);

/* Becomes the user for good, in all threads.  Returns 0 or -errno. */
int user_become(const struct mount_user *u);

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
struct mount_session;

/*
 * Makes a session; `ops` must outlive it. libfuse's messages go to the log from
 * now on.  Returns 0; -EINVAL or -ENOMEM with a fault.
 */
int session_open(struct mount_session **s, const struct mount_options *o,
		 struct ops *ops, struct fault *fault);

/*
 * Mounts for a user, and keeps the rights of the program.  Returns 0, or -errno
 * with a fault.
 */
int session_mount(struct mount_session *s, struct point *p,
		  const struct mount_user *u, struct fault *fault);

/*
 * Answers requests until the session ends, with as many threads as requests
 * need, at most `threads`.  Returns 0 or -errno.
 */
int session_run(struct mount_session *s, unsigned threads);

/* Unmounts; lazily, if the mount is in use. */
void session_close(struct mount_session *s); /* may be NULL */

struct fuse_args;

/*
 * Asks libfuse to take requests from io_uring rings shared with the kernel, one
 * for each processor.  If that is not possible, it logs why, and requests come
 * by /dev/fuse.
 *
 * This is off by default: a ring has one thread, and while it waits for a disk,
 * other requests of its processor wait behind it.  With /dev/fuse another
 * thread takes them.
 */
void uring_want(struct fuse_args *args);

#endif
