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
 * A stamp is when the kernel took a message in, from a driver or a sender on
 * this machine, and so before it waited in any socket.  It comes beside the
 * message, one for a train of datagrams.
 *
 * The kernel stamps what comes in, for everybody, as long as any socket asks
 * for it; to be handed the stamps costs more, and can be turned on when they
 * are needed, for what already waits as well, if some other socket asked all
 * the time (stamps_keep).
 */
enum { STAMP_SPACE = CMSG_SPACE(sizeof(struct timespec)) };

/* Stamps come with the messages of a socket.  Refused by no kernel that we
 * know of; then they are 0. */
static inline void
stamps_ask(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

/* A socket that nothing comes to, and that asks.  -errno: there is none, and
 * what waits when stamps are turned on has those of when it is read. */
static inline int
stamps_keep(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	stamps_ask(fd, 1);
	return fd;
}

/* Is it one?  Then UTC ns. */
static inline bool
stamp_is(const struct cmsghdr *c, int64_t *ns)
{
	struct timespec t;

	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
		return false;
	memcpy(&t, CMSG_DATA(c), sizeof t);
	*ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	return true;
}

/* Of a message that has nothing else beside it; 0: none. */
static inline int64_t
stamp_of(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int64_t ns = 0;

	return c && stamp_is(c, &ns) ? ns : 0;
}

#endif
