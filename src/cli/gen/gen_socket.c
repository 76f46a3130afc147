/* SPDX-License-Identifier: MIT */
/*
 * Each UDP socket is connected, which spares a route lookup for each call.  In
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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fault.h"
#include "cli/gen/gen_socket.h"
#include "cli/gen/gen_source.h"
#include "net/url.h"
#include "wire/frame.h"

/* ---- the destination ---------------------------------------------------- */

struct gen_url {
	const char *text;
	bool tcp;
	struct url at;
};

static int
url_refuse(const struct gen_url *u, struct fault *fault)
{
	fault_set(fault, -EINVAL, "usage", "--to %s", u->text);
	fault_why(fault, "not an address to send to");
	fault_hint(fault, "udp://127.0.0.1:46227, udp://[::1]:46227, "
			  "udp://127.0.0.1:41000-41431 for a range of ports, "
			  "or tcp://127.0.0.1:2630");
	return -EINVAL;
}

/* Tells whether a URL ends with a port or several; gen has no usual one. */
static bool
ends_with_port(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && colon[1] &&
	       !colon[1 + strspn(colon + 1, "0123456789-")];
}

/*
 * Reads a URL of UDP, of which several ports may be given, or of TCP.  Returns
 * 0, or -EINVAL with a fault.
 */
static int
url_parse(struct gen_url *u, const char *text, struct fault *fault)
{
	char why[320];

	*u = (struct gen_url){ .text = text };
	if (url_read(&u->at, text, why, sizeof why) < 0 ||
	    !ends_with_port(text))
		return url_refuse(u, fault);
	u->tcp = u->at.scheme == URL_TCP;
	if ((!u->tcp && u->at.scheme != URL_UDP) || *u->at.device ||
	    *u->at.path || u->at.groups > 1 ||
	    (u->tcp && u->at.first != u->at.last))
		return url_refuse(u, fault);
	return 0;
}

static int
connect_refuse(const struct gen_url *u, const char *why, int err,
	       struct fault *fault)
{
	fault_set(fault, err, "io", "cannot send to %s", u->text);
	fault_why(fault, "%s", why);
	return err;
}

/* Returns a socket connected to a port, at the first of the host's addresses
 * that can be reached, or -errno with a fault. */
static int
url_connect(const struct gen_url *u, uint16_t port, struct fault *fault)
{
	int type = u->tcp ? SOCK_STREAM : SOCK_DGRAM, fd = -1, err;
	struct url url = u->at;
	struct resolved found;
	char why[320];

	url.first = url.last = port;
	err = resolve(&found, &url, why, sizeof why);
	if (err)
		return connect_refuse(u, why, err, fault);
	for (unsigned i = 0; i < found.n && fd < 0; i++) {
		const union endpoint *to = &found.at[i];

		fd = socket(to->any.sa_family, type | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, &to->any, endpoint_bytes(to)) == 0)
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	return fd < 0 ? connect_refuse(u, strerror(-err), err, fault) : fd;
}

/* ---- TCP --------------------------------------------------------------- */

/*
 * Connections take turns strictly, and a send blocks.  So the slowest
 * connection sets the pace, and packets are out of order by no more than the
 * buffers on the way hold.
 *
 * A train becomes one frame, or several if packets were left out on purpose,
 * because the packets of a frame have consecutive sequences.
 */
enum { ANSWER = 10 }; /* seconds for the receiver's first answer */

struct gen_tcp {
	struct gen_tcp_args a;
	unsigned opened, broken, turn;
	unsigned interrupts;
	uint64_t next; /* sequence behind the last frame */
	int fd[];      /* -1: the connection broke */
};

/* ---- bytes ----------------------------------------------------------- */

static void
iov_skip(struct msghdr *m, size_t bytes)
{
	while (m->msg_iovlen && bytes >= m->msg_iov->iov_len) {
		bytes -= m->msg_iov->iov_len;
		m->msg_iov++;
		m->msg_iovlen--;
	}
	if (!bytes)
		return;
	m->msg_iov->iov_base = (uint8_t *)m->msg_iov->iov_base + bytes;
	m->msg_iov->iov_len -= bytes;
}

/*
 * Sends everything.  The first interrupt is ignored, so that no half frame is
 * sent; the second one ends it.
 */
