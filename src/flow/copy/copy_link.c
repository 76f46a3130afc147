/* SPDX-License-Identifier: MIT */
/*
 * Sockets are non-blocking, and every wait polls the eventfd too, so that an
 * order to stop is always seen.  What fetches payloads beside the connection
 * moves on in every wait, because the sender may need that to connect.
 */
#include "flow/copy/copy_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/crc32c.h"

enum { GONE_MS = 30000 };

void
link_tune(int fd)
{
	static const int one = 1, idle = 10, each = 5, times = 4;
	static const unsigned gone = GONE_MS;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof each);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone, sizeof gone);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Waits for `events` of the socket, or news beside it.  0: look again;
 * -ECANCELED; -ETIMEDOUT; or, waiting for POLLRDHUP, -ECONNRESET. */
static int
await(const struct copy_link *l, short events, int64_t until)
{
	struct pollfd fd[] = {
		{ .fd = l->fd, .events = events },
		{ .fd = l->stop, .events = POLLIN },
		{ .fd = l->beside ? l->ops->fd(l->beside) : -1,
		  .events = POLLIN },
	};
	bool rests = !l->beside || l->ops->rest(l->beside);
	int64_t now = clock_steady();
	int ms = -1, n;

	if (l->by && l->by < until)
		until = l->by;
	if (until != INT64_MAX)
		ms = until > now ? (int)((until - now + 999999) / 1000000) : 0;
	n = poll(fd, 3, rests ? ms : 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (fd[1].revents)
		return -ECANCELED;
	if (fd[0].revents && events == POLLRDHUP)
		return -ECONNRESET;
	return n || (!rests && ms) ? 0 : -ETIMEDOUT;
}

int
link_read(const struct copy_link *l, void *to, size_t bytes, int64_t until)
{
	uint8_t *at = to;

	while (bytes) {
		ssize_t got = recv(l->fd, at, bytes, 0);
		int err = 0;

		if (got > 0) {
			at += got;
			bytes -= (size_t)got;
			continue;
		}
		if (got == 0)
			return -ECONNRESET;
		if (errno == EAGAIN)
			err = await(l, POLLIN, until);
		else if (errno != EINTR)
			err = -errno;
		if (err)
			return err;
	}
	return 0;
}

int
link_frame(const struct copy_link *l, struct wire_frame *f, int64_t until,
	   const char **why)
{
	uint8_t raw[WIRE_HEADER];
	int err = link_read(l, raw, 1, until);

	*why = NULL;
	if (!err)
		err = link_read(l, raw + 1, sizeof raw - 1, INT64_MAX);
	if (err)
		return err;
	*why = wire_unpack_any(f, raw, crc32c);
	if (*why)
		return -EBADMSG;
	*why = wire_copy_unpack(f, raw, crc32c);
	if (!*why && f->header_bytes != WIRE_HEADER)
		*why = "a frame whose header has an impossible length";
	return *why ? -EPROTO : 0;
}

int
link_payload(const struct copy_link *l, const struct wire_frame *f, void *to)
{
	int err = link_read(l, to, f->payload_bytes, INT64_MAX);

	if (!err && crc32c(0, to, f->payload_bytes) != f->payload_crc)
		err = -EBADMSG;
	return err;
}

static int
drop(const struct copy_link *l, uint32_t bytes)
{
	uint8_t dust[16384];
	int err = 0;

	for (uint32_t n; bytes && !err; bytes -= n) {
		n = bytes < sizeof dust ? bytes : (uint32_t)sizeof dust;
		err = link_read(l, dust, n, INT64_MAX);
	}
	return err;
}

int
link_piece(struct copy_link *l, const struct wire_frame *f, void *to)
{
	uint8_t header[WIRE_HEADER];
	int err = 0;

	if (!l->beside)
		return to ? link_read(l, to, f->payload_bytes, INT64_MAX)
			  : drop(l, f->payload_bytes);
	wire_pack(f, header, crc32c);
	while (!err && (err = l->ops->fetch(l->beside, header, to)) == -EAGAIN)
		err = await(l, POLLRDHUP, INT64_MAX);
	/* `to` belongs to a block, which is given back now. */
	if (err)
		link_beside_close(l);
	return err;
}

void
link_beside_close(struct copy_link *l)
{
	if (l->beside)
		l->ops->close(l->beside);
	l->beside = NULL;
}

static int
send_all(const struct copy_link *l, struct iovec *iov, unsigned n)
{
	while (n) {
		struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };
		ssize_t put = sendmsg(l->fd, &m, MSG_NOSIGNAL);
		int err = 0;

		if (put < 0 && errno == EAGAIN)
			err = await(l, POLLOUT, INT64_MAX);
		else if (put < 0 && errno != EINTR)
			err = -errno;
		if (err)
			return err;
		for (; n && put >= (ssize_t)iov->iov_len; n--)
			put -= (ssize_t)(iov++)->iov_len;
		if (n && put > 0) {
			iov->iov_base = (uint8_t *)iov->iov_base + put;
			iov->iov_len -= (size_t)put;
		}
	}
	return 0;
}

int
link_send(const struct copy_link *l, const struct wire_frame *frame,
	  const void *payload, uint32_t bytes)
{
	struct wire_frame f = *frame;
	uint8_t raw[WIRE_HEADER];
	struct iovec iov[2] = { { raw, sizeof raw },
				{ (void *)payload, bytes } };

	f.payload_bytes = bytes;
	f.payload_crc = crc32c(0, payload, bytes);
	wire_pack(&f, raw, crc32c);
	return send_all(l, iov, bytes ? 2 : 1);
}

int
link_pause(const struct copy_link *l, int ms)
{
	int err = await(l, POLLRDHUP, clock_steady() + ms * NS_MS);

	return err == -ETIMEDOUT ? 0 : err;
}

void
link_peer(int fd, char text[LINK_PEER])
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;
	socklen_t n = sizeof six;

	strcpy(text, "somebody");
	if (getpeername(fd, (struct sockaddr *)&six, &n) < 0)
		return;
	if (six.sin6_family == AF_INET6) {
		inet_ntop(AF_INET6, &six.sin6_addr, text, LINK_PEER);
	} else {
		memcpy(&four, &six, sizeof four);
		inet_ntop(AF_INET, &four.sin_addr, text, LINK_PEER);
	}
}
