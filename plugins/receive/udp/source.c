/* SPDX-License-Identifier: MIT */
/*
 * How a source changes its mode without losing the borders between packets.
 *
 * UDP_GRO with several messages per call was tried and rejected: a short train
 * leaves holes in its message's pairs, and a long one is cut.
 *
 * Trains that wait in the socket while UDP_GRO is turned off come without their
 * segment size, and three packets cannot be told from one datagram that is too
 * long.  Therefore UDP_GRO is turned off only when the socket is empty; if a
 * packet came in between, it is turned on again until the next try.
 *
 * A flooded socket is never empty, and would stay in the slower mode exactly
 * when it matters.  After FORCE calls UDP_GRO is turned off all the same, and
 * the source is in mode DRAIN: it looks at each message before it reads it
 * (MSG_PEEK), for as many bytes as the kernel says the socket holds.  The first
 * message longer than a packet turns UDP_GRO on again, and is read with its
 * segment size.  One case remains: a train of packets that are too short, which
 * together are no longer than one packet.  Such packets could be good ones
 * where packets differ in length, so there nothing is forced.
 */
#include "source.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
	SAMPLE = 64, /* trains that an average is taken over */
	FORCE = 128, /* calls on a socket that is never empty, until DRAIN */
	LOOK = 256,  /* batches between two looks at the clock */
	FEW = 8,     /* fewest messages of a batch */
};
#define RETRY 10000000000 /* ns from BATCH to the next try of TRAIN */

int
reader_make(struct reader *r, const struct receive_args *args,
	    const struct allow *allow)
{
	uint32_t size = args->prefix + args->payload;

	r->host = *args->host;
	r->allow = allow;
	r->senders = args->senders;
	r->ask = allow->n || args->senders;
	r->prefix = args->prefix;
	r->longest = args->longest;
	for (unsigned i = 0; i < SOURCE_MESSAGES; i++)
		r->message[i].msg_hdr.msg_control = r->control[i];
	if (r->longest > size) {
		r->spare = malloc((size_t)SOURCE_MESSAGES * r->longest);
		if (!r->spare)
			return -ENOMEM;
	}
	return train_make(&r->train, args);
}

void
reader_clear(struct reader *r)
{
	free(r->spare);
	train_clear(&r->train);
}

/* ---- modes ----------------------------------------------------------- */

static int
gro_set(const struct source *s, int on)
{
	return setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
}

static void
mode_set(struct source *s, enum source_mode mode)
{
	s->mode = mode;
	s->leave = false;
	s->trains = s->carried = s->calls = 0;
	s->retry = 0;
	s->want = SOURCE_MESSAGES;
}

void
source_begin(struct source *s, int fd, bool gro)
{
	s->fd = fd;
	s->gro = gro && gro_set(s, 1) == 0;
	s->ask = true;
	mode_set(s, s->gro ? SOURCE_TRAIN : SOURCE_BATCH);
}

/* Counts a train, and sets `leave` when a sample averages under 2 packets. */
static void
train_weigh(struct source *s, unsigned packets)
{
	s->trains++;
	s->carried += packets;
	if (s->trains < SAMPLE)
		return;
	s->leave = s->carried < 2 * SAMPLE;
	s->trains = s->carried = 0;
	if (!s->leave)
		s->calls = 0;
}

/* Leaves TRAIN for BATCH right after the socket was found empty. */
static void
leave_empty(struct source *s)
{
	struct pollfd p = { s->fd, POLLIN, 0 };

	gro_set(s, 0);
	if (poll(&p, 1, 0) == 0)
		mode_set(s, SOURCE_BATCH);
	else
		gro_set(s, 1);
}

static void
leave_full(struct source *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;

	gro_set(s, 0);
	getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &length);
	mode_set(s, SOURCE_DRAIN);
	s->drain = info[SK_MEMINFO_RMEM_ALLOC];
}

/*
 * Looks at the next message in mode DRAIN; returns to TRAIN if it may be a
 * train.  Returns 0 or -errno; -EAGAIN: the socket is empty.
 */
