/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_DETACH_H
#define SPATE_FUSE_DETACH_H

/*
 * Goes into the background, and says how that went only when it is known:
 * whoever started the program waits until it is ready, or reads on their
 * terminal why it is not.
 */
struct detach {
	int fd; /* -1: not in the background */
};

/* Before there are threads.  Returns in a new process, which is to call
 * detach_ready() or end; the old one ends with it, or with its status. */
int detach_begin(struct detach *d);

/* Leaves terminal and folder; the log goes to syslog from now on.  0 or
 * -errno. */
int detach_ready(struct detach *d, const char *name);

#endif
