/* SPDX-License-Identifier: MIT */
/*
 * Datagrams from sockets, straight into their slots.
 *
 * A socket is in one of two modes, because the kernel has two good ways to
 * hand over many datagrams at once, and they exclude each other:
 *
 *   TRAIN  UDP_GRO is on: what a card or a segmenting sender delivered as
 *          one train of equal datagrams comes with one recvmsg (train.c)
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
#include "train.h"

enum {
	MESSAGES = 64, /* per recvmmsg */
	SAMPLE = 64,   /* trains that an average is taken over */
	LOOK = 256,    /* batches between two looks at the clock */
};
#define RETRY 10000000000 /* ns from BATCH to the next try of TRAIN */

enum mode { TRAIN, DRAIN, BATCH };

struct options {
	struct option_texts listen, allow;
	uint64_t socket_buffer;
	int64_t keepalive;
	bool gro;
};

static const struct option table[] = {
	{ .name = "listen",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, listen),
	  .help = "addresses to receive on: \"0.0.0.0:46227\", "
		  "\"[::]:46227\", a multicast group" },
	{ .name = "allow",
	  .type = OPTION_TEXTS,
	  .offset = offsetof(struct options, allow),
	  .help = "networks whose packets are taken: \"10.0.0.0/8\"; "
		  "none: everyone's" },
	{ .name = "socket_buffer",
	  .type = OPTION_BYTES,
	  .fallback = "32M",
	  .offset = offsetof(struct options, socket_buffer),
	  .min = 4096,
	  .max = 1u << 30,
	  .help = "kernel memory for packets that wait, per socket" },
	{ .name = "keepalive",
	  .type = OPTION_SPAN,
	  .offset = offsetof(struct options, keepalive),
	  .help = "send the sender a short datagram this often, so that "
		  "switches remember the way; none: never" },
	{ .name = "gro",
	  .type = OPTION_FLAG,
	  .fallback = "true",
	  .offset = offsetof(struct options, gro),
	  .help = "let the kernel hand over trains of packets" },
	{ .name = NULL },
};

struct source {
	int fd;
	enum mode mode;
	bool gro;		  /* the kernel can, and may */
	unsigned trains, carried; /* of the running sample */
	unsigned calls;		  /* since the last look at the clock */
	int64_t retry;		  /* when to try TRAIN again; 0: not set */
	struct sockaddr_storage sender; /* of the last packet, for keepalive */
	int64_t kept; /* when it was last told that we are here */
	struct receive_counts counts;
};

struct receive_state {
	struct host host;
	uint32_t prefix, payload;
	int64_t keepalive; /* ns; 0: none */
	struct allow allow;
	struct source *source;
	unsigned sources;

	/* For one call at a time: one thread reads all sources. */
	struct iovec iov[2 * MESSAGES];
	struct mmsghdr message[MESSAGES];
	struct sockaddr_storage from[MESSAGES];
	struct train train;
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
	train_clear(&s->train);
	free(s);
}

static int
udp_open(struct receive_state **state, const struct receive_args *args)
{
	const struct options *o = args->options;
	struct receive_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	s->host = *args->host;
	s->prefix = args->prefix;
	s->payload = args->payload;
	s->keepalive = o->keepalive;
	err = train_make(&s->train, s->prefix, s->payload);
	if (!err)
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

/* ---- trains ---------------------------------------------------------- */

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

/* Where the kernel shall say who sent; NULL where nobody asks. */
static struct sockaddr_storage *
sender_asked(struct receive_state *s, unsigned message)
{
	return s->allow.n || s->keepalive ? &s->from[message] : NULL;
}

static int
source_train(struct receive_state *s, struct source *src,
	     struct receive_batch *b)
{
	struct train_read read = { .fd = src->fd,
				   .drain = src->mode == DRAIN,
				   .allow = &s->allow,
				   .from = sender_asked(s, 0) };
	int err = train_receive(&s->train, &read, b);

	if (err)
		return err;
	if (s->keepalive && !(b->packet[0].flags & RECEIVE_FOREIGN))
		src->sender = s->from[0];
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
	m->msg_name = sender_asked(s, i);
	m->msg_namelen = m->msg_name ? sizeof s->from[i] : 0;
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
		uint32_t flags = 0;

		if (m->msg_hdr.msg_flags & MSG_TRUNC)
			flags |= RECEIVE_CUT;
		if (s->allow.n && !allow_has(&s->allow, &s->from[i]))
			flags |= RECEIVE_FOREIGN;
		else if (s->keepalive)
			src->sender = s->from[i];
		packet_tell(b, b->pair[i], m->msg_len, flags);
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
	if (train_rest(&s->train, b))
		; /* those first */
	else if (src->mode == BATCH)
		err = batch_receive(s, src, b);
	else
		err = source_train(s, src, b);
	if (err == -EAGAIN && src->mode == DRAIN)
		src->mode = BATCH;
	if (src->mode == BATCH)
		batch_weigh(s, src);
	b->want = src->mode == BATCH ? MESSAGES : s->train.pairs;
	src->counts.datagrams += b->packets;
	src->counts.calls += b->packets > 0;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

/* A receiver that only listens is forgotten by the switches after minutes,
 * and then its packets go to every port.  What it says does not matter, nor
 * whether it arrives. */
static void
keep_alive(const struct receive_state *s, struct source *src)
{
	static const char text[] = "spate is listening\n";
	int64_t now;

	if (!s->keepalive || src->sender.ss_family == AF_UNSPEC)
		return;
	now = s->host.now(s->host.ctx);
	if (now - src->kept < s->keepalive && now >= src->kept)
		return;
	src->kept = now;
	sendto(src->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (const struct sockaddr *)&src->sender, sizeof src->sender);
}

/* Called ten times a second, so the keepalive is done here as well. */
static void
udp_counts(struct receive_state *s, unsigned source,
	   struct receive_counts *counts)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;
	struct source *src = &s->source[source];

	keep_alive(s, src);

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
