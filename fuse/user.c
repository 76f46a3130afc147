/* SPDX-License-Identifier: MIT */
/*
 * The kernel lets fusermount3 unmount for the user whom the mount names as its
 * owner (user_id), and libfuse writes the real user there.  So user_mounts()
 * changes the real user before mounting, while the effective user, whose rights
 * count, is still root.
 */
#include "fuse/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

int
user_find(struct user *u, const char *name, struct fault *fault)
{
	const struct passwd *p;

	*u = (struct user){ .uid = getuid(), .gid = getgid() };
	if (!name)
		return 0;
	p = getpwnam(name);
	if (!p) {
		fault_set(fault, -ENOENT, "not-found", "-o user=%.100s", name);
		fault_why(fault, "there is no such user");
		return -ENOENT;
	}
	if (p->pw_uid == u->uid)
		return 0;
	if (geteuid() != 0) {
		fault_set(fault, -EPERM, "usage", "-o user=%.100s", name);
		fault_why(fault, "only root can mount for another user");
		fault_hint(fault, "leave it out, or let root mount it");
		return -EPERM;
	}
	*u = (struct user){ name, p->pw_uid, p->pw_gid };
	return 0;
}

int
user_mounts(const struct user *u)
{
	if (!u->name)
		return 0;
	if (setresgid(u->gid, (gid_t)-1, (gid_t)-1) < 0 ||
	    setresuid(u->uid, (uid_t)-1, (uid_t)-1) < 0)
		return -errno;
	return 0;
}

int
user_become(const struct user *u)
{
	if (!u->name)
		return 0;
	if (initgroups(u->name, u->gid) < 0 ||
	    setresgid(u->gid, u->gid, u->gid) < 0 ||
	    setresuid(u->uid, u->uid, u->uid) < 0)
		return -errno;
	return 0;
}
