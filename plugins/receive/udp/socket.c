/* SPDX-License-Identifier: MIT */
/*
 * A unicast port is never shared: of two programs that read one port, each
 * loses the packets that the other gets, and neither notices.  Multicast groups
 * may be shared, because every member gets every packet.
 *
 * A socket receives what it asked for and no more.  It is bound to its group,
 * and to its interface if it has one.  IP_MULTICAST_ALL is off: otherwise a
 * socket that joined a group for one sender would get the packets of all
 * senders as soon as another socket of this machine joins the group without
 * that restriction.
 *
 * A socket changes its mode without losing the borders between packets.
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
 * the socket is in mode DRAIN: it looks at each message before it reads it
 * (MSG_PEEK), for as many bytes as the kernel says the socket holds.  The first
 * message longer than a packet turns UDP_GRO on again, and is read with its
 * segment size.  One case remains: a train of packets that are too short, which
 * together are no longer than one packet.  Such packets could be good ones
 * where packets differ in length, so there nothing is forced.
 */
#include "socket.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The state of opening one socket. */
struct opening {
	int fd;
	const struct address *address;
	union endpoint at;
	unsigned device; /* index of the interface; 0: any */
	bool unbound;	 /* binding to the interface failed */
};

static int
option_set(struct opening *o, int level, int name, const void *value,
	   socklen_t bytes)
{
	return setsockopt(o->fd, level, name, value, bytes) < 0 ? -errno : 0;
}

static void
buffer_grow(int fd, int want)
{
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof want) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof want);
}

uint64_t
socket_buffer(int fd)
{
	socklen_t length = sizeof(int);
	int got = 0;

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &length);
	/* the kernel doubles the size for its own needs */
	return (uint64_t)got / 2;
}

static int
device_bind(struct opening *o)
{
	const char *name = o->address->device;
	int err = -ENODEV;

	if (!name[0])
		return 0;
	o->device = if_nametoindex(name);
	if (o->device)
		err = option_set(o, SOL_SOCKET, SO_BINDTODEVICE, name,
				 (socklen_t)strlen(name) + 1);
	o->unbound = err != 0;
	return err;
}

/*
 * Refuses groups that other sockets have joined.  Kernels since 4.20 know both
 * options.
 */
