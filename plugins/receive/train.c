/* SPDX-License-Identifier: MIT */
/*
 * As long as the segments are of the expected size, packet i is in pair i
 * and there is nothing to do but to say so.  A train of another segment size
 * is sheared across the pairs: it is put in a row again, in linear memory,
 * and its packets are told from there, one by one.
 */
#include "train.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

int
train_make(struct train *t, uint32_t prefix, uint32_t payload)
{
	t->prefix = prefix;
	t->payload = payload;
	t->size = prefix + payload;
	t->pairs = TRAIN_BYTES / t->size + 1;
	if (t->pairs > RECEIVE_BATCH)
		t->pairs = RECEIVE_BATCH;
	t->overflow = malloc(TRAIN_BYTES);
	t->linear = malloc(TRAIN_BYTES);
	return t->overflow && t->linear ? 0 : -ENOMEM;
}

void
train_clear(struct train *t)
{
	free(t->overflow);
	free(t->linear);
}

/* ---- telling packets ------------------------------------------------- */

void
packet_tell(struct receive_batch *b, struct receive_pair at, size_t bytes,
	    uint32_t flags)
{
	b->packet[b->packets++] = (struct receive_packet){
		.prefix = at.prefix,
		.payload = at.payload,
		.prefix_bytes = at.prefix_bytes,
		.bytes = (uint32_t)bytes,
		.flags = flags,
	};
}

bool
train_rest(struct train *t, struct receive_batch *b)
{
	if (!t->rest_bytes)
		return false;
	while (t->rest_bytes && b->packets < RECEIVE_BATCH) {
		struct receive_pair at = { t->rest, t->rest + t->prefix,
					   t->prefix, t->payload };
		size_t bytes =
		    t->rest_size < t->rest_bytes ? t->rest_size : t->rest_bytes;

		packet_tell(b, at, bytes, t->rest_flags);
		t->rest += bytes;
		t->rest_bytes -= bytes;
	}
	return true;
}

static void
rest_keep(struct train *t, uint8_t *rest, size_t bytes, size_t size)
{
	t->rest = rest;
	t->rest_bytes = bytes;
	t->rest_size = size;
}

/* Out of the pairs, into a row. */
static void
gather(struct train *t, size_t total)
{
	size_t at = 0;

	for (unsigned i = 0; at < total; i++) {
		size_t n = t->iov[i].iov_len;

		if (n > total - at)
			n = total - at;
		memcpy(t->linear + at, t->iov[i].iov_base, n);
		at += n;
	}
}

/* As expected: packet i is in pair i, or in the overflow behind them. */
static void
tell(struct train *t, struct receive_batch *b, unsigned pairs, size_t total)
{
	uint8_t *behind = t->overflow;
	size_t left = total;

	while (left && b->packets < RECEIVE_BATCH) {
		size_t bytes = left < t->size ? left : t->size;
		struct receive_pair at = { behind, behind + t->prefix,
					   t->prefix, t->payload };

		if (b->packets < pairs)
			at = b->pair[b->packets];
		else
			behind += bytes;
		packet_tell(b, at, bytes, t->rest_flags);
		left -= bytes;
	}
	rest_keep(t, behind, left, t->size);
}

/* ---- reading --------------------------------------------------------- */

static unsigned
iovec_aim(struct train *t, const struct receive_batch *b, unsigned pairs)
{
	struct iovec *v = t->iov;

	for (unsigned i = 0; i < pairs; i++) {
		if (t->prefix)
			*v++ = (struct iovec){ b->pair[i].prefix, t->prefix };
		*v++ = (struct iovec){ b->pair[i].payload, t->payload };
	}
	*v++ = (struct iovec){ t->overflow, TRAIN_BYTES };
	return (unsigned)(v - t->iov);
}

/* 0 where the kernel does not say. */
static size_t
segment_told(struct msghdr *m)
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

static size_t
segment_size(const struct train *t, struct msghdr *m, size_t total, bool drain)
{
	size_t segment = segment_told(m);

	if (segment)
		return segment;
	/* No train has more packets than a batch: that is one datagram that
	 * is too long. */
	if (drain && total / t->size <= RECEIVE_BATCH)
		return t->size;
	return total;
}

int
train_receive(struct train *t, const struct train_read *read,
	      struct receive_batch *b)
{
	unsigned pairs = b->pairs < t->pairs ? b->pairs : t->pairs;
	struct msghdr m = { .msg_iov = t->iov,
			    .msg_iovlen = iovec_aim(t, b, pairs),
			    .msg_name = read->from,
			    .msg_namelen = read->from ? sizeof *read->from : 0,
			    .msg_control = t->control,
			    .msg_controllen = sizeof t->control };
	ssize_t got = recvmsg(read->fd, &m, MSG_DONTWAIT);
	size_t total = (size_t)got, segment;

	if (got < 0)
		return -errno;
	segment = segment_size(t, &m, total, read->drain);
	t->rest_flags = read->from && !allow_has(read->allow, read->from)
			    ? RECEIVE_FOREIGN
			    : 0;
	if (segment == t->size && total) {
		tell(t, b, pairs, total);
	} else if (segment >= total) {
		packet_tell(b, b->pair[0], total, t->rest_flags);
	} else {
		gather(t, total);
		rest_keep(t, t->linear, total, segment);
		train_rest(t, b);
	}
	return 0;
}
