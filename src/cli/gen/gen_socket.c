/* SPDX-License-Identifier: MIT */
/*
 * The socket is connected, which spares a route lookup for each call.  In
 * return, ICMP answers of a host where no program listens appear as errors of a
 * later send, which then has sent nothing: they are counted and the train is
 * sent again.  There is at most one such error for each datagram, so this ends.
 *
 * If the kernel or network card cannot cut a train, it refuses the first one;
 * from then on sendmmsg is used.
 *
 * A range of ports has a socket for each port.  Their sending ports differ,
 * too, as those of many machines would, and nothing has to be looked up.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/gen/gen_socket.h"
#include "cli/gen/gen_url.h"

enum {
	LARGEST = 65507, /* bytes: payload of the longest IPv4 datagram */
	BUFFER = 4 << 20,
};

/* ---- opening --------------------------------------------------------- */

/*
 * Sets options; errors are ignored: the system limits the buffer, and old
 * kernels cannot cut.
 */
static void
port_tune(struct gen_socket *s, int fd, uint32_t bytes)
{
	const int room = BUFFER, cut = (int)bytes;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (s->segments &&
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &cut, sizeof cut) < 0)
		s->segments = false;
}

/*
 * Chooses the length of trains.  If only one datagram fits into a train,
 * datagrams are sent uncut, many with one call.
 */
static void
train_choose(struct gen_socket *s, const struct gen_to *to)
{
	s->train = LARGEST / to->bytes;
	if (s->train > GEN_TRAIN)
		s->train = GEN_TRAIN;
	if (s->train > to->segment)
		s->train = to->segment;
	s->segments = s->train > 1;
	if (!s->segments)
		s->train = GEN_TRAIN;
}

static int
ports_open(struct gen_socket *s, const struct gen_url *u,
	   const struct gen_to *to, struct fault *fault)
{
	unsigned ports = u->last - u->first + 1;

	s->fd = calloc(ports, sizeof *s->fd);
	if (!s->fd)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	train_choose(s, to);
	while (s->ports < ports) {
		int fd = gen_url_connect(u, u->first + s->ports, fault);

		if (fd < 0)
			return fd;
		s->fd[s->ports++] = fd;
	}
	for (unsigned i = 0; i < ports; i++)
		port_tune(s, s->fd[i], to->bytes);
	return 0;
}

int
gen_socket_open(struct gen_socket *s, const struct gen_to *to,
		struct fault *fault)
{
	struct gen_url u;
	int err = gen_url_read(&u, to->url, fault);

	if (err)
		return err;
	if (to->bytes > LARGEST) {
		fault_set(fault, -EMSGSIZE, "usage",
			  "%u bytes do not fit in a datagram", to->bytes);
		fault_hint(fault, "prefix and payload are at most %d together",
			   LARGEST);
		return -EMSGSIZE;
	}
	*s = (struct gen_socket){ .ports = u.tcp, .train = GEN_TRAIN };
	if (u.tcp)
		return gen_tcp_open(&s->tcp, &u, &to->tcp, fault);
	err = ports_open(s, &u, to, fault);
	if (err)
		gen_socket_close(s);
	return err;
}

void
gen_socket_close(struct gen_socket *s)
{
	for (unsigned i = 0; s->fd && i < s->ports; i++)
		close(s->fd[i]);
	free(s->fd);
	gen_tcp_close(s->tcp);
}

static bool
cannot_cut(int err)
{
	return err == EIO || err == EINVAL || err == EMSGSIZE ||
	       err == EOPNOTSUPP;
}

/* Tells whether an error is no reason to stop, and counts it. */
static bool
passes(struct gen_socket *s, int err)
{
	if (err == ECONNREFUSED)
		s->refused++;
	return err == ECONNREFUSED || err == EINTR;
}

static int
send_each(struct gen_socket *s, unsigned port, struct gen_train *t)
{
	struct mmsghdr message[GEN_TRAIN];
	struct iovec *iov = t->iov;
	unsigned done = 0;
	int sent;

	memset(message, 0, t->n * sizeof *message);
	for (unsigned i = 0; i < t->n; i++) {
		message[i].msg_hdr.msg_iov = iov;
		message[i].msg_hdr.msg_iovlen = t->pieces[i];
		iov += t->pieces[i];
	}
	while (done < t->n) {
		sent = sendmmsg(s->fd[port], message + done, t->n - done, 0);
		if (sent > 0)
			done += (unsigned)sent;
		else if (!passes(s, errno))
			return -errno;
	}
	return 0;
}

static void
segments_off(struct gen_socket *s)
{
	const int whole = 0;

	s->segments = false;
	for (unsigned i = 0; i < s->ports; i++)
		setsockopt(s->fd[i], IPPROTO_UDP, UDP_SEGMENT, &whole,
			   sizeof whole);
}

int
gen_socket_send(struct gen_socket *s, unsigned port, struct gen_train *t)
{
	const struct msghdr message = { .msg_iov = t->iov,
					.msg_iovlen = t->iovs };

	if (s->tcp)
		return gen_tcp_send(s->tcp, t);
	while (s->segments) {
		if (sendmsg(s->fd[port], &message, 0) >= 0)
			return 0;
		if (passes(s, errno))
			continue;
		if (!cannot_cut(errno))
			return -errno;
		segments_off(s);
	}
	return send_each(s, port, t);
}

int
gen_socket_end(struct gen_socket *s)
{
	return s->tcp ? gen_tcp_end(s->tcp) : 0;
}
