/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_SEEK_H
#define SPATE_DAEMON_DISKS_SEEK_H

#include <stdbool.h>

#include "daemon/disks/fleet.h"

/*
 * A seek looks up which disks have a recording of a name, or whether a folder
 * answers at all, on a thread of its own that may hang with a disk.  The caller
 * waits half a second at most.  One thread, the event loop's, calls these
 * functions.
 */
struct seek;

struct seek_disks {
	const char *path[FLEET_MOST];
	unsigned n;
};

/* Starts the thread.  Returns 0 or -errno. */
int seek_start(struct seek **seek);

/* Ends the thread; leaves it behind if it hangs.  NULL: does nothing. */
void seek_stop(struct seek *s);

/*
 * Sets has[i] if disk `i` has a recording of that name in any layout, or
 * anything else of that name.  Returns how many disks were looked at, from the
 * first on: fewer than all, or none, if one does not answer, or if the previous
 * lookup is still stuck.
 */
unsigned seek_name(struct seek *s, const struct seek_disks *disks,
		   const char *name, bool has[FLEET_MOST]);

/* True if the folder answers, even with an error.  A cached name may answer
 * while its file server is away, so this asks with statvfs, which goes to the
 * server. */
bool seek_folder(struct seek *s, const char *path);

#endif
