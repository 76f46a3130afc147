/* SPDX-License-Identifier: MIT */
/*
 * Datagrams from sockets, straight into their slots.
 *
 * A socket is in one of two modes, because the kernel has two good ways to
 * hand over many datagrams at once, and they exclude each other:
 *
 *   TRAIN  UDP_GRO is on: what a card or a segmenting sender delivered as
 *          one train of equal datagrams comes with one recvmsg.  Its iovec
 *          is pair after pair (prefix, slot), so every payload lands in a
 *          slot of its own, and behind the pairs an overflow area as large
 *          as any train.
 *   BATCH  UDP_GRO is off: recvmmsg, one pair per message.
 *
 *            trains average under 2 packets
 *     TRAIN ------------------------------> DRAIN ----> BATCH
 *       ^                                  (empty)        |
 *       +-------------------------------------------------+
 *                         after 10 s
 *
 * DRAIN: UDP_GRO was just turned off, and trains that the socket still holds
 * come without their segment size; they are read as trains of the expected
 * size until the socket has been empty once.
 *
 * UDP_GRO with several messages per call was tried and rejected: a short
 * train leaves holes in its message's pairs, a long one is cut.
 *
 * A train whose segments are not of the expected size is sheared across the
 * pairs; it is put in a row again in linear memory, and its packets are told
 * from there, one by one.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "allow.h"
#include "contract/receive.h"
#include "socket.h"

enum {
	TRAIN_BYTES = 65536,	/* more than any train */
	MESSAGES = 64,		/* per recvmmsg */
	SAMPLE = 64,		/* trains that an average is taken over */
	LOOK = 256,		/* batches between two looks at the clock */
};
#define RETRY 10000000000	/* ns from BATCH to the next try of TRAIN */

enum mode { TRAIN, DRAIN, BATCH };

struct options {
	struct option_texts listen, allow;
	uint64_t socket_buffer;
	bool gro;
};

static const struct option table[] = {
	{ .name = "listen", .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, listen),
	  .help = "addresses to receive on: \"0.0.0.0:46227\", "
		  "\"[::]:46227\", a multicast group" },
	{ .name = "allow", .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, allow),
	  .help = "networks whose packets are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "socket_buffer", .type = OPTION_BYTES, .fallback = "32M",
	  .offset = offsetof(struct options, socket_buffer),
	  .min = 4096, .max = 1u << 30,
	  .help = "kernel memory for packets that wait, per socket" },
	{ .name = "gro", .type = OPTION_FLAG, .fallback = "true",
	  .offset = offsetof(struct options, gro),
	  .help = "let the kernel hand over trains of packets" },
	{ .name = NULL },
};

struct source {
	int fd;
	enum mode mode;
	bool gro;		/* the kernel can, and may */
	unsigned trains, carried;	/* of the running sample */
	unsigned calls;		/* since the last look at the clock */
	int64_t retry;		/* when to try TRAIN again; 0: not set */
	struct receive_counts counts;
};

struct receive_state {
	struct host host;
	uint32_t prefix, payload, size;	/* size: of a datagram */
	unsigned train;		/* pairs for a whole train */
	struct allow allow;
	struct source *source;
	unsigned sources;

	/* For one call at a time: one thread reads all sources. */
	struct iovec iov[2 * RECEIVE_BATCH + 1];
	struct mmsghdr message[MESSAGES];
	struct sockaddr_storage from[MESSAGES];
	uint8_t control[CMSG_SPACE(sizeof(int))];
	uint8_t *overflow;	/* TRAIN_BYTES */
	uint8_t *linear;	/* TRAIN_BYTES */

	/* Packets in linear or overflow memory that did not fit the last
	 * batch: told in the next one, whichever source it is of, because
	 * then that memory is needed again. */
	uint8_t *rest;
	size_t rest_bytes, rest_size;
	uint32_t rest_flags;
};

/* ---- opening --------------------------------------------------------- */

static int
source_open(struct receive_state *s, const char *address,
	    const struct receive_args *args)
{
	const struct options *o = args->options;
	struct source *src = &s->source[s->sources];
	int on = 1;

	src->fd = socket_listen(address, o->socket_buffer, args);
	if (src->fd < 0)
		return src->fd;
	s->sources++;
	src->gro = o->gro && setsockopt(src->fd, IPPROTO_UDP, UDP_GRO, &on,
					sizeof on) == 0;
	src->mode = src->gro ? TRAIN : BATCH;
	return 0;
}

static int
sources_open(struct receive_state *s, const struct receive_args *args)
{
	const struct options *o = args->options;
	int err = 0;

	if (!o->listen.n) {
		snprintf(args->why, args->why_bytes,
			 "`listen` is missing: where do packets come in? "
			 "listen = [ \"0.0.0.0:46227\" ]");
		return -EINVAL;
	}
	s->source = calloc(o->listen.n, sizeof *s->source);
	if (!s->source)
		return -ENOMEM;
	for (unsigned i = 0; i < o->listen.n && !err; i++)
		err = source_open(s, o->listen.text[i], args);
	return err;
}

