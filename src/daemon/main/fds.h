/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_FDS_H
#define SPATE_DAEMON_MAIN_FDS_H

/*
 * What the event loop waits for: file descriptors, each with what is called
 * when something became of it.  The parts of the daemon add their own.  The
 * event loop's thread.
 */
struct pollfd;

struct daemon_fd {
	int fd;
	short events; /* of poll(2), as POLLIN */
	void (*ready)(void *arg, short revents);
	void *arg;
};

struct daemon_fds {
	struct pollfd *poll;
	struct daemon_fd *fd;
	unsigned n, room;
};

/* 0 or -ENOMEM; `fd` stays the caller's. */
int daemon_fds_add(struct daemon_fds *f, const struct daemon_fd *fd);

/* Nothing more is called of it, also where it is ready already: before it is
 * closed.  One that was not added: nothing. */
void daemon_fds_remove(struct daemon_fds *f, int fd);

/* Waits (-1: for ever), then calls those that are ready, which may add and
 * remove.  0 or -errno. */
int daemon_fds_wait(struct daemon_fds *f, int timeout_ms);

void daemon_fds_clear(struct daemon_fds *f);

#endif
