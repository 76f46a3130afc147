/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_OPTIONS_H
#define SPATE_FUSE_TREE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "store/disk/configured.h"
#include "store/view/view.h"

/*
 * Options are the command line of spatefs,
 *
 *   spatefs [SOURCE] MOUNT [-f] [-d] [-o KEY[=VALUE],...]
 *
 * as users type it, and as mount(8) passes it for a line of fstab.  Words of
 * fstab for other programs (nofail, _netdev, x-...) are ignored; unknown words
 * are an error.
 */
struct mount_options {
	char *source, *point; /* NULL: not given */
	char *disks, *conf, *socket, *user;
	enum view_fill fill;
	uint64_t strip, cache, threads;
	int64_t timeout;
	bool allow_other, direct_io, verify, io_uring;
	bool foreground, debug, help, version;
	char *passed; /* for libfuse, "a,b=c"; NULL: none */
};

/*
 * Reads the command line.  Returns 0; -EINVAL or -ENOMEM with a fault.  The
 * caller calls options_clear() in any case.
 */
int options_read(struct mount_options *o, int argc, char **argv,
		 struct fault *fault);
void options_clear(struct mount_options *o);

/* Prints the keys of -o, a line or two for each. */
void options_help(FILE *to);

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
struct mount_source {
	struct disks disks; /* with absolute paths */
	char socket[CONFIGURED_SOCKET];
};

/*
 * Finds disks and socket.  At least one disk has to be there; missing ones are
 * logged.  Returns 0, or -errno with a fault.  The caller calls source_clear()
 * in any case.
 */
int source_find(struct mount_source *s, const struct mount_options *o,
		struct fault *fault);

void source_clear(struct mount_source *s);

#endif
