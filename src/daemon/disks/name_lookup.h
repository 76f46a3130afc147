/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_NAME_LOOKUP_H
#define SPATE_DAEMON_DISKS_NAME_LOOKUP_H

#include <stdbool.h>

#include "daemon/disks/disk_set.h"

/*
 * A name lookup finds out which disks have a recording of a name, or whether a
 * folder answers at all, on a thread of its own that may hang with a disk; the
 * next lookup then has another thread, up to eight.  The caller waits half a
 * second at most.  One thread, the event loop's, calls these functions.
 */
struct name_lookup;

struct name_lookup_disks {
	const char *path[DISK_SET_MOST];
	unsigned n;
};

/* Starts the thread.  Returns 0 or -errno. */
int name_lookup_start(struct name_lookup **lookup);

/* Ends the threads; leaves behind those that hang.  NULL: does nothing. */
void name_lookup_stop(struct name_lookup *s);

/*
 * Sets has[i] if disk `i` has a recording of that name in any layout, or
 * anything else of that name.  Returns how many disks were looked at, from the
 * first on: fewer than all, or none, if one does not answer, or has not since an
 * earlier lookup; none if as many lookups are stuck as there are threads.
 */
unsigned name_lookup_find(struct name_lookup *s,
			  const struct name_lookup_disks *disks,
			  const char *name, bool has[DISK_SET_MOST]);

/* True if the folder answers, even with an error.  A cached name may answer
 * while its file server is away, so this asks with statvfs, which goes to the
 * server. */
bool name_lookup_answers(struct name_lookup *s, const char *path);

/* The same of a remote disk, and what a look at it found: the caller need not ask
 * it again. */
bool name_lookup_remote(struct name_lookup *s, const char *path,
			struct disk_looked *found);

#endif
