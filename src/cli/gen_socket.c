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
 *
 * A range of ports has a socket for each of them: their senders' ports differ
 * too, as those of many machines would, and nothing has to be looked up.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
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
	unsigned first, last; /* port */
};

static int
url_refuse(const char *url, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "--to %s", url);
	fault_why(fault, "not an address to send to");
	fault_hint(fault, "udp://127.0.0.1:46227, udp://[::1]:46227, or "
			  "udp://127.0.0.1:41000-41431 for a range of ports");
	return -EINVAL;
}

/* "46227" or "41000-41431", from 1 to 65535. */
static bool
ports_read(const char *text, struct address *a)
{
	static const char digits[] = "0123456789";
	size_t length = strspn(text, digits);
	const char *last = text;

	if (text[length] == '-')
		last = text + length + 1;
	if (!length || length > 5 || !*last || strlen(last) > 5 ||
	    last[strspn(last, digits)])
		return false;
	a->first = (unsigned)strtoul(text, NULL, 10);
	a->last = (unsigned)strtoul(last, NULL, 10);
	return a->first && a->first <= a->last && a->last <= UINT16_MAX;
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
	    (host[-1] != '[' && memchr(host, ':', length)) ||
	    !ports_read(port, a))
		return url_refuse(url, fault);
	memcpy(a->host, host, length);
	a->host[length] = '\0';
	return 0;
}

static int
connect_refuse(const char *url, const char *why, int err, struct fault *fault)
{
	fault_set(fault, err, "io", "cannot send to %s", url);
	fault_why(fault, "%s", why);
	return err;
}

/* The first of the host's addresses that there is a way to. */
static int
address_connect(const struct addrinfo *at)
{
	int fd = -1, err = -EHOSTUNREACH;

	for (; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0)
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	return fd < 0 ? err : fd;
}

static int
port_open(struct gen_socket *s, const struct address *a, const char *url,
	  struct fault *fault)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM,
					.ai_flags = AI_NUMERICSERV };
	struct addrinfo *found;
	char port[16];
	int fd, err;

	snprintf(port, sizeof port, "%u", a->first + s->ports);
	err = getaddrinfo(a->host, port, &hints, &found);
	if (err)
		return connect_refuse(url, gai_strerror(err), -EHOSTUNREACH,
				      fault);
	fd = address_connect(found);
	freeaddrinfo(found);
	if (fd < 0)
		return connect_refuse(url, strerror(-fd), fd, fault);
	s->fd[s->ports++] = fd;
	return 0;
}

/* Only wishes: the system's limits hold, old kernels cannot cut. */
static void
port_tune(struct gen_socket *s, int fd, uint32_t bytes)
{
	const int room = BUFFER, cut = (int)bytes;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (s->segments &&
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &cut, sizeof cut) < 0)
		s->segments = false;
}

/* Trains of one datagram are none: then many go out with one call. */
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

int
gen_socket_open(struct gen_socket *s, const struct gen_to *to,
		struct fault *fault)
{
	struct address a;
	int err = url_split(to->url, &a, fault);
	unsigned ports;

	if (err)
		return err;
	if (to->bytes > LARGEST) {
		fault_set(fault, -EMSGSIZE, "usage",
			  "%u bytes do not fit in a datagram", to->bytes);
		fault_hint(fault, "prefix and payload are at most %d together",
			   LARGEST);
		return -EMSGSIZE;
	}
	ports = a.last - a.first + 1;
	*s = (struct gen_socket){ .fd = calloc(ports, sizeof *s->fd) };
	if (!s->fd)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	train_choose(s, to);
	while (!err && s->ports < ports)
		err = port_open(s, &a, to->url, fault);
	for (unsigned i = 0; !err && i < ports; i++)
		port_tune(s, s->fd[i], to->bytes);
	if (err)
		gen_socket_close(s);
	return err;
}

void
gen_socket_close(struct gen_socket *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		close(s->fd[i]);
	free(s->fd);
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
