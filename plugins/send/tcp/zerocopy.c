/* SPDX-License-Identifier: MIT */
#include "zerocopy.h"

#include <time.h>

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

void
zerocopy_begin(struct zerocopy *z, int fd)
{
	int on = 1;

	zerocopy_end(z);
	z->on = z->mode != ZEROCOPY_NEVER &&
		setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0;
}

void
zerocopy_end(struct zerocopy *z)
{
	*z = (struct zerocopy){ .mode = z->mode };
}

void
zerocopy_load(struct zerocopy *z, uint64_t taken)
{
	unsigned i = (z->first + z->loads++) % ZEROCOPY_LOADS;

	z->load[i].calls = z->calls;
	z->load[i].taken = taken;
}

/*
 * Notes that the calls from..to are done.  They mostly come in order; if not,
 * their count tells when all are done.
 */
static void
done(struct zerocopy *z, uint32_t from, uint32_t to)
{
	z->count += to - from + 1;
	if ((int32_t)(from - z->done) <= 0 && (int32_t)(to + 1 - z->done) > 0)
		z->done = to + 1;
	if (z->count == z->calls)
		z->done = z->calls;
	while (z->loads && (int32_t)(z->done - z->load[z->first].calls) >= 0) {
		z->first = (z->first + 1) % ZEROCOPY_LOADS;
		z->loads--;
	}
}

static void
message_read(struct zerocopy *z, const struct cmsghdr *c)
{
	struct sock_extended_err e;

	if (!(c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR) &&
	    !(c->cmsg_level == SOL_IPV6 && c->cmsg_type == IPV6_RECVERR))
		return;
	memcpy(&e, CMSG_DATA(c), sizeof e);
	if (e.ee_origin != SO_EE_ORIGIN_ZEROCOPY || e.ee_errno)
		return;
	if (e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED && z->mode == ZEROCOPY_AUTO)
		z->on = false;
	done(z, e.ee_info, e.ee_data);
}

void
zerocopy_look(struct zerocopy *z, int fd)
{
	uint8_t space[256] __attribute__((aligned(8)));

	while (z->count != z->calls) {
		struct msghdr m = { .msg_control = space,
				    .msg_controllen = sizeof space };

		if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c;
		     c = CMSG_NXTHDR(&m, c))
			message_read(z, c);
	}
}