static void
groups_refuse(struct opening *o)
{
	bool v4 = o->at.any.sa_family == AF_INET;
	int off = 0;

	option_set(o, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
	if (!v4)
		option_set(o, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off,
			   sizeof off);
}

static int
group_join(struct opening *o)
{
	bool v4 = o->at.any.sa_family == AF_INET;
	int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	struct group_source_req one = { .gsr_interface = o->device };
	struct group_req group = { .gr_interface = o->device };
	int err;

	if (o->address->sender.any.sa_family == AF_UNSPEC) {
		memcpy(&group.gr_group, &o->at, sizeof o->at);
		err = option_set(o, level, MCAST_JOIN_GROUP, &group,
				 sizeof group);
	} else {
		memcpy(&one.gsr_group, &o->at, sizeof o->at);
		memcpy(&one.gsr_source, &o->address->sender,
		       sizeof o->address->sender);
		err = option_set(o, level, MCAST_JOIN_SOURCE_GROUP, &one,
				 sizeof one);
	}
	return err;
}

static int
opening_do(struct opening *o, uint64_t buffer)
{
	bool group = endpoint_is_group(&o->at);
	int on = 1, err;

	o->fd = socket(o->at.any.sa_family,
		       SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (o->fd < 0)
		return -errno;
	buffer_grow(o->fd, (int)buffer);
	groups_refuse(o);
	err = device_bind(o);
	if (!err && group)
		err = option_set(o, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (!err && bind(o->fd, &o->at.any, endpoint_bytes(&o->at)) < 0)
		err = -errno;
	return err || !group ? err : group_join(o);
}

/*
 * Returns advice for a person, to be added to the error; "" if the error says
 * it all.
 */
static const char *
advice(const struct opening *o, int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "; another program or stream has it, 'ss -ulpn' shows "
		       "which";
	case -EADDRNOTAVAIL:
		return "; this machine has no such address, 'ip -brief "
		       "address' lists them";
	case -ENODEV:
		return o->unbound
			   ? "; there is no such interface, 'ip -brief "
			     "link' lists them"
			   : "; no route says through which interface the "
			     "group comes, name it: eth2@239.1.2.3:7148";
	case -EPERM: return o->unbound ? "; here that needs CAP_NET_RAW" : "";
	case -EACCES: return "; ports below 1024 need CAP_NET_BIND_SERVICE";
	case -EMFILE:
	case -ENFILE:
		return "; every port and group needs a file descriptor: raise "
		       "'ulimit -n', or LimitNOFILE= of the service";
	default: return "";
	}
}

int
socket_listen(const struct address *a, uint32_t sub, uint64_t buffer_bytes,
	      const struct receive_args *args)
{
	struct opening o = { .fd = -1, .address = a, .at = address_at(a, sub) };
	int err = opening_do(&o, buffer_bytes);
	char where[ENDPOINT_TEXT] = "";

	if (!err)
		return o.fd;
	if (o.fd >= 0)
		close(o.fd);
	if (address_subs(a) > 1)
		endpoint_show(&o.at, where);
	snprintf(args->why, args->why_bytes, "cannot receive on %s%s%s: %s%s",
		 a->text, where[0] ? ", at " : "", where, strerror(-err),
		 advice(&o, err));
	return err;
}

enum {
	SAMPLE = 64, /* trains that an average is taken over */
	FORCE = 128, /* calls on a socket that is never empty, until DRAIN */
	LOOK = 256,  /* batches between two looks at the clock */
	FEW = 8,     /* fewest messages of a batch */
};
#define RETRY 10000000000 /* ns from BATCH to the next try of TRAIN */

int
socket_reader_make(struct socket_reader *r, const struct receive_args *args,
		   const struct allow *allow)
{
	uint32_t size = args->prefix + args->payload;

	r->host = *args->host;
	r->allow = allow;
	r->senders = args->senders;
	r->ask = allow->n || args->senders;
	r->prefix = args->prefix;
	r->longest = args->longest;
	for (unsigned i = 0; i < SOCKET_MESSAGES; i++)
		r->message[i].msg_hdr.msg_control = r->control[i];
	if (r->longest > size) {
		r->spare = malloc((size_t)SOCKET_MESSAGES * r->longest);
		if (!r->spare)
			return -ENOMEM;
	}
	return train_make(&r->train, args);
}

void
socket_reader_clear(struct socket_reader *r)
{
	free(r->spare);
	train_clear(&r->train);
}

/* ---- modes ----------------------------------------------------------- */

static int
gro_set(const struct udp_socket *s, int on)
{
	return setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
}

static void
mode_set(struct udp_socket *s, enum socket_mode mode)
{
	s->mode = mode;
	s->leave = false;
	s->trains = s->carried = s->calls = 0;
	s->retry = 0;
	s->want = SOCKET_MESSAGES;
}

void
socket_begin(struct udp_socket *s, int fd, bool gro)
{
	s->fd = fd;
	s->gro = gro && gro_set(s, 1) == 0;
	s->ask = true;
	mode_set(s, s->gro ? SOCKET_TRAIN : SOCKET_BATCH);
}

/* Counts a train, and sets `leave` when a sample averages under 2 packets. */
static void
train_weigh(struct udp_socket *s, unsigned packets)
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
leave_empty(struct udp_socket *s)
{
	struct pollfd p = { s->fd, POLLIN, 0 };

	gro_set(s, 0);
	if (poll(&p, 1, 0) == 0)
		mode_set(s, SOCKET_BATCH);
	else
		gro_set(s, 1);
}

static void
leave_full(struct udp_socket *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;

	gro_set(s, 0);
	getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &length);
	mode_set(s, SOCKET_DRAIN);
	s->drain = info[SK_MEMINFO_RMEM_ALLOC];
}

/*
 * Looks at the next message in mode DRAIN; returns to TRAIN if it may be a
 * train.  Returns 0 or -errno; -EAGAIN: the socket is empty.
 */
static int
drain_look(struct udp_socket *s, const struct receive_batch *b)
{
	ssize_t n = recv(s->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if ((size_t)n > pair_bytes(b->pair)) {
		gro_set(s, 1);
		mode_set(s, SOCKET_TRAIN);
	}
	return 0;
}

/*
 * Goes back to TRAIN RETRY ns after BATCH began, in case trains are long by
 * now.  The clock is read once in LOOK batches.
 */
static void
batch_weigh(struct udp_socket *s, const struct socket_reader *r)
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
		mode_set(s, SOCKET_TRAIN);
	}
}

/* ---- senders --------------------------------------------------------- */

static struct packet_mark
mark_by(struct udp_socket *s, const struct socket_reader *r,
	const union endpoint *from)
{
	struct packet_mark mark = { 0 };

	if (!allow_has(r->allow, from)) {
		mark.flags = RECEIVE_FOREIGN;
	} else {
		s->sender = *from;
		s->ask = false;
	}
	if (r->named)
		mark.sender = endpoint_mix(from);
	return mark;
}

/* The kernel takes a moment for each name, so they are asked for where somebody
 * wants them: `allow`, the core, or whoever shows who sent last. */
static bool
names_wanted(const struct udp_socket *s, const struct socket_reader *r,
	     const struct receive_batch *b)
{
	return r->ask || s->ask || b->stamps;
}

/* ---- trains ---------------------------------------------------------- */

static int
train_receive(struct udp_socket *s, struct socket_reader *r,
	      struct receive_batch *b)
{
	union endpoint *from = names_wanted(s, r, b) ? r->from : NULL;
	struct packet_mark mark = { 0 };
	int err = s->mode == SOCKET_DRAIN ? drain_look(s, b) : 0;

