/* SPDX-License-Identifier: MIT */
/*
 * The kernel gathers the pieces of a load from where they lie.  Pieces under
 * SMALL bytes are copied into `stage` first, as in frames (channel_frame.c).
 */
#include "bytes.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

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

#define LINGER (10 * NS_SECOND)

enum { SMALL = 1024, LARGE = 32 << 10, FIN_WAIT2 = 5, TIME_WAIT = 6 };

int
bytes_make(struct bytes *b, const struct line_args *args, uint32_t packet)
{
	*b =
	    (struct bytes){ .room = BYTES_LOAD > packet ? BYTES_LOAD : packet };
	line_make(&b->line, args);
	b->stage = malloc(b->room);
	return b->stage ? 0 : -ENOMEM;
}

void
bytes_free(struct bytes *b)
{
	if (b->line.state != LINE_DOWN)
		bytes_drop(b, 0, false);
	free(b->stage);
	b->stage = NULL;
}

void
bytes_drop(struct bytes *b, int err, bool reset)
{
	const struct zerocopy *z = &b->zerocopy;

	line_drop(&b->line, err, reset || z->count != z->calls);
	zerocopy_end(&b->zerocopy);
	b->as_it_lies = false;
	b->packets = 0;
}

/* ---- loads ----------------------------------------------------------- */

static void
piece_add(struct bytes *b, const uint8_t *at, uint32_t bytes, bool small)
{
	if (small && bytes) {
		memcpy(b->stage + b->staged, at, bytes);
		at = b->stage + b->staged;
		b->staged += bytes;
	}
	if (bytes)
		line_give(&b->line, at, bytes);
	b->load += bytes;
}

/*
 * Adds packets of a run from packet i on to the load; returns how many found
 * room.
 */
static uint32_t
packets_add(struct bytes *b, const struct send_run *run, uint32_t i)
{
	uint32_t size = run->head_bytes + run->data_bytes;
	uint32_t n = run->packets - i, k;

	if (b->load && b->load + size > b->room)
		return 0;
	if (!run->head_bytes && run->data_stride == run->data_bytes) {
		if (b->line.pieces == LINE_PIECES)
			return 0;
		if ((uint64_t)n * size > b->room - b->load)
			n = (uint32_t)((b->room - b->load) / size);
		n = n ? n : 1;
		piece_add(b, run->data + (size_t)i * run->data_stride, n * size,
			  false);
		return n;
	}
	for (k = 0; k < n && b->line.pieces + 2 <= LINE_PIECES &&
		    b->load + size <= b->room;
	     k++) {
		if (run->head_bytes)
			piece_add(
			    b, run->head + (size_t)(i + k) * run->head_stride,
			    run->head_bytes, true);
		piece_add(b, run->data + (size_t)(i + k) * run->data_stride,
			  run->data_bytes, run->data_bytes < SMALL);
	}
	return k;
}

/*
 * Sends without a copy until the kernel has no memory to keep account of it,
 * then with one.
 */
static int
load_flush(struct bytes *b)
{
	uint64_t before = b->line.calls;
	int err;

	if (!b->as_it_lies)
		return line_flush(&b->line, 0);
	err = line_flush(&b->line, MSG_ZEROCOPY);
	b->zerocopy.calls += (uint32_t)(b->line.calls - before);
	return err == -ENOBUFS ? line_flush(&b->line, 0) : err;
}

static int
flush(struct bytes *b)
{
	int err = load_flush(b);

	if (b->zerocopy.count != b->zerocopy.calls)
		zerocopy_look(&b->zerocopy, b->line.fd);
	if (err)
		return err == -EAGAIN ? 0 : err;
	if (b->as_it_lies && b->zerocopy.count != b->zerocopy.calls)
		zerocopy_load(&b->zerocopy, b->taken - b->packets);
	b->as_it_lies = false;
	b->packets = 0;
	return 0;
}

int
bytes_send(struct bytes *b, const struct send_run *run, unsigned n,
	   uint64_t *taken)
{
	uint64_t before = b->taken;
	uint32_t at = 0, got;
	int err = flush(b);

	while (!err && n && !line_is_busy(&b->line)) {
		b->load = b->staged = 0;
		b->detached = false;
		do {
			got = packets_add(b, run, at);
			at += got;
			b->packets += got;
			b->taken += got;
			if (at == run->packets) {
				run++;
				n--;
				at = 0;
			}
		} while (n && got);
		b->given += b->load;
		b->as_it_lies = !b->staged && b->load >= LARGE &&
				zerocopy_may(&b->zerocopy);
		err = flush(b);
	}
	*taken = b->taken - before;
	return err;
}

void
bytes_detach(struct bytes *b)
{
	struct line *l = &b->line;

	for (unsigned i = l->first; i < l->pieces && !b->detached; i++) {
		struct iovec *p = &l->piece[i];
		const uint8_t *at = p->iov_base;

		if (at >= b->stage && at < b->stage + b->room)
			continue;
		memcpy(b->stage + b->staged, at, p->iov_len);
		p->iov_base = b->stage + b->staged;
		b->staged += (uint32_t)p->iov_len;
	}
	b->detached = true;
	if (b->zerocopy.count == b->zerocopy.calls)
		return;
	/*
	 * Data that the kernel has without a copy cannot be copied any more.
	 * Callers that may want memory back therefore do not allow it
	 * (send_args::zerocopy_ok).
	 */
	bytes_drop(b, -EPIPE, true);
	b->torn = true;
}

/* ---- the end --------------------------------------------------------- */

int
bytes_hear(struct bytes *b)
{
	uint8_t rubbish[4096];
	int got;

	do {
		got = line_read(&b->line, rubbish, sizeof rubbish);
	} while (got > 0);
	return got;
}

/*
 * Tells whether the peer's kernel has acknowledged the end of the stream (FIN).
 */
static bool
end_arrived(const struct bytes *b)
{
	struct tcp_info t = { 0 };
	socklen_t length = sizeof t;

	getsockopt(b->line.fd, IPPROTO_TCP, TCP_INFO, &t, &length);
	return t.tcpi_state == FIN_WAIT2 || t.tcpi_state == TIME_WAIT;
}

/* Tells whether all bytes are acknowledged; the FIN counts as one. */
static bool
all_arrived(const struct bytes *b)
{
	int left = 0;

	return ioctl(b->line.fd, SIOCOUTQ, &left) < 0 || left <= 1;
}

int
bytes_finish(struct bytes *b, int64_t now)
{
	int err = flush(b);

	if (err || line_is_busy(&b->line))
		return err ? err : -EAGAIN;
	if (!b->shut && shutdown(b->line.fd, SHUT_WR) < 0)
		return -errno;
	b->shut = true;
	err = bytes_hear(b);
	/* A peer that has closed its side may still be receiving. */
	if (err == -ENODATA)
		return all_arrived(b) ? 0 : -EAGAIN;
	if (err)
		return err;
	if (!b->ended && end_arrived(b))
		b->ended = now;
	return b->ended && now - b->ended >= LINGER ? 0 : -EAGAIN;
}
