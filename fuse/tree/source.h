/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_SOURCE_H
#define SPATE_FUSE_TREE_SOURCE_H

#include "fuse/tree/options.h"
#include "store/disk/where.h"

/*
 * A source is where a mount has its recordings from: the disks, and the socket
 * of the daemon that may be writing to them.
 *
 *   disks    -o disks=; else SOURCE, if that is a list of folders; else as a
 *            configuration says: -o conf=, SOURCE, or the usual one
 *   socket   -o socket=; else as that configuration says
 *
 * A SOURCE of "none" or "spate" counts as not given, for fstab.
 */
struct source {
	struct disks disks; /* with absolute paths */
	char socket[WHERE_SOCKET];
};

/*
 * Finds disks and socket.  At least one disk has to be there; missing ones are
 * logged.  Returns 0, or -errno with a fault.  The caller calls source_clear()
 * in any case.
 */
int source_find(struct source *s, const struct options *o, struct fault *fault);
void source_clear(struct source *s);

#endif
