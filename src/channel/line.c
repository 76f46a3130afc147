/* SPDX-License-Identifier: MIT */
/*
 * The socket's buffer is left to the kernel, which lets it grow with the path;
 * a fixed size stops that and is right for one path only.
 *
 * TCP_USER_TIMEOUT is not used to notice a peer that vanished.  It would also
 * cut off a peer that lives and takes nothing for a while, as a recorder with
 * slow disks does: while the peer's window is closed, the kernel counts the
 * time although every probe is answered. line_is_dead() asks the kernel instead
 * (TCP_INFO): a peer is gone if data was sent again and again for `vanish` ns
 * without any answer.  While no data is on its way, keepalive does the same.
 */
#include "channel/line.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "contract/log.h"

#define LOOK  NS_SECOND	       /* between looks at a silent peer */
#define FIRST (NS_SECOND / 10) /* wait after the first failure */
#define LAST  (5 * NS_SECOND)  /* longest wait */
#define HEARD (10 * NS_SECOND) /* time for a connection attempt */

int64_t
line_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_SECOND + t.tv_nsec;
}

int
line_find(struct line_args *to, const struct send_args *a)
{
	struct url url;
	int err = url_read(&url, a->to, a->why, a->why_bytes);

	if (!err)
		err = resolve(&to->to, &url, a->why, a->why_bytes);
	if (!err)
		memcpy(to->device, url.device, sizeof to->device);
	return err;
}

void
line_make(struct line *l, const struct line_args *args)
{
	*l = (struct line){ .a = args, .fd = -1, .wait = FIRST };
	endpoint_show(&args->to.at[0], l->peer);
}

/* ---- connecting ------------------------------------------------------ */

static void
options_set(const struct line *l, int fd)
{
	int seconds = (int)(l->a->vanish / NS_SECOND);
	int idle = seconds > 2 ? seconds / 2 : 1;
	int every = seconds > 6 ? seconds / 6 : 1;
	const struct {
		int level, name, value;
	} option[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, idle },
		{ IPPROTO_TCP, TCP_KEEPINTVL, every },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};
	const struct linger away = { .l_onoff = 1 };
	int bytes = (int)l->a->buffer;

	for (unsigned i = 0; i < sizeof option / sizeof *option; i++)
		setsockopt(fd, option[i].level, option[i].name,
			   &option[i].value, sizeof option[i].value);
	if (l->a->abrupt)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &away, sizeof away);
	if (bytes && setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes,
				sizeof bytes) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static int
call_begin(struct line *l, int64_t now)
{
	const union endpoint *to = &l->a->to.at[l->next];
	const char *device = l->a->device;
	int fd = socket(to->any.sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	l->fd = fd;
	l->since = now;
	l->state = LINE_CALLING;
	endpoint_show(to, l->peer);
	options_set(l, fd);
	if (device[0] && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
				    (socklen_t)strlen(device) + 1) < 0)
		return -errno;
	if (connect(fd, &to->any, endpoint_bytes(to)) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	return -errno;
}

static int
call_look(struct line *l, int64_t now)
{
	struct pollfd p = { .fd = l->fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int err = 0;

	if (poll(&p, 1, 0) <= 0)
		return now - l->since < HEARD ? -EAGAIN : -ETIMEDOUT;
	getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &err, &length);
	return -err;
}

int
line_call(struct line *l, int64_t now)
{
	int err = 0;

	if (l->state == LINE_UP)
		return 0;
	if (l->state == LINE_DOWN) {
		if (now < l->retry)
			return -EAGAIN;
		err = call_begin(l, now);
	}
	if (!err)
		err = call_look(l, now);
	if (err == -EAGAIN)
		return err;
	if (!err) {
		l->state = LINE_UP;
		l->since = now;
		l->bytes = 0;
		return 0;
	}
	line_drop(l, err, false);
	l->next = (l->next + 1) % l->a->to.n;
	if (l->next)
		l->retry = 0; /* another address is tried at once */
	return err;
}

void
line_drop(struct line *l, int err, bool reset)
{
	const struct linger away = { .l_onoff = 1 };

	if (l->fd >= 0) {
		if (reset)
			setsockopt(l->fd, SOL_SOCKET, SO_LINGER, &away,
				   sizeof away);
		close(l->fd);
	}
	l->fd = -1;
	l->state = LINE_DOWN;
	l->err = err;
	l->first = l->pieces = 0;
	l->retry = line_now() + l->wait;
	l->wait = l->wait * 2 < LAST ? l->wait * 2 : LAST;
}

void
line_was_good(struct line *l)
{
	l->wait = FIRST;
}

/* ---- bytes ----------------------------------------------------------- */

static void
pieces_skip(struct line *l, size_t bytes)
{
	struct iovec *p;

	while (l->first < l->pieces && bytes >= l->piece[l->first].iov_len)
		bytes -= l->piece[l->first++].iov_len;
	if (l->first == l->pieces) {
		l->first = l->pieces = 0;
		return;
	}
	p = &l->piece[l->first];
	p->iov_base = (uint8_t *)p->iov_base + bytes;
	p->iov_len -= bytes;
}

int
line_flush(struct line *l, int flags)
{
	while (line_is_busy(l)) {
		struct msghdr m = { .msg_iov = l->piece + l->first,
				    .msg_iovlen = l->pieces - l->first };
		ssize_t sent = sendmsg(l->fd, &m, MSG_NOSIGNAL | flags);

		if (sent < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		l->calls++;
		l->bytes += (uint64_t)sent;
		pieces_skip(l, (size_t)sent);
	}
	return 0;
}

int
line_read(struct line *l, void *to, uint32_t bytes)
{
	ssize_t got = recv(l->fd, to, bytes, MSG_DONTWAIT);

	if (got == 0)
		return -ENODATA;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return (int)got;
}

bool
line_is_dead(struct line *l, int64_t now)
{
	struct tcp_info t = { 0 };
	socklen_t length = sizeof t;

	if (l->state != LINE_UP || now - l->since < LOOK)
		return false;
	l->since = now;
	if (getsockopt(l->fd, IPPROTO_TCP, TCP_INFO, &t, &length) < 0)
		return false;
	return t.tcpi_retransmits + t.tcpi_probes >= 2 &&
	       t.tcpi_last_ack_recv * (NS_SECOND / 1000) >= l->a->vanish;
}

unsigned
line_poll(const struct line *l, struct pollfd *fd, int64_t *until)
{
	int64_t look = l->state == LINE_DOWN	  ? l->retry
		       : l->state == LINE_CALLING ? l->since + HEARD
						  : l->since + LOOK;

	if (look < *until)
		*until = look;
	if (l->fd < 0)
		return 0;
	*fd = (struct pollfd){ .fd = l->fd, .events = POLLIN };
	if (l->state == LINE_CALLING)
		fd->events = POLLOUT;
	else if (line_is_busy(l))
		fd->events |= POLLOUT;
	return 1;
}