static int
send_all(struct gen_tcp *t, int fd, struct iovec *iov, unsigned n)
{
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = n };
	ssize_t sent;

	while (m.msg_iovlen) {
		sent = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (sent >= 0)
			iov_skip(&m, (size_t)sent);
		else if (errno != EINTR || t->interrupts++)
			return -errno;
	}
	return 0;
}

static int
frame_send(struct gen_tcp *t, int fd, const struct wire_frame *f,
	   struct iovec *iov, unsigned n)
{
	uint8_t header[WIRE_HEADER];

	wire_pack(f, header, crc32c);
	iov[0] = (struct iovec){ header, sizeof header };
	return send_all(t, fd, iov, n + 1);
}

/* ---- opening --------------------------------------------------------- */

static int
refuse(const struct gen_url *url, unsigned connection, int err,
       struct fault *fault)
{
	fault_set(fault, err, "io", "%s does not take connection %u", url->text,
		  connection + 1);
	if (err == -ECONNRESET)
		fault_why(fault, "it closed the connection");
	else if (err == -EAGAIN)
		fault_why(fault, "it does not answer");
	else if (err == -EPROTO)
		fault_why(fault, "it answered something else than spate does");
	else
		fault_why(fault, "%s", strerror(-err));
	fault_hint(fault, "a spated that records a stream with receive = "
			  "\"tcp\", frames = \"spt1\", the same `payload` and "
			  "enough `connections`; its log says what is wrong");
	return err;
}

static int
have_wait(int fd)
{
	const struct timeval most = { .tv_sec = ANSWER };
	uint8_t bytes[WIRE_HEADER];
	struct wire_frame f;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	got = recv(fd, bytes, sizeof bytes, MSG_WAITALL);
	if (got < 0)
		return -errno;
	if (got == 0)
		return -ECONNRESET;
	if (got < (ssize_t)sizeof bytes || wire_unpack(&f, bytes, crc32c) ||
	    f.type != WIRE_HAVE)
		return -EPROTO;
	return 0;
}

static int
hello_send(struct gen_tcp *t, unsigned i, uint64_t transfer)
{
	const struct wire_hello hello = { .version = WIRE_VERSION,
					  .packet_bytes = t->a.payload,
					  .connections = t->a.connections,
					  .connection = i,
					  .transfer = transfer };
	uint8_t payload[WIRE_HELLO_BYTES];
	struct iovec iov[2] = { { 0 }, { payload, sizeof payload } };
	struct wire_frame f = { .type = WIRE_HELLO,
				.payload_bytes = sizeof payload };

	wire_hello_pack(&hello, payload);
	f.payload_crc = crc32c(0, payload, sizeof payload);
	return frame_send(t, t->fd[i], &f, iov, 1);
}

static int
greet(struct gen_tcp *t, const struct gen_url *url, struct fault *fault)
{
	uint64_t transfer = 0;
	int err = 0;
	unsigned i;

	while (!transfer)
		if (getrandom(&transfer, sizeof transfer, 0) < 0)
			return fault_set(fault, -errno, "io",
					 "no random numbers");
	for (i = 0; i < t->opened && !err; i++)
		err = hello_send(t, i, transfer);
	for (i = err ? i : 0; i < t->opened && !err; i++)
		err = have_wait(t->fd[i]);
	return err ? refuse(url, i - 1, err, fault) : 0;
}

static void
gen_tcp_close(struct gen_tcp *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->opened; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	}
	free(t);
}

/*
 * Connects; with frames, waits until the receiver has accepted them.  Returns
 * 0, or -errno with a fault.
 */
static int
gen_tcp_open(struct gen_tcp **tcp, const struct gen_url *url,
	     const struct gen_tcp_args *args, struct fault *fault)
{
	struct gen_tcp *t =
	    calloc(1, sizeof *t + args->connections * sizeof t->fd[0]);
	int err = 0;

	if (!t)
		return fault_no_memory(fault);
	t->a = *args;
	while (!err && t->opened < args->connections) {
		int fd = url_connect(url, url->at.first, fault);

		err = fd < 0 ? fd : 0;
		if (!err)
			t->fd[t->opened++] = fd;
	}
	if (!err && args->framed)
		err = greet(t, url, fault);
	if (err) {
		gen_tcp_close(t);
		return err;
	}
	*tcp = t;
	return 0;
}

/* ---- sending --------------------------------------------------------- */