	if (!err)
		err = train_read(&r->train, s->fd, from, b);
	if (err)
		return err;
	if (from)
		mark = mark_by(s, r, from);
	train_tell(&r->train, b, mark);
	if (s->mode == SOCKET_TRAIN)
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
train_leave(struct udp_socket *s, const struct socket_reader *r, bool empty)
{
	if (s->mode == SOCKET_DRAIN && (empty || s->drain <= 0))
		mode_set(s, SOCKET_BATCH);
	else if (!s->leave)
		return;
	else if (empty)
		leave_empty(s);
	else if (++s->calls >= FORCE && !r->spare)
		leave_full(s);
}

/* ---- batches --------------------------------------------------------- */

static void
message_aim(struct socket_reader *r, const struct receive_pair *pair,
	    unsigned i, bool stamped)
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
spares_aim(struct socket_reader *r, const struct receive_pair *pair, unsigned n)
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
names_aim(struct socket_reader *r, unsigned n, bool ask)
{
	for (unsigned i = 0; i < n; i++) {
		struct msghdr *m = &r->message[i].msg_hdr;

		m->msg_name = ask ? &r->from[i] : NULL;
		m->msg_namelen = ask ? sizeof r->from[i] : 0;
	}
}

static void
messages_aim(const struct udp_socket *s, struct socket_reader *r,
	     const struct receive_pair *pair, unsigned n, bool ask)
{
	for (unsigned i = 0; i < n; i++)
		message_aim(r, &pair[i], i, s->stamped);
	if (r->spare)
		spares_aim(r, pair, n);
	if (ask)
		names_aim(r, n, true);
	else if (r->asked)
		names_aim(r, SOCKET_MESSAGES, false);
	r->asked = ask;
}

/*
 * Reports a message that is longer than its pair: copies its first part from
 * the pair to the front of the rest in spare memory.
 */
static void
message_tell_row(struct socket_reader *r, struct receive_batch *b, unsigned i,
		 struct packet_mark mark)
{
	uint8_t *row = r->spare + (size_t)i * r->longest;
	const struct receive_pair *pair = &b->pair[i];

	memcpy(row, pair->prefix, pair->prefix_bytes);
	memcpy(row + pair->prefix_bytes, pair->payload, pair->payload_bytes);
	packet_tell_row(b, row, r->prefix, r->message[i].msg_len, mark);
}

static void
message_tell(struct udp_socket *s, struct socket_reader *r,
	     struct receive_batch *b, unsigned i)
{
	struct mmsghdr *m = &r->message[i];
	struct packet_mark mark = { 0 };
	struct stamps stamps = { 0 };

	if (r->asked)
		mark = mark_by(s, r, &r->from[i]);
	if (s->stamped) {
		stamps = stamps_of(&m->msg_hdr);
		mark.arrived = stamps.kernel;
	}
	if (m->msg_hdr.msg_flags & MSG_TRUNC)
		mark.flags |= RECEIVE_CUT;
	if (r->spare && m->msg_len > pair_bytes(&b->pair[i]))
		message_tell_row(r, b, i, mark);
	else
		packet_tell(b, &b->pair[i], m->msg_len, mark);
	if (b->card)
		stamp_mark(&b->packet[b->packets - 1],
			   stamp_card(&stamps, r->train.tai));
}

/*
 * Returns how many messages to ask for next, after n of `most` came.  Each pair
 * costs the core time, even if no packet comes for it.
 */
static uint16_t
want_after(unsigned n, unsigned most)
{
	if (n == most || n >= SOCKET_MESSAGES / 2)
		return SOCKET_MESSAGES;
	return n > FEW / 2 ? (uint16_t)(2 * n) : FEW;
}

static int
batch_receive(struct udp_socket *s, struct socket_reader *r,
	      struct receive_batch *b)
{
	unsigned most = b->pairs < SOCKET_MESSAGES ? b->pairs : SOCKET_MESSAGES;
	unsigned n;
	int got;

	messages_aim(s, r, b->pair, most, names_wanted(s, r, b));
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
stamps_set(struct udp_socket *s, bool on)
{
	if (s->stamped == on)
		return;
	stamps_ask(s->fd, on);
	s->stamped = on;
}

/* ---- the call -------------------------------------------------------- */

static int
mode_receive(struct udp_socket *s, struct socket_reader *r,
	     struct receive_batch *b)
{
	int err;

	if (s->mode == SOCKET_BATCH) {
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
socket_receive(struct udp_socket *s, struct socket_reader *r,
	       struct receive_batch *b)
{
	int err = 0;

	b->packets = 0;
	b->empty = false;
	stamps_set(s, s->mode != SOCKET_BATCH || b->stamps);
	r->named = r->senders || b->stamps;
	/* the rest of the last train comes first */
	if (!train_rest(&r->train, b))
		err = mode_receive(s, r, b);
	b->want = s->mode == SOCKET_BATCH ? s->want : r->train.pairs;
	s->datagrams += b->packets;
	s->reads += b->packets > 0;
	return err == -EAGAIN || err == -EINTR ? 0 : err;
}

uint64_t
socket_overruns(const struct udp_socket *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t length = sizeof info;

	getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &length);
	return info[SK_MEMINFO_DROPS];
}
