/* SPDX-License-Identifier: MIT */
/*
 * If all segments have the expected size, packet i is in pair i, and only has
 * to be reported.  Any other train is sheared across the pairs: gather() copies
 * it into one row in linear memory, and its packets are reported from there.
 *
 * Pairs may differ in length, as the pieces of a heap do: the last one of a
 * heap is shorter.  A train still fits if its last, shorter packet meets the
 * pair that is shorter, and all pairs before it are alike.
 */
#include "train.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

int
train_make(struct train *t, const struct receive_args *args)
{
	uint32_t size = args->prefix + args->payload;

	t->prefix = args->prefix;
	t->tai = stamp_tai();
	t->longest = args->longest > size ? args->longest : size;
	t->varies = t->longest != size;
	t->pairs = t->varies ? RECEIVE_BATCH : TRAIN_BYTES / size + 1;
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

/* ---- reading --------------------------------------------------------- */

/* Returns how many pairs from the first on have its length. */
static unsigned
pairs_alike(const struct receive_pair *pair, unsigned n)
{
	unsigned i = 1;

	while (i < n && pair_bytes(&pair[i]) == pair_bytes(pair))
		i++;
	return i;
}

static unsigned
iovec_aim(struct train *t, const struct receive_batch *b)
{
	unsigned given = b->pairs < t->pairs ? b->pairs : t->pairs;
	const struct receive_pair *p = b->pair, *end = p + given;
	struct iovec *v = t->iov;

	t->given = given;
	t->first = pair_bytes(p);
	t->alike = t->varies ? pairs_alike(p, given) : given;
	for (; p < end; p++) {
		if (p->prefix_bytes)
			*v++ = (struct iovec){ p->prefix, p->prefix_bytes };
		*v++ = (struct iovec){ p->payload, p->payload_bytes };
	}
	*v++ = (struct iovec){ t->overflow, TRAIN_BYTES };
	return (unsigned)(v - t->iov);
}

/*
 * Reads the control messages: the stamps, and the length of each datagram but
 * the last.  A single datagram has no length there; its own is taken.
 */
static void
beside_read(struct train *t, struct msghdr *m)
{
	t->segment = t->total;
	t->stamps = (struct stamps){ 0 };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int n;

		if (stamp_is(c, &t->stamps) || c->cmsg_level != IPPROTO_UDP ||
		    c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&n, CMSG_DATA(c), sizeof n);
		if (n > 0 && (size_t)n < t->total)
			t->segment = (size_t)n;
	}
}

int
train_read(struct train *t, int fd, union endpoint *from,
	   const struct receive_batch *b)
{
	struct msghdr m = { .msg_iov = t->iov,
			    .msg_iovlen = iovec_aim(t, b),
			    .msg_name = from,
			    .msg_namelen = from ? sizeof *from : 0,
			    .msg_control = t->control,
			    .msg_controllen = sizeof t->control };
	ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT);

	if (got < 0)
		return -errno;
	t->total = (size_t)got;
	beside_read(t, &m);
	return 0;
}

/* ---- reporting packets ------------------------------------------------- */

static struct packet_mark
mark_of(const struct train *t, size_t bytes)
{
	struct packet_mark mark = t->mark;

	if (bytes > t->longest)
		mark.flags |= RECEIVE_CUT;
	return mark;
}

bool
train_rest(struct train *t, struct receive_batch *b)
{
	if (!t->rest_bytes)
		return false;
	while (t->rest_bytes && b->packets < RECEIVE_BATCH) {
		size_t bytes =
		    t->rest_size < t->rest_bytes ? t->rest_size : t->rest_bytes;

		packet_tell_row(b, t->rest, t->prefix, bytes,
				mark_of(t, bytes));
		t->rest += bytes;
		t->rest_bytes -= bytes;
	}
	return true;
}

static void
rest_keep(struct train *t, uint8_t *rest, size_t bytes)
{
	t->rest = rest;
	t->rest_bytes = bytes;
	t->rest_size = t->segment;
}

/* Copies the train out of the pairs into one row. */
static void
gather(struct train *t)
{
	size_t at = 0;

	for (unsigned i = 0; at < t->total; i++) {
		size_t n = t->iov[i].iov_len;

		if (n > t->total - at)
			n = t->total - at;
		memcpy(t->linear + at, t->iov[i].iov_base, n);
		at += n;
	}
}

/* Tells whether packet i is in pair i, or in the overflow behind all pairs. */
static bool
is_expected(const struct train *t, const struct receive_batch *b)
{
	size_t like = (size_t)t->alike * t->first;

	if (t->segment == t->total && t->total <= t->first)
		return true;
	if (t->segment != t->first)
		return false;
	if (t->total <= like || t->alike == t->given)
		return true;
	/*
	 * One more packet, a shorter one, fits into the first pair that
	 * differs.
	 */
	return t->total - like <= pair_bytes(&b->pair[t->alike]) &&
	       t->total - like <= t->segment;
}

static void
tell_pairs(struct train *t, struct receive_batch *b)
{
	const struct receive_pair *pair = b->pair, *end = pair + t->given;
	size_t left = t->total, bytes;
	unsigned first = b->packets;

	do {
		bytes = left < t->segment ? left : t->segment;
		packet_tell(b, pair++, bytes, t->mark);
		left -= bytes;
	} while (left && pair < end);
	/* The card's time is that of a train's first packet, and only that one
	 * gets it. */
	if (b->card)
		stamp_mark(&b->packet[first], stamp_card(&t->stamps, t->tai));
	rest_keep(t, t->overflow, left);
}

/*
 * Asks for as many pairs as hold a train, judged by the lengths of these pairs.
 */
static void
pairs_adapt(struct train *t, const struct receive_batch *b)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < t->given; i++)
		bytes += pair_bytes(&b->pair[i]);
	t->pairs = RECEIVE_BATCH;
	if (bytes)
		bytes = (size_t)t->given * TRAIN_BYTES / bytes + 1;
	if (bytes && bytes < RECEIVE_BATCH)
		t->pairs = (unsigned)bytes;
}

void
train_tell(struct train *t, struct receive_batch *b, struct packet_mark mark)
{
	t->mark = mark;
	t->mark.arrived = t->stamps.kernel;
	if (is_expected(t, b)) {
		tell_pairs(t, b);
	} else if (t->segment == t->total && t->total > t->longest) {
		/* a cut packet may be anywhere: the core drops it */
		t->mark.flags |= RECEIVE_CUT;
		packet_tell(b, b->pair, t->total, t->mark);
	} else {
		gather(t);
		rest_keep(t, t->linear, t->total);
	}
	train_rest(t, b);
	if (t->varies)
		pairs_adapt(t, b);
}
