/* SPDX-License-Identifier: MIT */
/*
 * Splits a stream of bytes into lines.  Bytes that were read and not yet
 * returned lie from `start` to `used`; they are moved to the front before each
 * read, so that the buffer grows no larger than the longest line allows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/control.h"

static void
fds_take(struct control_fds *f, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
		if (f->n < CONTROL_FDS)
			f->fd[f->n++] = fd;
		else
			close(fd);
	}
}

static ssize_t
read_fds(struct control_fds *f, int fd, char *to, size_t room)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof f->fd)];
	} control;
	struct iovec data = { to, room };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);

	for (struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m); c;
	     c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			fds_take(f, c);
	}
	return got;
}

static ssize_t
read_some(struct control_lines *l, int fd)
{
	char *to = l->data + l->used;
	size_t room = l->room - l->used;

	return l->fds ? read_fds(l->fds, fd, to, room) : read(fd, to, room);
}

int
control_lines_read(struct control_lines *l, int fd)
{
	size_t room = l->room ? 2 * l->room : 4096;
	char *data;
	ssize_t got;

	if (l->start) {
		l->used -= l->start;
		memmove(l->data, l->data + l->start, l->used);
		l->start = 0;
	}
	if (l->used >= (l->most ? l->most : CONTROL_LINE))
		return -EMSGSIZE;
	if (l->used == l->room) {
		data = realloc(l->data, room);
		if (!data)
			return -ENOMEM;
		l->data = data;
		l->room = room;
	}
	do
		got = read_some(l, fd);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	l->used += got;
	return got;
}

char *
control_lines_next(struct control_lines *l)
{
	char *line, *end;

	if (l->used == l->start)
		return NULL;
	line = l->data + l->start;
	end = memchr(line, '\n', l->used - l->start);
	if (!end)
		return NULL;
	*end = '\0';
	l->start = end + 1 - l->data;
	return line;
}

void
control_lines_clear(struct control_lines *l)
{
	free(l->data);
	*l = (struct control_lines){ 0 };
}
