/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_POINT_H
#define SPATE_FUSE_POINT_H

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"

struct disks;

/*
 * A point is the folder that spatefs is mounted on, with facts that the kernel
 * knows without asking the file system itself, which may be dead.
 */
struct point {
	char path[PATH_MAX]; /* absolute, without links */
	char device[32];     /* "0:52"; "": nothing is mounted there */
	char type[64];	     /* "fuse.spatefs" */
};

/*
 * Finds the folder to mount on.  If a spatefs that was killed left its mount
 * there, that mount is removed.  Returns 0; -ENOENT or -ENOTDIR: no such
 * folder; -EBUSY: a spatefs is mounted there; -EINVAL: the mount would hide the
 * disks; or another -errno; with a fault.
 */
int point_find(struct point *p, const char *folder, const struct disks *disks,
	       struct fault *fault);

/*
 * Reads device and type again.  Returns 0; -ENOENT: nothing is mounted there;
 * or -errno.
 */
int point_look(struct point *p);

/*
 * Makes the kernel read ahead as far as one request may be.  If it may not, it
 * logs what root can do.
 */
void point_read_ahead(const struct point *p);

#endif
