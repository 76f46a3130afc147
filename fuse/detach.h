/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FUSE_DETACH_H
#define SPATE_FUSE_DETACH_H

/*
 * Puts the program into the background.  The process that the user started
 * waits until the mount is ready, or prints on their terminal why it is not,
 * and ends with that status.
 */
struct detach {
	int fd; /* pipe to the waiting process; -1: not in the background */
};

/*
 * Forks; called before any thread exists.  Returns 0 in the new process, which
 * has to call detach_ready() or end.  The old process ends with it.
 */
int detach_begin(struct detach *d);

/*
 * Ends the waiting process with success, leaves terminal and working directory,
 * and sends the log to syslog.  Returns 0 or -errno.  Does nothing in the
 * foreground.
 */
int detach_ready(struct detach *d, const char *name);

#endif
