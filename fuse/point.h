/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_POINT_H
#define SPATE_FUSE_POINT_H

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"

struct disks;

/*
 * A point is the folder that something is mounted on, and what the kernel
 * tells of that without asking the file system itself, which may be dead.
 */
struct point {
	char path[PATH_MAX]; /* absolute, without links */
	char device[32];     /* "0:52"; empty: nothing is mounted there */
	char type[64];	     /* "fuse.spatefs" */
};

/*
 * Finds a folder on which to mount what is on some disks.  A mount that a
 * spatefs of before left behind there, which was killed, is taken away.
 *
 * 0; -ENOENT, -ENOTDIR: there is no such folder; -EBUSY: a spatefs is mounted
 * there; -EINVAL: it would hide the disks; or -errno; with a fault.
 */
int point_find(struct point *p, const char *folder, const struct disks *disks,
	       struct fault *fault);

/* Looks again.  0; -ENOENT: nothing is mounted there; or -errno. */
int point_look(struct point *p);

/* Has the kernel read ahead as far as one request may be, and says in the log
 * what root can do where it may not. */
void point_read_ahead(const struct point *p);

#endif