static void
udp_close(struct receive_state *s)
{
	for (unsigned i = 0; i < s->sources; i++)
		close(s->source[i].fd);
	free(s->source);
	allow_clear(&s->allow);
	free(s->overflow);
	free(s->linear);
	free(s);
}

static int
udp_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_state *s = calloc(1, sizeof *s);
	int err = -ENOMEM;

	if (!s)
		return err;
	s->host = *args->host;
	s->prefix = args->prefix;
	s->payload = args->payload;
	s->size = s->prefix + s->payload;
	s->train = TRAIN_BYTES / s->size + 1;
	if (s->train > RECEIVE_BATCH)
		s->train = RECEIVE_BATCH;
	s->overflow = malloc(TRAIN_BYTES);
	s->linear = malloc(TRAIN_BYTES);
	if (s->overflow && s->linear)
		err = allow_parse(&s->allow, &o->allow, args);
	if (!err)
		err = sources_open(s, args);
	if (err) {
		udp_close(s);
		return err;
	}
	*state = s;
	return 0;
}

static unsigned
udp_sources(const struct receive_state *s)
{
	return s->sources;
}

static int
udp_fd(const struct receive_state *s, unsigned source)
{
	return s->source[source].fd;
}

/* ---- telling packets ------------------------------------------------- */

static uint32_t
sender_flags(const struct receive_state *s, unsigned message)
{
	return allow_has(&s->allow, &s->from[message]) ? 0 : RECEIVE_FOREIGN;
}

static void
packet_tell(struct receive_batch *b, struct receive_pair at, size_t bytes,
	    uint32_t flags)
{
	b->packet[b->packets++] = (struct receive_packet){
		.prefix = at.prefix,
		.payload = at.payload,
		.bytes = (uint32_t)bytes,
		.flags = flags,
	};
}

/* The segments in linear memory, as many as fit. */
static void
rest_tell(struct receive_state *s, struct receive_batch *b)
{
	while (s->rest_bytes && b->packets < RECEIVE_BATCH) {
		struct receive_pair at = { s->rest, s->rest + s->prefix };
		size_t bytes = s->rest_size < s->rest_bytes ? s->rest_size
							    : s->rest_bytes;

		packet_tell(b, at, bytes, s->rest_flags);
		s->rest += bytes;
		s->rest_bytes -= bytes;
	}
}

static void
rest_keep(struct receive_state *s, uint8_t *rest, size_t bytes, size_t size,
	  uint32_t flags)
{
	s->rest = rest;
	s->rest_bytes = bytes;
	s->rest_size = size;
	s->rest_flags = flags;
}

/* A train of other segments than expected: out of the pairs, into a row. */
static void
train_gather(struct receive_state *s, size_t total)
{
	size_t at = 0;

	for (unsigned i = 0; at < total; i++) {
		size_t n = s->iov[i].iov_len;

		if (n > total - at)
			n = total - at;
		memcpy(s->linear + at, s->iov[i].iov_base, n);
		at += n;
	}
}

/* As expected: packet i is in pair i, or in the overflow behind them. */
static void
train_tell(struct receive_state *s, struct receive_batch *b, unsigned pairs,
	   size_t total, uint32_t flags)
{
	uint8_t *behind = s->overflow;
	size_t left = total;

	while (left && b->packets < RECEIVE_BATCH) {
		size_t bytes = left < s->size ? left : s->size;
		struct receive_pair at = { behind, behind + s->prefix };

		if (b->packets < pairs)
			at = b->pair[b->packets];
		else
			behind += bytes;
		packet_tell(b, at, bytes, flags);
		left -= bytes;
	}
	rest_keep(s, behind, left, s->size, flags);
}

/* ---- trains ---------------------------------------------------------- */

/* 0 where the kernel does not say: then it is one datagram. */
static size_t
segment_size(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int n;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&n, CMSG_DATA(c), sizeof n);
		return (size_t)n;
	}
	return 0;
}

static unsigned
train_iovec(struct receive_state *s, const struct receive_batch *b,
	    unsigned pairs)
{
	struct iovec *v = s->iov;

	for (unsigned i = 0; i < pairs; i++) {
		if (s->prefix)
			*v++ = (struct iovec){ b->pair[i].prefix, s->prefix };
		*v++ = (struct iovec){ b->pair[i].payload, s->payload };
	}
	*v++ = (struct iovec){ s->overflow, TRAIN_BYTES };
	return (unsigned)(v - s->iov);
}