static int
drain_look(struct source *s, const struct receive_batch *b)
{
	ssize_t n = recv(s->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if ((size_t)n > pair_bytes(b->pair)) {
		gro_set(s, 1);
		mode_set(s, SOURCE_TRAIN);
	}
	return 0;
}

/*
 * Goes back to TRAIN RETRY ns after BATCH began, in case trains are long by
 * now.  The clock is read once in LOOK batches.
 */
static void
batch_weigh(struct source *s, const struct reader *r)
{
	int64_t now;

	if (!s->gro || ++s->calls < LOOK)
		return;
	s->calls = 0;
	now = r->host.now(r->host.ctx);
	if (!s->retry) {
		s->retry = now + RETRY;
	} else if (now >= s->retry) {
		gro_set(s, 1);
		mode_set(s, SOURCE_TRAIN);
	}
}

/* ---- senders --------------------------------------------------------- */

static struct packet_mark
mark_by(struct source *s, const struct reader *r, const union endpoint *from)
{
	struct packet_mark mark = { 0 };

	if (!allow_has(r->allow, from)) {
		mark.flags = RECEIVE_FOREIGN;
	} else {
		s->sender = *from;
		s->ask = false;
	}
	if (r->senders)
		mark.sender = endpoint_mix(from);
	return mark;
}

/* ---- trains ---------------------------------------------------------- */

static int
train_receive(struct source *s, struct reader *r, struct receive_batch *b)
{
	union endpoint *from = r->ask || s->ask ? r->from : NULL;
	struct packet_mark mark = { 0 };
	int err = s->mode == SOURCE_DRAIN ? drain_look(s, b) : 0;

	if (!err)
		err = train_read(&r->train, s->fd, from, b);
	if (err)
		return err;
	if (from)
		mark = mark_by(s, r, from);
	train_tell(&r->train, b, mark);
	if (s->mode == SOURCE_TRAIN)
		train_weigh(s, b->packets);
	else
		s->drain -= (int64_t)r->train.total + 1;
	return 0;
}

/*
 * Leaves TRAIN or DRAIN if it is time to, after a call that read a train, or
 * nothing (`empty`).
 */
static void
train_leave(struct source *s, const struct reader *r, bool empty)
{
	if (s->mode == SOURCE_DRAIN && (empty || s->drain <= 0))
		mode_set(s, SOURCE_BATCH);
	else if (!s->leave)
		return;
	else if (empty)
		leave_empty(s);
	else if (++s->calls >= FORCE && !r->spare)
		leave_full(s);
}

/* ---- batches --------------------------------------------------------- */

static void
message_aim(struct reader *r, const struct receive_pair *pair, unsigned i,
	    bool stamped)
{
	struct msghdr *m = &r->message[i].msg_hdr;
	struct iovec *v = &r->iov[3 * i];
	unsigned none = pair->prefix_bytes == 0;

	v[0] = (struct iovec){ pair->prefix, pair->prefix_bytes };
	v[1] = (struct iovec){ pair->payload, pair->payload_bytes };
	m->msg_iov = v + none;
	m->msg_iovlen = 2 - none;
	m->msg_controllen = stamped ? sizeof r->control[i] : 0;
}

/*
 * Adds spare memory behind each pair for a message that is longer than the
 * pair.  Room is left before it, so that message_tell_row() can copy the part
 * in the pair there.
 */
static void
spares_aim(struct reader *r, const struct receive_pair *pair, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t *row = r->spare + (size_t)i * r->longest;
		uint32_t bytes = pair_bytes(&pair[i]);

		if (bytes >= r->longest)
			continue;
		r->iov[3 * i + 2] =
		    (struct iovec){ row + bytes, r->longest - bytes };
		r->message[i].msg_hdr.msg_iovlen++;
	}
}

/*
 * Sets where the kernel writes the senders.  The kernel changes the lengths, so
 * they are set each time.
 */
static void
names_aim(struct reader *r, unsigned n, bool ask)
{
	for (unsigned i = 0; i < n; i++) {
		struct msghdr *m = &r->message[i].msg_hdr;

		m->msg_name = ask ? &r->from[i] : NULL;
		m->msg_namelen = ask ? sizeof r->from[i] : 0;
	}
}

