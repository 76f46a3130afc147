/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_USER_H
#define SPATE_FUSE_USER_H

#include <sys/types.h>

#include "base/fault.h"

/*
 * The user whose a mount is.  Root may mount for another, and be that one from
 * then on: nothing that reads recordings then has root's rights.
 */
struct user {
	const char *name; /* NULL: who started it, and nothing changes */
	uid_t uid;
	gid_t gid;
};

/* name NULL: who started it.  0; -ENOENT; -EPERM: only root becomes another;
 * with a fault. */
int user_find(struct user *u, const char *name, struct fault *fault);

/* Still has root's rights, but what is mounted now belongs to the user, who
 * can then unmount it.  0 or -errno. */
int user_mounts(const struct user *u);

/* For good, in all threads.  0 or -errno. */
int user_become(const struct user *u);

#endif
