/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_USER_H
#define SPATE_FUSE_USER_H

#include <sys/types.h>

#include "base/fault.h"

/*
 * The user who owns a mount.  Root may mount for another user and become that
 * user afterwards, so that no code that reads recordings has root's rights.
 */
struct user {
	/* NULL: the user who started the program; nothing changes */
	const char *name;
	uid_t uid;
	gid_t gid;
};

/*
 * Looks a user up; name NULL: the user who started the program.  Returns 0;
 * -ENOENT; -EPERM: only root can become another user; with a fault.
 */
int user_find(struct user *u, const char *name, struct fault *fault);

/*
 * Makes the next mount belong to the user, who can then unmount it; the program
 * keeps root's rights.  Returns 0 or -errno.
 */
int user_mounts(const struct user *u);

/* Becomes the user for good, in all threads.  Returns 0 or -errno. */
int user_become(const struct user *u);

#endif
