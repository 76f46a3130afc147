/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_FDS_H
#define SPATE_DAEMON_LOOP_FDS_H

/*
 * File descriptors that the event loop polls, each with the function to call
 * when it is ready.  Parts of the daemon add their own.  The event loop's
 * thread only.
 */
struct pollfd;

/* One descriptor, borrowed, with the function to call. */
struct daemon_fd {
	int fd;
	short events; /* as of poll(2): POLLIN */
	void (*ready)(void *arg, short revents);
	void *arg;
};

/* The descriptors of the loop, in two arrays of `n` entries each. */
struct daemon_fds {
	struct pollfd *poll;
	struct daemon_fd *fd;
	unsigned n, room;
};

/* Returns 0 or -ENOMEM.  The caller still owns `fd`. */
int daemon_fds_add(struct daemon_fds *f, const struct daemon_fd *fd);

/* Ends the calls for `fd`, also if it is ready in this turn already.  Call it
 * before close(fd).  An unknown `fd` is ignored. */
void daemon_fds_remove(struct daemon_fds *f, int fd);

/* Waits up to timeout_ms (-1: for ever), then calls the function of each ready
 * descriptor, which may add and remove any.  Returns 0 or -errno. */
int daemon_fds_wait(struct daemon_fds *f, int timeout_ms);

/* Frees the arrays; closes nothing. */
void daemon_fds_clear(struct daemon_fds *f);

#endif
