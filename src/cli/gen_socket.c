/* SPDX-License-Identifier: MIT */
/*
 * The socket is connected, which spares a look-up of the route for each
 * call.  The price is that the answers of a host where nobody listens come
 * back as errors of a later send, which then has sent nothing: those are
 * counted and the train is sent again.  There is at most one such error for
 * each datagram that went out, so this ends.
 *
 * A kernel or network card that cannot cut a train refuses the first one;
 * from then on sendmmsg is used.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/gen_socket.h"

enum {
	LARGEST = 65507, /* an IPv4 datagram's payload */
	BUFFER = 4 << 20,
	HOST = 256,
};

#define SCHEME "udp://"

struct address {
	char host[HOST];
	char port[16];
};

static int
url_refuse(const char *url, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "--to %s", url);
	fault_why(fault, "not an address to send to");
	fault_hint(fault, "udp://127.0.0.1:46227, udp://[::1]:46227");
	return -EINVAL;
}

static int
url_split(const char *url, struct address *a, struct fault *fault)
{
	const char *host, *port, *end;
	size_t length;

	if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
		return url_refuse(url, fault);
	host = url + strlen(SCHEME);
	if (*host == '[') {
		host++;
		end = strchr(host, ']');
		port = end && end[1] == ':' ? end + 2 : NULL;
	} else {
		end = strrchr(host, ':');
		port = end ? end + 1 : NULL;
	}
	length = end ? (size_t)(end - host) : 0;
	if (!port || !length || length >= sizeof a->host ||
	    (host[-1] != '[' && memchr(host, ':', length)) || !*port ||
	    strlen(port) > 5 || strspn(port, "0123456789") != strlen(port))
		return url_refuse(url, fault);
	memcpy(a->host, host, length);
	a->host[length] = '\0';
	strcpy(a->port, port);
	return 0;
}

/* The first of the host's addresses that there is a way to. */
static int
socket_connect(const struct address *a, const char *url, struct fault *fault)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM,
					.ai_flags = AI_NUMERICSERV };
	struct addrinfo *found, *at;
	int fd = -1, err;

	err = getaddrinfo(a->host, a->port, &hints, &found);
	if (err) {
		fault_set(fault, -EHOSTUNREACH, "io", "cannot send to %s", url);
		fault_why(fault, "%s", gai_strerror(err));
		return -EHOSTUNREACH;
	}
	for (at = found; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd >= 0)
		return fd;
	fault_set(fault, err, "io", "cannot send to %s", url);
	fault_why(fault, "%s", strerror(-err));
	return err;
}

int
gen_socket_open(struct gen_socket *s, const char *url, uint32_t bytes,
		struct fault *fault)
{
	const int room = BUFFER, cut = (int)bytes;
	struct address a;
	int err = url_split(url, &a, fault);

	if (err)
		return err;
	if (bytes > LARGEST) {
		fault_set(fault, -EMSGSIZE, "usage",
			  "%u bytes do not fit in a datagram", bytes);
		fault_hint(fault, "prefix and payload are at most %d together",
			   LARGEST);
		return -EMSGSIZE;
	}
	*s = (struct gen_socket){ .train = LARGEST / bytes };
	s->fd = socket_connect(&a, url, fault);
	if (s->fd < 0)
		return s->fd;
	if (s->train > GEN_TRAIN)
		s->train = GEN_TRAIN;
	/* Only wishes: the system's limits hold, old kernels cannot cut. */
	setsockopt(s->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	s->segments =
	    setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &cut, sizeof cut) == 0;
	return 0;
}

void
gen_socket_close(struct gen_socket *s)
{
	close(s->fd);
}

static bool
cannot_cut(int err)
{
	return err == EIO || err == EINVAL || err == EMSGSIZE ||
	       err == EOPNOTSUPP;
}

/* May this be tried again?  Counts what is no reason to stop. */
static bool
passes(struct gen_socket *s, int err)
{
	if (err == ECONNREFUSED)
		s->refused++;
	return err == ECONNREFUSED || err == EINTR;
}

static int
send_each(struct gen_socket *s, struct iovec *iov, unsigned n)
{
	struct mmsghdr message[GEN_TRAIN];
	unsigned done = 0;
	int sent;

	memset(message, 0, n * sizeof *message);
	for (unsigned i = 0; i < n; i++) {
		message[i].msg_hdr.msg_iov = &iov[i];
		message[i].msg_hdr.msg_iovlen = 1;
	}
	while (done < n) {
		sent = sendmmsg(s->fd, message + done, n - done, 0);
		if (sent > 0)
			done += (unsigned)sent;
		else if (!passes(s, errno))
			return -errno;
	}
	return 0;
}

int
gen_socket_send(struct gen_socket *s, struct iovec *iov, unsigned n)
{
	const struct msghdr message = { .msg_iov = iov, .msg_iovlen = n };
	const int whole = 0;

	while (s->segments) {
		if (sendmsg(s->fd, &message, 0) >= 0)
			return 0;
		if (passes(s, errno))
			continue;
		if (!cannot_cut(errno))
			return -errno;
		s->segments = false;
		setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &whole,
			   sizeof whole);
	}
	return send_each(s, iov, n);
}
