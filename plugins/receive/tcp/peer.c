/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int
peer_make(struct peer *p, const struct host *host, int wake)
{
	*p = (struct peer){ .host = host, .wake = wake, .fd = -1 };
	p->set = epoll_create1(EPOLL_CLOEXEC);
	return p->set < 0 ? -errno : 0;
}

void
peer_free(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	close(p->set);
}

static void
watch(struct peer *p, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(p->set, EPOLL_CTL_ADD, fd, &e);
}

void
peer_seat(struct peer *p, int fd, const union endpoint *from)
{
	p->fd = fd;
	p->from = *from;
	p->quiet = 0;
	endpoint_show(from, p->name);
	memcpy(p->counts.sender, p->name, sizeof p->counts.sender);
	watch(p, fd);
}

void
peer_leave(struct peer *p, enum log_level level, const char *why)
{
	if (why)
		p->host->log(p->host->ctx, level, "%s %s", p->name, why);
	close(p->fd);
	p->fd = -1;
}

int
peer_read(struct peer *p, const struct iovec *iov, int n)
{
	ssize_t got = readv(p->fd, iov, n);

	if (got == 0)
		return -ENODATA;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	p->bytes += (uint64_t)got;
	p->counts.calls++;
	return (int)got;
}

void
peer_wake(struct peer *p, bool left)
{
	if (left == p->woken)
		return;
	p->woken = left;
	if (left)
		watch(p, p->wake);
	else
		epoll_ctl(p->set, EPOLL_CTL_DEL, p->wake, NULL);
}

bool
peer_tick(struct peer *p, int64_t ns, int64_t stall)
{
	p->quiet += ns;
	if (p->bytes != p->seen || p->held)
		p->quiet = 0;
	p->seen = p->bytes;
	p->held = false;
	return p->fd >= 0 && stall && p->quiet >= stall;
}
