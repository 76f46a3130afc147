/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_MOUNT_SOURCE_H
#define SPATE_FUSE_TREE_MOUNT_SOURCE_H

#include "base/fault.h"
#include "store/disk/configured.h"

struct mount_options;

/*
 * A source is where a mount has its recordings from: the disks, and the socket
 * of the daemon that may be writing to them.
 *
 *   disks    -o disks=; else SOURCE, if that is a list of folders; else as a
 *            configuration says: -o conf=, SOURCE, or the usual one
 *   socket   -o socket=; else as that configuration says
 *
 * While it is mounted, disks that a pattern finds later, and those that the
 * daemon of a configuration has besides, join.
 *
 * A SOURCE of "none" or "spate" counts as not given, for fstab.
 */
struct mount_source {
	struct disks disks; /* with absolute paths */
	char socket[CONFIGURED_SOCKET];
	char *list; /* of paths and patterns, absolute; NULL: configured */
	char *conf; /* absolute; NULL: the usual one */
};

/*
 * Finds disks and socket.  At least one disk has to be there; missing ones are
 * logged.  Returns 0, or -errno with a fault.  The caller calls source_clear()
 * in any case.
 */
int source_find(struct mount_source *s, const struct mount_options *o,
		struct fault *fault);

/*
 * Copies what source_look() needs, without the disks; NULL: no memory.  The
 * caller calls source_clear() and free().
 */
struct mount_source *source_copy(const struct mount_source *s);

/*
 * Finds the disks that there are now, those of the daemon included; waits for
 * disks, and a second at most for the daemon.  Returns false if the daemon is
 * there and does not answer: then it may have more.  The caller calls
 * disks_clear() in any case.
 */
bool source_look(const struct mount_source *s, struct disks *now);

void source_clear(struct mount_source *s);

#endif