static void
mode_set(struct source *src, enum mode mode)
{
	int on = mode == TRAIN;

	setsockopt(src->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
	src->mode = mode;
	src->trains = src->carried = src->calls = 0;
	src->retry = 0;
}

/* Are trains worth a call each? */
static void
train_weigh(struct source *src, unsigned packets)
{
	src->trains++;
	src->carried += packets;
	if (src->trains < SAMPLE)
		return;
	if (src->carried < 2 * SAMPLE)
		mode_set(src, DRAIN);
	src->trains = src->carried = 0;
}

static int
train_receive(struct receive_state *s, struct source *src,
	      struct receive_batch *b)
{
	unsigned pairs = b->pairs < s->train ? b->pairs : s->train;
	struct msghdr m = { .msg_iov = s->iov,
			    .msg_iovlen = train_iovec(s, b, pairs),
			    .msg_name = s->allow.n ? &s->from[0] : NULL,
			    .msg_namelen = s->allow.n ? sizeof s->from[0] : 0,
			    .msg_control = s->control,
			    .msg_controllen = sizeof s->control };
	ssize_t got = recvmsg(src->fd, &m, MSG_DONTWAIT);
	size_t total = (size_t)got, segment;
	uint32_t flags;

	if (got < 0)
		return -errno;
	segment = segment_size(&m);
	/* No train has more packets than a batch: that is one too long. */
	if (!segment && src->mode == DRAIN && total / s->size <= RECEIVE_BATCH)
		segment = s->size;
	else if (!segment)
		segment = total;
	flags = sender_flags(s, 0);
	if (segment == s->size && total) {
		train_tell(s, b, pairs, total, flags);
	} else if (segment >= total) {
		packet_tell(b, b->pair[0], total, flags);
	} else {
		train_gather(s, total);
		rest_keep(s, s->linear, total, segment, flags);
		rest_tell(s, b);
	}
	if (src->mode == TRAIN)
		train_weigh(src, b->packets);
	return 0;
}

/* ---- batches --------------------------------------------------------- */

static void
message_aim(struct receive_state *s, const struct receive_pair *pair,
	    unsigned i)
{
	struct msghdr *m = &s->message[i].msg_hdr;
	struct iovec *iov = &s->iov[2 * i];

	iov[0] = (struct iovec){ pair->prefix, s->prefix };
	iov[1] = (struct iovec){ pair->payload, s->payload };
	m->msg_iov = s->prefix ? iov : iov + 1;
	m->msg_iovlen = s->prefix ? 2 : 1;
	m->msg_name = s->allow.n ? &s->from[i] : NULL;
	m->msg_namelen = s->allow.n ? sizeof s->from[i] : 0;
}

static int
batch_receive(struct receive_state *s, struct source *src,
	      struct receive_batch *b)
{
	unsigned pairs = b->pairs < MESSAGES ? b->pairs : MESSAGES;
	int n;

	for (unsigned i = 0; i < pairs; i++)
		message_aim(s, &b->pair[i], i);
	n = recvmmsg(src->fd, s->message, pairs, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	for (unsigned i = 0; i < (unsigned)n; i++) {
		const struct mmsghdr *m = &s->message[i];
		bool cut = m->msg_hdr.msg_flags & MSG_TRUNC;

		packet_tell(b, b->pair[i], m->msg_len,
			    sender_flags(s, i) | (cut ? RECEIVE_CUT : 0));
	}
	return 0;
}

/* Every so often: would there be trains by now? */
static void
batch_weigh(struct receive_state *s, struct source *src)
{
	int64_t now;

	if (!src->gro || ++src->calls < LOOK)
		return;
	src->calls = 0;
	now = s->host.now(s->host.ctx);
	if (!src->retry)
		src->retry = now + RETRY;
	else if (now >= src->retry)
		mode_set(src, TRAIN);
}

/* ---- the call -------------------------------------------------------- */

static int
udp_receive(struct receive_state *s, unsigned source, struct receive_batch *b)
{
	struct source *src = &s->source[source];
	int err = 0;

	b->packets = 0;
	if (s->rest_bytes)
		rest_tell(s, b);
	else if (src->mode == BATCH)
		err = batch_receive(s, src, b);
	else
		err = train_receive(s, src, b);
	if (err == -EAGAIN && src->mode == DRAIN)
		src->mode = BATCH;
	if (src->mode == BATCH)
		batch_weigh(s, src);
	b->want = src->mode == BATCH ? MESSAGES : s->train;
	src->counts.datagrams += b->packets;
	src->counts.calls += b->packets > 0;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

static void
udp_counts(struct receive_state *s, unsigned source,
	   struct receive_counts *counts)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;
	struct source *src = &s->source[source];

	if (getsockopt(src->fd, SOL_SOCKET, SO_MEMINFO, info, &length) == 0)
		src->counts.overruns = info[SK_MEMINFO_DROPS];
	*counts = src->counts;
}

SPATE_PLUGIN const struct receive_ops spate_receive = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct receive_ops),
		  .name = "udp",
		  .help = "datagrams from UDP sockets",
		  .options = table,
		  .options_bytes = sizeof(struct options) },
	.open = udp_open,
	.sources = udp_sources,
	.fd = udp_fd,
	.receive = udp_receive,
	.counts = udp_counts,
	.close = udp_close,
};