static void
messages_aim(const struct source *s, struct reader *r,
	     const struct receive_pair *pair, unsigned n, bool ask)
{
	for (unsigned i = 0; i < n; i++)
		message_aim(r, &pair[i], i, s->stamped);
	if (r->spare)
		spares_aim(r, pair, n);
	if (ask)
		names_aim(r, n, true);
	else if (r->asked)
		names_aim(r, SOURCE_MESSAGES, false);
	r->asked = ask;
}

/*
 * Reports a message that is longer than its pair: copies its first part from
 * the pair to the front of the rest in spare memory.
 */
static void
message_tell_row(struct reader *r, struct receive_batch *b, unsigned i,
		 struct packet_mark mark)
{
	uint8_t *row = r->spare + (size_t)i * r->longest;
	const struct receive_pair *pair = &b->pair[i];

	memcpy(row, pair->prefix, pair->prefix_bytes);
	memcpy(row + pair->prefix_bytes, pair->payload, pair->payload_bytes);
	packet_tell_row(b, row, r->prefix, r->message[i].msg_len, mark);
}

static void
message_tell(struct source *s, struct reader *r, struct receive_batch *b,
	     unsigned i)
{
	const struct mmsghdr *m = &r->message[i];
	struct packet_mark mark = { 0 };

	if (r->asked)
		mark = mark_by(s, r, &r->from[i]);
	if (s->stamped)
		mark.arrived = stamp_of(&m->msg_hdr);
	if (m->msg_hdr.msg_flags & MSG_TRUNC)
		mark.flags |= RECEIVE_CUT;
	if (r->spare && m->msg_len > pair_bytes(&b->pair[i]))
		message_tell_row(r, b, i, mark);
	else
		packet_tell(b, &b->pair[i], m->msg_len, mark);
}

/*
 * Returns how many messages to ask for next, after n of `most` came.  Each pair
 * costs the core time, even if no packet comes for it.
 */
static uint16_t
want_after(unsigned n, unsigned most)
{
	if (n == most || n >= SOURCE_MESSAGES / 2)
		return SOURCE_MESSAGES;
	return n > FEW / 2 ? (uint16_t)(2 * n) : FEW;
}

static int
batch_receive(struct source *s, struct reader *r, struct receive_batch *b)
{
	unsigned most = b->pairs < SOURCE_MESSAGES ? b->pairs : SOURCE_MESSAGES;
	unsigned n;
	int got;

	messages_aim(s, r, b->pair, most, r->ask || s->ask);
	got = recvmmsg(s->fd, r->message, most, MSG_DONTWAIT, NULL);
	if (got < 0)
		return -errno;
	n = (unsigned)got;
	for (unsigned i = 0; i < n; i++)
		message_tell(s, r, b, i);
	b->empty = n < most;
	s->want = want_after(n, most);
	return 0;
}

/* ---- stamps ---------------------------------------------------------- */

/*
 * Turns stamps on or off.  They cost nothing for a train, but 0.1 us for each
 * message of a batch, 4 % of the cost of receiving 8 kB (measured).  So batches
 * have them only near the edge of a recording.
 */
static void
stamps_set(struct source *s, bool on)
{
	if (s->stamped == on)
		return;
	stamps_ask(s->fd, on);
	s->stamped = on;
}

/* ---- the call -------------------------------------------------------- */

static int
mode_receive(struct source *s, struct reader *r, struct receive_batch *b)
{
	int err;

	if (s->mode == SOURCE_BATCH) {
		err = batch_receive(s, r, b);
		batch_weigh(s, r);
		return err;
	}
	err = train_receive(s, r, b);
	if (!err || err == -EAGAIN)
		train_leave(s, r, err == -EAGAIN);
	return err;
}

int
source_receive(struct source *s, struct reader *r, struct receive_batch *b)
{
	int err = 0;

	b->packets = 0;
	b->empty = false;
	stamps_set(s, s->mode != SOURCE_BATCH || b->stamps);
	/* the rest of the last train comes first */
	if (!train_rest(&r->train, b))
		err = mode_receive(s, r, b);
	b->want = s->mode == SOURCE_BATCH ? s->want : r->train.pairs;
	s->datagrams += b->packets;
	s->reads += b->packets > 0;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

uint64_t
source_overruns(const struct source *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;

	getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &length);
	return info[SK_MEMINFO_DROPS];
}
