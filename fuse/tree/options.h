/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_OPTIONS_H
#define SPATE_FUSE_TREE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
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

#endif
