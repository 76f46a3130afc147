/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_SEEK_H
#define SPATE_DAEMON_DISKS_SEEK_H

#include <stdbool.h>

#include "daemon/disks/fleet.h"

/*
 * A seek looks on which disks a name is, or whether a folder answers at all,
 * by a thread of its own, which hangs with a disk; who asks waits for it half a
 * second at most.
 * One thread, the event loop's, calls these.
 */
struct seek;

struct seek_disks {
	const char *path[FLEET_MOST];
	unsigned n;
};

/* 0 or -errno. */
int seek_start(struct seek **seek);

/* A thread that hangs is left behind.  NULL: nothing. */
void seek_stop(struct seek *s);

/*
 * Has each of the disks a recording of that name, in whichever layout, or
 * something else that is called so?  Returns how many were looked at, from
 * the first on: fewer, or none, where one of them does not answer, or has not
 * answered the last time yet.
 */
unsigned seek_name(struct seek *s, const struct seek_disks *disks,
		   const char *name, bool has[FLEET_MOST]);

/* Does a folder answer, be it with an error?  A server that is away may be
 * asked for names that are known here, but not for this. */
bool seek_folder(struct seek *s, const char *path);

#endif
