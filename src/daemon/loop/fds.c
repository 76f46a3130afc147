/* SPDX-License-Identifier: MIT */
/*
 * Two arrays of equal length: the pollfds for poll(2), and the functions to
 * call.  A removed entry keeps its index with descriptor -1 until the next
 * wait, so that a called function may remove any entry, its own too, while the
 * array is walked.
 */
#include "daemon/loop/fds.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

static int
grow(struct daemon_fds *f)
{
	unsigned room = f->room ? 2 * f->room : 16;
	struct pollfd *poll;
	struct daemon_fd *fd;

	poll = realloc(f->poll, room * sizeof *poll);
	if (!poll)
		return -ENOMEM;
	f->poll = poll;
	fd = realloc(f->fd, room * sizeof *fd);
	if (!fd)
		return -ENOMEM;
	f->fd = fd;
	f->room = room;
	return 0;
}

int
daemon_fds_add(struct daemon_fds *f, const struct daemon_fd *fd)
{
	int err = f->n == f->room ? grow(f) : 0;

	if (err)
		return err;
	f->fd[f->n] = *fd;
	f->poll[f->n++] = (struct pollfd){ .fd = fd->fd, .events = fd->events };
	return 0;
}

void
daemon_fds_remove(struct daemon_fds *f, int fd)
{
	for (unsigned i = 0; i < f->n && fd >= 0; i++) {
		if (f->poll[i].fd == fd)
			f->poll[i] = (struct pollfd){ .fd = -1 };
	}
}

static void
close_up(struct daemon_fds *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (f->poll[i].fd < 0)
			continue;
		f->poll[n] = f->poll[i];
		f->fd[n++] = f->fd[i];
	}
	f->n = n;
}

int
daemon_fds_wait(struct daemon_fds *f, int timeout_ms)
{
	unsigned n;

	close_up(f);
	n = f->n;
	if (poll(f->poll, n, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	for (unsigned i = 0; i < n; i++) {
		short revents = f->poll[i].revents;

		if (f->poll[i].fd >= 0 && revents)
			f->fd[i].ready(f->fd[i].arg, revents);
	}
	return 0;
}

void
daemon_fds_clear(struct daemon_fds *f)
{
	free(f->poll);
	free(f->fd);
	*f = (struct daemon_fds){ 0 };
}