/* Returns the descriptor of the next connection; -1: all have broken. */
static int
turn_take(struct gen_tcp *t)
{
	for (unsigned i = 0; i < t->opened; i++) {
		t->turn = (t->turn + 1) % t->opened;
		if (t->fd[t->turn] >= 0)
			return t->fd[t->turn];
	}
	return -1;
}

static int
connection_break(struct gen_tcp *t, int err)
{
	close(t->fd[t->turn]);
	t->fd[t->turn] = -1;
	t->broken++;
	return t->broken < t->opened && err != -EINTR ? 0 : err;
}

/* Sends n consecutive packets from packet i of the train on, as one frame. */
static int
packets_send(struct gen_tcp *t, const struct gen_train *train, unsigned i,
	     unsigned n)
{
	struct iovec iov[GEN_TRAIN + 1];
	struct wire_frame f = { .type = WIRE_DATA,
				.payload_bytes = n * t->a.payload,
				.packets = n,
				.first = train->number[i],
				.time_ns = (uint64_t)clock_now() };
	int fd = turn_take(t), err;

	if (fd < 0)
		return -EPIPE;
	for (unsigned k = 0; k < n; k++) {
		uint8_t *datagram = train->iov[i + k].iov_base;

		iov[k + 1] =
		    (struct iovec){ datagram + t->a.prefix, t->a.payload };
		f.payload_crc =
		    crc32c(f.payload_crc, iov[k + 1].iov_base, t->a.payload);
	}
	t->next = f.first + n;
	err = frame_send(t, fd, &f, iov, n);
	return err ? connection_break(t, err) : 0;
}

static int
frames_send(struct gen_tcp *t, const struct gen_train *train)
{
	unsigned i = 0, n;
	int err = 0;

	for (; i < train->n && !err; i += n) {
		n = 1;
		while (i + n < train->n &&
		       train->number[i + n] == train->number[i] + n)
			n++;
		err = packets_send(t, train, i, n);
	}
	return err;
}

/*
 * Sends a train.  Returns 0; -errno if no connection is left, or at the second
 * interrupt.
 */
static int
gen_tcp_send(struct gen_tcp *t, const struct gen_train *train)
{
	struct iovec iov[GEN_TRAIN * GEN_PIECES];

	if (t->a.framed)
		return frames_send(t, train);
	memcpy(iov, train->iov, train->iovs * sizeof *iov);
	return send_all(t, t->fd[0], iov, train->iovs);
}

/* ---- the end --------------------------------------------------------- */

/* Waits until the receiver closes: it has then read everything. */
static int
closed_wait(struct gen_tcp *t, int fd)
{
	const struct timeval most = { .tv_sec = 1 };
	uint8_t byte;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	while ((got = recv(fd, &byte, 1, 0)) != 0) {
		if (got > 0 || errno == EAGAIN)
			continue;
		if (errno != EINTR || t->interrupts++)
			return -errno;
	}
	return 0;
}

/*
 * Waits until the receiver has taken everything and closed.  Returns 0 or
 * -errno.
 */
static int
gen_tcp_end(struct gen_tcp *t)
{
	const struct wire_frame f = { .type = WIRE_END, .first = t->next };
	struct iovec iov[1];
	int err = 0;

	for (unsigned i = 0; i < t->opened; i++) {
		if (t->fd[i] < 0)
			continue;
		if (t->a.framed)
			frame_send(t, t->fd[i], &f, iov, 0);
		shutdown(t->fd[i], SHUT_WR);
	}
	for (unsigned i = 0; i < t->opened; i++) {
		t->turn = i;
		if (t->fd[i] >= 0 && closed_wait(t, t->fd[i]) < 0)
			err = connection_break(t, -EPIPE);
	}
	return err;
}

unsigned
gen_tcp_broken(const struct gen_tcp *t)
{
	return t->broken;
}

enum {
	LARGEST = 65507, /* bytes: payload of the longest IPv4 datagram */
	BUFFER = 4 << 20,
};

/* ---- UDP ----------------------------------------------------------- */

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
	unsigned ports = url_ports(&u->at);

	s->fd = calloc(ports, sizeof *s->fd);
	if (!s->fd)
		return fault_no_memory(fault);
	train_choose(s, to);
	while (s->ports < ports) {
		int fd = url_connect(u, u->at.first + s->ports, fault);

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
	int err = url_parse(&u, to->url, fault);

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
