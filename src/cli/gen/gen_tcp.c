/* SPDX-License-Identifier: MIT */
/*
 * Connections take turns strictly, and a send blocks.  So the slowest
 * connection sets the pace, and packets are out of order by no more than the
 * buffers on the way hold.
 *
 * A train becomes one frame, or several if packets were left out on purpose,
 * because the packets of a frame have consecutive sequences.
 */
#include "cli/gen/gen_tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crc32c.h"
#include "wire/frame.h"

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

int
gen_tcp_open(struct gen_tcp **tcp, const struct gen_url *url,
	     const struct gen_tcp_args *args, struct fault *fault)
{
	struct gen_tcp *t =
	    calloc(1, sizeof *t + args->connections * sizeof t->fd[0]);
	int err = 0;

	if (!t)
		return fault_set(fault, -ENOMEM, "no-memory", "no memory");
	t->a = *args;
	while (!err && t->opened < args->connections) {
		int fd = gen_url_connect(url, url->first, fault);

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

void
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

int
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

int
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
