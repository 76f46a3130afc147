/* SPDX-License-Identifier: MIT */
#include "lib/stamps.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/suite.h"

static int64_t
ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Sends a packet to a socket itself, and reads it later.  True if its stamp is
 * from before the reading. */
static bool
is_stamped(int fd, const struct sockaddr_in *at)
{
	union {
		struct cmsghdr first;
		char room[256];
	} control;
	struct msghdr m = { .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct timespec sent, stamp;

	ck_assert_int_eq(sendto(fd, "", 0, 0, (const void *)at, sizeof *at), 0);
	clock_gettime(CLOCK_REALTIME, &sent);
	usleep(1000);
	ck_assert_int_eq(recvmsg(fd, &m, 0), 0);
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&m));
	memcpy(&stamp, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof stamp);
	return ns_of(&stamp) <= ns_of(&sent);
}

void
stamps_wait(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t length = sizeof at;
	bool stamped = false;

	ck_assert_int_eq(
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on), 0);
	ck_assert_int_eq(bind(fd, (void *)&at, sizeof at), 0);
	getsockname(fd, (void *)&at, &length);
	for (int i = 0; i < 10000 && !stamped; i++)
		stamped = is_stamped(fd, &at);
	ck_assert(stamped);
	close(fd);
}
