/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_STAMP_H
#define SPATE_RECEIVE_UDP_STAMP_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/*
 * A stamp is the UTC time at which the kernel took a message in from a driver
 * or a local sender, before the message waited in any socket.  The kernel
 * passes it beside the message, one for a whole train of datagrams.
 *
 * The kernel stamps all incoming packets of the machine while at least one
 * socket asks for stamps.  Handing the stamps over costs more, so a source
 * turns that on only when stamps are needed.  Messages that already wait in the
 * socket then have their stamps, too, if another socket asked all the time:
 * stamps_keep() opens that socket.
 */
enum { STAMP_SPACE = CMSG_SPACE(sizeof(struct timespec)) };

/*
 * Turns stamps on or off for the messages of a socket.  No known kernel
 * refuses; if one does, all stamps are 0.
 */
static inline void
stamps_ask(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/*
 * Opens a socket that nothing is sent to and that asks for stamps.  Returns the
 * descriptor, owned by the caller, or -errno.  Without it, messages that wait
 * when a source turns stamps on get the time at which they are read.
 */
static inline int
stamps_keep(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	stamps_ask(fd, 1);
	return fd;
}

/* Tells whether a control message is a stamp, and then sets *ns (UTC). */
static inline bool
stamp_is(const struct cmsghdr *c, int64_t *ns)
{
	struct timespec t;

	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
		return false;
	memcpy(&t, CMSG_DATA(c), sizeof t);
	*ns = (int64_t)t.tv_sec * NS_SECOND + t.tv_nsec;
	return true;
}

/*
 * Returns the stamp (UTC ns) of a message that has no other control message; 0:
 * none.
 */
static inline int64_t
stamp_of(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int64_t ns = 0;

	return c && stamp_is(c, &ns) ? ns : 0;
}

#endif
