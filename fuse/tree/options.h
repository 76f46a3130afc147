/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_TREE_OPTIONS_H
#define SPATE_FUSE_TREE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "store/view/view.h"

/*
 * Options are the command line of spatefs:
 *
 *   spatefs [SOURCE] MOUNT [-f] [-d] [-o KEY[=VALUE],...]
 *
 * as people type it, and as mount(8) does for a line of fstab.  What a line of
 * fstab says to others (nofail, _netdev, x-...) is passed over; what is not
 * known to anybody is an error.
 */
struct options {
	char *source, *point; /* NULL: not given */
	char *disks, *conf, *socket, *user;
	enum view_fill fill;
	uint64_t strip, cache, threads;
	int64_t timeout;
	bool allow_other, direct_io, verify, io_uring;
	bool foreground, debug, help, version;
	char *passed; /* to libfuse, "a,b=c", or NULL */
};

/* 0; -EINVAL or -ENOMEM, with a fault.  To be cleared in any case. */
int options_read(struct options *o, int argc, char **argv, struct fault *fault);
void options_clear(struct options *o);

/* What -o takes, a line or two for each. */
void options_help(FILE *to);

#endif
