/* SPDX-License-Identifier: MIT */
/*
 * A stream socket keeps descriptors with the byte they were sent with; the read
 * that takes this byte gets them.  So earlier bytes are sent first, and a line
 * with descriptors begins a call of its own.
 */
#include "daemon/loop/server_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	OUT_MOST = 16 << 20,
	OUT_KEPT = 64 << 10, /* a larger buffer is freed when it is empty */
};

void
server_out_init(struct server_out *o)
{
	*o = (struct server_out){ 0 };
}

void
server_out_clear(struct server_out *o)
{
	free(o->data);
	server_out_init(o);
}

/* Makes room for `bytes` more, at least doubling.  Returns 0 or -errno. */
static int
grow(struct server_out *o, size_t bytes)
{
	size_t need = o->bytes + bytes, room = o->room;
	char *data;

	if (need > OUT_MOST)
		return -EMSGSIZE;
	if (need <= room)
		return 0;
	room = 2 * room > need ? 2 * room : need;
	data = realloc(o->data, room);
	if (!data)
		return -ENOMEM;
	o->data = data;
	o->room = room;
	return 0;
}

int
server_out_line(struct server_out *o, const char *text)
{
	size_t length = strlen(text);
	int err = grow(o, length + 1);

	if (err)
		return err;
	memcpy(o->data + o->bytes, text, length);
	o->data[o->bytes + length] = '\n';
	o->bytes += length + 1;
	return 0;
}

void
server_out_fds(struct server_out *o, const int *fd, unsigned n)
{
	memcpy(o->fd, fd, n * sizeof *fd);
	o->fds = n;
	o->fds_at = o->bytes;
}

static ssize_t
send_fds(const struct server_out *o, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof o->fd)];
	} control = { 0 };
	struct iovec data = { o->data + o->sent, o->bytes - o->sent };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen =
				CMSG_SPACE(o->fds * sizeof(int)) };

	control.head =
	    (struct cmsghdr){ .cmsg_len = CMSG_LEN(o->fds * sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), o->fd, o->fds * sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t
send_some(struct server_out *o, int fd)
{
	size_t end = o->fds ? o->fds_at : o->bytes;
	ssize_t n;

	if (o->sent < end)
		return send(fd, o->data + o->sent, end - o->sent,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	n = send_fds(o, fd);
	if (n > 0)
		o->fds = 0;
	return n;
}

int
server_out_flush(struct server_out *o, int fd)
{
	while (o->sent < o->bytes) {
		ssize_t n = send_some(o, fd);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			o->sent += (size_t)n;
	}
	o->bytes = o->sent = 0;
	if (o->room > OUT_KEPT)
		server_out_clear(o);
	return 0;
}
