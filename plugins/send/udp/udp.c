/* SPDX-License-Identifier: MIT */
/*
 * udp: packets as they were received, to a host or a multicast group.
 *
 * Many packets of one size go out with one call, which the kernel cuts into
 * datagrams (UDP_SEGMENT): one pass through its network stack instead of many.
 * The kernel has copied the packets when the call returns, so their memory is
 * free at once, and detach has nothing to do.
 *
 * If the interface's queue is fq, each train carries the time at which it is to
 * leave; otherwise the core hands packets over when they are due.
 *
 * A train as the kernel gets it:
 *
 *   iovecs       head | data | head | data | head | data
 *   cut          `----- size ------''--- size -''- last -'
 *
 * The data of a recording lie one behind the other: without heads, a train is
 * one iovec.  With heads there are two for each packet, and the kernel walks
 * them one by one; so short packets are first copied into one row, where that
 * is cheaper.
 *
 * Each port has a socket of its own, which is connected: that spares a route
 * lookup for each call, and brings back ICMP answers of hosts and routers.
 * IP_RECVERR asks for these answers, because then the kernel also reports that
 * its own queue was full; without it, it drops packets silently.
 *
 * Errors of a send call, and what is done about each:
 *
 *   none           all packets went
 *   EAGAIN         the socket's buffer is full: wait until it is not
 *   ENOBUFS        the interface's queue dropped it: try again soon
 *   EIO, EINVAL,   the kernel does not cut packets of this size, over this
 *   EMSGSIZE ...   interface: one by one, from now on
 *   EMSGSIZE       of one packet: it is lost, and so are all like it
 *   ECONNREFUSED,  an answer to an earlier packet: counted, and sent again;
 *   EHOSTUNREACH   there is one at most for each packet, so that ends
 *   ENETDOWN,      and others without an answer: there is no way now.  Some
 *   EPERM ...      links come back: try again later
 *
 * No error ends a transfer: a sender of datagrams cannot know whether they are
 * received.
 */
#include <errno.h>
#include <time.h> /* before errqueue.h, which needs it */

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "contract/send.h"
#include "net/endpoint.h"
#include "net/url.h"
#include "qdisc.h"

enum {
	/* bytes: the longest IPv4 datagram, and the most for one call */
	UDP_LARGEST = 65507,
	UDP_TRAIN = 64, /* most packets of a train */
};

struct udp_options {
	uint64_t socket_buffer;
	uint32_t ttl;
	const char *interface;
	uint32_t train;
	bool timed;
};

struct send_state {
	const struct udp_options *options;
	const struct host *host;
	union endpoint to; /* the first port */
	int *fd;	   /* one socket for each port */
	unsigned ports;
	unsigned device; /* index of the interface; 0: as the routes say */

	/* Properties of the path to the peer. */
	uint32_t train; /* most packets of a train */
	/*
	 * packets of this size or more are not sent as a train: the kernel
	 * refused to cut them
	 */
	uint32_t cut_not;
	uint32_t mtu; /* MTU of the path, IP headers included; 0: unknown */
	bool timed;

	uint64_t taken;
	uint64_t packets, bytes, calls, refused, lost, burst;

	int blocked;   /* a socket whose buffer is full; -1: none */
	int64_t again; /* steady ns: nothing is sent before; 0: at once */

	uint8_t *stage; /* UDP_LARGEST bytes, to copy short packets into */
	bool told_mtu, told_size; /* these warnings were logged */
	int told_error; /* errno that was logged last; 0: packets went since */
	char peer[ENDPOINT_TEXT];
	char why[SEND_SENTENCE];
};

/* A position in a list of runs. */
struct udp_cursor {
	const struct send_run *run;
	unsigned runs;
	uint32_t packet; /* index in the first run */
};

/*
 * A train is packets to one port that one call sends: packets of one size, of
 * which the last may be shorter.  If the kernel cuts it (`cut`), it is one row
 * of bytes; otherwise packet i has pieces[i] of the iovecs.
 */
struct udp_train {
	unsigned n;
	unsigned sub;
	uint32_t size;	/* bytes of the first packet */
	uint32_t bytes; /* bytes of all packets */
	bool cut;
	int64_t due, every; /* as in struct send_run; due 0: at once */
	unsigned iovs;
	struct iovec iov[2 * UDP_TRAIN];
	uint8_t pieces[UDP_TRAIN];
	uint32_t length[UDP_TRAIN]; /* bytes of each packet */
};

/*
 * Packets with at most this many bytes of data are copied, longer ones
 * gathered.  Cycles per byte of trains of packets with a prefix of 8 bytes,
 * gathered and copied, from memory that is in no cache (scripts/bench zerocopy,
 * medians of 3, two cores of an AMD EPYC):
 *
 *   data      64         128        256        512        1024       2048
 *   loopback  4.63 2.82  2.41 1.60  1.40 0.99  0.88 0.69  0.63 0.58  0.48 0.52
 *   veth      5.42 3.38  2.64 1.97  1.62 1.11  0.99 0.78  0.69 0.70  0.61 0.58
 *
 * Above that the difference is a few per cent either way, and copying fills the
 * cache.  MSG_ZEROCOPY takes 17 pieces of memory at most, and costs more than
 * either way over both interfaces, which copy all the same.
 */
enum { COPY_MOST = 1024 };

/*
 * Packets with send times join one train if they are due within this time of
 * its first packet.
 */
enum { TOGETHER = 100000 }; /* ns */

static uint32_t
size_of(const struct send_run *r)
{
	return r->head_bytes + r->data_bytes;
}

static bool
is_in_row(const struct send_run *r)
{
	return !r->head_bytes && r->data_stride == r->data_bytes;
}

static void
iov_add(struct udp_train *t, const void *base, uint32_t bytes)
{
	struct iovec *last = t->iovs ? &t->iov[t->iovs - 1] : NULL;

	if (!bytes)
		return;
	if (t->cut && last && (uint8_t *)last->iov_base + last->iov_len == base)
		last->iov_len += bytes;
	else
		t->iov[t->iovs++] = (struct iovec){ (void *)base, bytes };
}

static void
packet_add(struct send_state *s, struct udp_train *t, const struct send_run *r,
	   uint32_t i)
{
	const uint8_t *data = r->data + (size_t)i * r->data_stride;
	const uint8_t *head =
	    r->head ? r->head + (size_t)i * r->head_stride : NULL;
	uint8_t *stage = s->stage + t->bytes;
	unsigned before = t->iovs;

	if (r->data_bytes > COPY_MOST || is_in_row(r) ||
	    size_of(r) > UDP_LARGEST) {
		iov_add(t, head, r->head_bytes);
		iov_add(t, data, r->data_bytes);
	} else {
		if (head)
			memcpy(stage, head, r->head_bytes);
		memcpy(stage + r->head_bytes, data, r->data_bytes);
		iov_add(t, stage, size_of(r));
	}
	t->pieces[t->n] = (uint8_t)(t->iovs - before);
	t->length[t->n++] = size_of(r);
	t->bytes += size_of(r);
}

static void
train_begin(const struct send_state *s, struct udp_train *t,
	    const struct udp_cursor *at)
{
	const struct send_run *r = at->run;

	t->n = t->iovs = 0;
	t->bytes = 0;
	t->sub = r->sub;
	t->size = size_of(r);
	t->cut = s->train > 1 && t->size && t->size < s->cut_not;
	t->due = r->due ? r->due + (int64_t)at->packet * r->every : 0;
	t->every = r->every;
}

/* Tells whether packet i of a run can join the train. */
static bool
fits(const struct send_state *s, const struct udp_train *t,
     const struct send_run *r, uint32_t i)
{
	uint32_t most = t->cut ? s->train : UDP_TRAIN;
	int64_t due = r->due + (int64_t)i * r->every;

	if (!t->n)
		return true;
	if (t->n == most || r->sub != t->sub || !size_of(r) ||
	    t->bytes + size_of(r) > UDP_LARGEST)
		return false;
	if (t->cut && (size_of(r) > t->size || t->length[t->n - 1] < t->size))
		return false;
	return !s->timed || !t->due || due - t->due < TOGETHER;
}

/* Moves a position forward. */
static void
cursor_move(struct udp_cursor *at, uint32_t packets)
{
	while (at->runs && packets >= at->run->packets - at->packet) {
		packets -= at->run->packets - at->packet;
		at->packet = 0;
		at->run++;
		at->runs--;
	}
	at->packet += packets;
}

/*
 * Makes the train that begins at a position; false: no packets are left.  Short
 * packets are copied to s->stage.
 */
static bool
train_make(struct send_state *s, const struct udp_cursor *at,
	   struct udp_train *t)
{
	struct udp_cursor c = *at;

	if (!c.runs)
		return false;
	train_begin(s, t, &c);
	while (c.runs && fits(s, t, c.run, c.packet)) {
		packet_add(s, t, c.run, c.packet);
		cursor_move(&c, 1);
	}
	t->cut = t->cut && t->n > 1;
	return true;
}

/*
 * Checks that the URL has enough ports or groups for all substreams.  Returns
 * 0, or -EINVAL with a sentence in args->why.
 */
static int
subs_check(const struct url *u, const struct send_args *args)
{
	uint32_t ports = url_ports(u), last = u->first + args->subs - 1;

	if (args->subs == 1)
		return 0;
	if (u->groups > 1 || ports > 1) {
		if (args->subs <= (u->groups > 1 ? u->groups : ports))
			return 0;
		snprintf(args->why, args->why_bytes,
			 "%.80s names %u %s, and there are %u substreams: one "
			 "port is taken for the first of as many as it takes; "
			 "or choose one substream",
			 args->to, u->groups > 1 ? u->groups : ports,
			 u->groups > 1 ? "groups" : "ports", args->subs);
		return -EINVAL;
	}
	if (last <= UINT16_MAX)
		return 0;
	snprintf(args->why, args->why_bytes,
		 "%.80s: %u substreams from port %u on would end behind port "
		 "65535; begin at %u, or below",
		 args->to, args->subs, u->first, UINT16_MAX + 1 - args->subs);
	return -EINVAL;
}

static unsigned
ports_wanted(const struct url *u, const struct send_args *args)
{
	if (u->groups > 1)
		return u->groups;
	return url_ports(u) > args->subs ? url_ports(u) : args->subs;
}

/* Returns the address that a substream is sent to. */
static union endpoint
endpoint_of(const union endpoint *first, const struct url *u, unsigned sub)
{
	union endpoint e = *first;

	if (u->groups > 1)
		endpoint_step(&e, sub);
	else
		endpoint_port_set(&e, (uint16_t)(u->first + sub));
	return e;
}

/* ---- one socket ---------------------------------------------------------- */

/* Sets options that the system may limit; errors are ignored. */
static void
wishes_set(const struct send_state *s, int fd, bool v4)
{
	const struct udp_options *o = s->options;
	const int room =
	    o->socket_buffer > INT32_MAX ? INT32_MAX : (int)o->socket_buffer;
	const int yes = 1, ttl = (int)o->ttl;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (v4)
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof yes);
	if (!ttl)
		return;
	if (v4) {
		setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl);
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &ttl,
			   sizeof ttl);
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &ttl,
			   sizeof ttl);
	}
}

/*
 * Sets the interface: for a group, the one to send from; for a host, a binding
 * that overrules the routes.
 */
static int
device_set(const struct send_state *s, int fd, const union endpoint *to)
{
	const struct ip_mreqn by = { .imr_ifindex = (int)s->device };
	const int index = (int)s->device;
	char name[IF_NAMESIZE];
	int err;

	if (!index)
		return 0;
	if (!endpoint_is_group(to))
		err = setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE,
				 if_indextoname(s->device, name), IF_NAMESIZE);
	else if (to->any.sa_family == AF_INET)
		err =
		    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
	else
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index,
				 sizeof index);
	return err < 0 ? -errno : 0;
}

static int
port_open(const struct send_state *s, const union endpoint *to)
{
	bool v4 = to->any.sa_family == AF_INET;
	int fd = socket(to->any.sa_family,
			SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	wishes_set(s, fd, v4);
	err = device_set(s, fd, to);
	if (!err && connect(fd, &to->any, endpoint_bytes(to)) < 0)
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* ---- the path to the peer ---------------------------------------------- */

static void
way_look(struct send_state *s)
{
	const struct sock_txtime time = { .clockid = CLOCK_MONOTONIC };
	bool v4 = s->to.any.sa_family == AF_INET;
	socklen_t bytes = sizeof(int);
	int mtu = 0;

	if (getsockopt(s->fd[0], v4 ? IPPROTO_IP : IPPROTO_IPV6,
		       v4 ? IP_MTU : IPV6_MTU, &mtu, &bytes) == 0 &&
	    mtu > 0)
		s->mtu = (uint32_t)mtu;
	s->timed = s->options->timed && qdisc_timed(&s->to, s->device);
	for (unsigned i = 0; i < s->ports && s->timed; i++)
		s->timed = setsockopt(s->fd[i], SOL_SOCKET, SO_TXTIME, &time,
				      sizeof time) == 0;
}

static int
open_refuse(const struct send_state *s, const struct send_args *args, int err)
{
	if (err == -EMFILE)
		snprintf(args->why, args->why_bytes,
			 "%.100s: no more files can be opened, and each of %u "
			 "ports takes one",
			 args->to, s->ports);
	else if (err == -ENETUNREACH || err == -EHOSTUNREACH)
		snprintf(args->why, args->why_bytes,
			 "%.100s: this machine knows no way there (%s): its "
			 "routes (`ip route`) and its links say why",
			 args->to, strerror(-err));
	else
		snprintf(args->why, args->why_bytes,
			 "%.100s: nothing can be sent there: %s", args->to,
			 strerror(-err));
	return err;
}

/*
 * Opens the first port, at the first of the host's addresses that can be
 * reached.
 */
static int
first_open(struct send_state *s, const struct url *u,
	   const struct send_args *args)
{
	struct resolved found;
	int fd = -1;
	int err = resolve(&found, u, args->why, args->why_bytes);

	if (err)
		return err;
	s->device = u->device[0] ? if_nametoindex(u->device) : 0;
	for (unsigned i = 0; i < found.n && fd < 0; i++) {
		s->to = found.at[i];
		fd = port_open(s, &s->to);
	}
	if (fd < 0)
		return open_refuse(s, args, fd);
	s->fd[0] = fd;
	return 0;
}

static int
others_open(struct send_state *s, const struct url *u,
	    const struct send_args *args)
{
	for (unsigned i = 1; i < s->ports; i++) {
		union endpoint e = endpoint_of(&s->to, u, i);

		s->fd[i] = port_open(s, &e);
		if (s->fd[i] < 0)
			return open_refuse(s, args, s->fd[i]);
	}
	return 0;
}

/*
 * Opens a socket for each substream.  Returns 0, or -errno with a sentence in
 * args->why.
 */
static int
ports_open(struct send_state *s, const struct url *url,
	   const struct send_args *args)
{
	const char *interface = s->options->interface;
	struct url u = *url;
	int err;

	s->fd = malloc(ports_wanted(&u, args) * sizeof *s->fd);
	if (!s->fd)
		return -ENOMEM;
	s->ports = ports_wanted(&u, args);
	for (unsigned i = 0; i < s->ports; i++)
		s->fd[i] = -1;
	if (!u.device[0] && interface)
		snprintf(u.device, sizeof u.device, "%s", interface);
	err = first_open(s, &u, args);
	if (!err)
		err = others_open(s, &u, args);
	if (!err)
		way_look(s);
	return err;
}

static void
ports_close(struct send_state *s)
{
	for (unsigned i = 0; s->fd && i < s->ports; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	free(s->fd);
}

enum {
	SOON = 500000, /* ns until the next try after ENOBUFS */
	/* ns until the next try when there is no way to the peer */
	LATER = 200000000,
	/* most answers that one call reads, and most tries of a train */
	TRIES = 256,
	HEADERS_V4 = 28, /* bytes of the IP and UDP headers */
	HEADERS_V6 = 48,
};

static int64_t
steady(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_SECOND + t.tv_nsec;
}

/* ---- ICMP answers ------------------------------------------------------ */

static void
answer_note(struct send_state *s, const struct sock_extended_err *e)
{
	if (e->ee_origin != SO_EE_ORIGIN_ICMP &&
	    e->ee_origin != SO_EE_ORIGIN_ICMP6)
		return;
	if (e->ee_errno == EMSGSIZE) { /* the MTU of the path */
		s->mtu = e->ee_info;
		return;
	}
	s->refused++;
	if (e->ee_errno == ECONNREFUSED)
		snprintf(s->why, sizeof s->why,
			 "nobody listens at %s, says its host: packets are "
			 "sent, and not received",
			 s->peer);
	else
		snprintf(s->why, sizeof s->why,
			 "packets do not get to %s, says a host on the way: %s",
			 s->peer, strerror((int)e->ee_errno));
}

/* Reads one answer; false: there are no more. */
static bool
answer_read(struct send_state *s, int fd)
{
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr m = { .msg_control = control,
			    .msg_controllen = sizeof control };

	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if ((c->cmsg_level == IPPROTO_IP &&
		     c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == IPPROTO_IPV6 &&
		     c->cmsg_type == IPV6_RECVERR))
			answer_note(s, (void *)CMSG_DATA(c));
	return true;
}

/* Reads and counts ICMP answers for a socket. */
static void
answers(struct send_state *s, int fd)
{
	socklen_t bytes = sizeof(int);
	unsigned n = 0;
	int err;

	while (n < TRIES && answer_read(s, fd))
		n++;
	/* Reading SO_ERROR clears an error whose answer was read already. */
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &bytes);
}

/*
 * Tells whether an error was an answer to an earlier packet, and counts it
 * then.
 */
static bool
is_answer(struct send_state *s, int fd, int err)
{
	uint64_t before = s->refused;

	if (err != ECONNREFUSED && err != EHOSTUNREACH && err != ENETUNREACH &&
	    err != EMSGSIZE && err != EACCES && err != EPROTO &&
	    err != EOPNOTSUPP && err != EHOSTDOWN && err != ENONET &&
	    err != ENOPROTOOPT)
		return false;
	answers(s, fd);
	if (err == ECONNREFUSED && s->refused == before)
		/* the answer did not fit in the socket's error queue */
		s->refused++;
	return s->refused != before;
}

/* ---- warnings ---------------------------------------------------------- */

static void
no_way_now(struct send_state *s, int err)
{
	snprintf(s->why, sizeof s->why, "nothing can be sent to %s now: %s%s",
		 s->peer, strerror(err),
		 err == EPERM
		     ? ", which is what a firewall of this machine says"
		     : "; it is tried again");
	if (s->told_error != err)
		s->host->log(s->host->ctx, LEVEL_WARN, "%s", s->why);
	s->told_error = err;
	s->again = steady() + LATER;
}

static void
too_large(struct send_state *s, uint32_t bytes)
{
	snprintf(s->why, sizeof s->why,
		 "packets of %u bytes are too large to be sent to %s, and "
		 "left out",
		 bytes, s->peer);
	if (!s->told_size)
		s->host->log(s->host->ctx, LEVEL_WARN, "%s", s->why);
	s->told_size = true;
}

/*
 * Warns once if packets are longer than the MTU.  They arrive as long as no
 * fragment is lost, but that is seldom intended.
 */
static void
mtu_look(struct send_state *s, uint32_t bytes)
{
	uint32_t headers =
	    s->to.any.sa_family == AF_INET ? HEADERS_V4 : HEADERS_V6;

	if (s->told_mtu || !s->mtu || bytes > UDP_LARGEST ||
	    bytes + headers <= s->mtu)
		return;
	s->told_mtu = true;
	snprintf(s->why, sizeof s->why,
		 "packets of %u bytes do not fit in the %u (MTU) that go to "
		 "%s in one piece: they travel as fragments, and are lost with "
		 "any of them; a larger MTU on the way would do",
		 bytes, s->mtu, s->peer);
	s->host->log(s->host->ctx, LEVEL_WARN, "%s", s->why);
}

/* ---- system calls ------------------------------------------------------ */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(uint64_t))];
};

static void
control_add(struct msghdr *m, union control *c, int level, int type,
	    const void *value, size_t bytes)
{
	struct cmsghdr *h = (void *)(c->bytes + m->msg_controllen);

	m->msg_control = c->bytes;
	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(h), value, bytes);
	m->msg_controllen += CMSG_SPACE(bytes);
}

static void
time_add(const struct send_state *s, struct msghdr *m, union control *c,
	 int64_t due)
{
	uint64_t time = (uint64_t)due;

	if (s->timed && due)
		control_add(m, c, SOL_SOCKET, SCM_TXTIME, &time, sizeof time);
}

static int
call_cut(const struct send_state *s, int fd, const struct udp_train *t)
{
	struct msghdr m = { .msg_iov = (struct iovec *)t->iov,
			    .msg_iovlen = t->iovs };
	uint16_t size = (uint16_t)t->size;
	union control control;

	memset(&control, 0, sizeof control);
	control_add(&m, &control, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
	time_add(s, &m, &control, t->due);
	return sendmsg(fd, &m, 0) < 0 ? -1 : (int)t->n;
}

/*
 * Sends the packets from number `from` on, one datagram each.  Returns how many
 * were sent, or -1 with errno.
 */
static int
call_each(const struct send_state *s, int fd, const struct udp_train *t,
	  unsigned from)
{
	struct mmsghdr m[UDP_TRAIN];
	union control control[UDP_TRAIN];
	const struct iovec *iov = t->iov;
	unsigned n = t->n - from;

	for (unsigned i = 0; i < from; i++)
		iov += t->pieces[i];
	memset(m, 0, n * sizeof *m);
	if (s->timed)
		memset(control, 0, n * sizeof *control);
	for (unsigned i = 0; i < n; i++) {
		struct msghdr *h = &m[i].msg_hdr;

		h->msg_iov = (struct iovec *)iov;
		h->msg_iovlen = t->pieces[from + i];
		iov += h->msg_iovlen;
		time_add(s, h, &control[i],
			 t->due ? t->due + (from + i) * t->every : 0);
	}
	return sendmmsg(fd, m, n, 0);
}

static bool
cannot_cut(int err)
{
	return err == EIO || err == EINVAL || err == EMSGSIZE ||
	       err == EOPNOTSUPP || err == ENOPROTOOPT;
}

static void
went(struct send_state *s, const struct udp_train *t, unsigned from, int n)
{
	s->packets += (unsigned)n;
	s->calls++;
	s->told_error = 0;
	for (unsigned i = from; i < from + (unsigned)n; i++)
		s->bytes += t->length[i];
}

/* Handles an error of a call.  Returns 0: try again; else as go(). */
static int
mend(struct send_state *s, int fd, const struct udp_train *t, unsigned *done)
{
	int err = errno;

	if (err == EINTR || is_answer(s, fd, err))
		return 0;
	if (err == EAGAIN) {
		s->blocked = fd;
		return -ENOBUFS;
	}
	if (err == ENOBUFS || err == ENOMEM) {
		s->again = steady() + SOON;
		return -ENOBUFS;
	}
	if (!t->cut && err == EMSGSIZE) {
		too_large(s, t->length[*done]);
		s->lost++;
		++*done;
		return 0;
	}
	no_way_now(s, err);
	return -EAGAIN;
}

/*
 * Sends a train; *done is how many of its packets need nothing more (sent or
 * lost).  Returns 0; -ENOBUFS: the rest has to wait, and s->blocked or s->again
 * say for what; -EAGAIN: the same, because nothing can be sent to the peer now,
 * and s->why says why.
 */
static int
go(struct send_state *s, const struct udp_train *t, unsigned *done)
{
	int fd = s->fd[s->ports > 1 ? t->sub : 0], err = 0, n;

	mtu_look(s, t->size);
	*done = 0;
	for (unsigned tries = 0; *done < t->n && !err; tries++) {
		n = t->cut ? call_cut(s, fd, t) : call_each(s, fd, t, *done);
		if (n >= 0) {
			went(s, t, *done, n);
			*done += (unsigned)n;
		} else if (t->cut && cannot_cut(errno)) {
			/* train_make() makes the train again, uncut */
			s->cut_not = t->size;
			return 0;
		} else {
			err = mend(s, fd, t, done);
			if (!err && tries == TRIES) {
				s->again = steady() + SOON;
				err = -ENOBUFS;
			}
		}
	}
	return err;
}

#define OF(member) offsetof(struct udp_options, member)

static const struct option_key options[] = {
	{ "socket_buffer", OPTION_BYTES, OF(socket_buffer), "4M", NULL, 65536,
	  INT32_MAX, "asked of the kernel for each port that is sent to" },
	{ "ttl", OPTION_COUNT, OF(ttl), "0", .max = 255,
	  .help = "hops that packets may take; 0: the system's (of a group: "
		  "1)" },
	{ "interface", OPTION_TEXT, OF(interface),
	  .help = "by which groups are sent to, and hosts against the routes; "
		  "eth2@ in the URL does the same" },
	{ "train", OPTION_COUNT, OF(train), "64", NULL, 1, UDP_TRAIN,
	  "packets that the kernel is given at once, for it to cut; 1: none" },
	{ "timed", OPTION_FLAG, OF(timed), "true",
	  .help = "let the interface's queue hold packets until they are due, "
		  "where it is fq" },
	{ .name = NULL },
};

static int
udp_check(const struct send_args *args)
{
	struct url u;
	int err = url_read(&u, args->to, args->why, args->why_bytes);

	if (!err && u.scheme != URL_UDP) {
		snprintf(args->why, args->why_bytes,
			 "%.100s: udp sends to udp://host:port", args->to);
		err = -EINVAL;
	}
	if (!err && args->head_bytes + args->data_bytes > UDP_LARGEST) {
		snprintf(args->why, args->why_bytes,
			 "packets of %u bytes do not fit in a datagram, which "
			 "has at most %d",
			 args->head_bytes + args->data_bytes, UDP_LARGEST);
		err = -EINVAL;
	}
	return err ? err : subs_check(&u, args);
}

static void
udp_close(struct send_state *s)
{
	ports_close(s);
	free(s->stage);
	free(s);
}

static int
udp_open(struct send_state **state, const struct send_args *args)
{
	struct send_state *s;
	struct url u;
	int err = udp_check(args);

	if (err)
		return err;
	url_read(&u, args->to, args->why, args->why_bytes);
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->options = args->options;
	s->host = args->host;
	s->train = s->options->train;
	s->cut_not = UINT32_MAX;
	s->blocked = -1;
	s->stage = malloc(UDP_LARGEST);
	err = s->stage ? ports_open(s, &u, args) : -ENOMEM;
	if (err) {
		udp_close(s);
		return err;
	}
	endpoint_show(&s->to, s->peer);
	*state = s;
	return 0;
}

/* ---- sending ----------------------------------------------------------- */

static int
sub_refuse(struct send_state *s, unsigned sub)
{
	snprintf(s->why, sizeof s->why,
		 "there is no port for substream %u: %u are sent to", sub,
		 s->ports);
	return -EINVAL;
}

static int
udp_send(struct send_state *s, const struct send_run *run, unsigned n,
	 uint64_t *taken)
{
	struct udp_cursor at = { run, n, 0 };
	uint64_t before = s->bytes, together = 0;
	struct udp_train train;
	unsigned done = 1;
	int err = 0;

	*taken = 0;
	s->blocked = -1;
	s->again = 0;
	while (!err && train_make(s, &at, &train)) {
		if (s->ports > 1 && train.sub >= s->ports)
			return sub_refuse(s, train.sub);
		err = go(s, &train, &done);
		*taken += done;
		s->taken += done;
		cursor_move(&at, done);
		if (done && train.bytes > together)
			together = train.bytes;
	}
	if (!s->timed || !n || !run->due)
		together = s->bytes - before;
	if (together > s->burst)
		s->burst = together;
	return *taken || err == -ENOBUFS ? 0 : err;
}

static unsigned
udp_poll(struct send_state *s, struct pollfd *fd, unsigned most, int64_t *until)
{
	if (s->again && s->again < *until)
		*until = s->again;
	if (s->blocked < 0 || !most)
		return 0;
	*fd = (struct pollfd){ .fd = s->blocked, .events = POLLOUT };
	return 1;
}

static uint64_t
udp_release(struct send_state *s)
{
	return s->taken;
}

static void
udp_detach(struct send_state *s)
{
	(void)s;
}

/*
 * Reads the ICMP answers that have come back by now.  More may come, but finish
 * does not wait for them.
 */
static int
udp_finish(struct send_state *s)
{
	for (unsigned i = 0; i < s->ports; i++)
		answers(s, s->fd[i]);
	return 0;
}

static const char *
way(const struct send_state *s)
{
	bool cut = s->train > 1 && s->cut_not == UINT32_MAX;

	if (s->timed)
		return cut ? "udp, trains, timed by fq"
			   : "udp, packet by packet, timed by fq";
	return cut ? "udp, trains" : "udp, packet by packet";
}

static void
udp_facts(struct send_state *s, struct send_facts *f)
{
	*f = (struct send_facts){ .packets = s->packets,
				  .bytes = s->bytes,
				  .calls = s->calls,
				  .refused = s->refused,
				  .lost = s->lost,
				  .connections = s->ports,
				  .burst = s->burst,
				  .way = way(s) };
	snprintf(f->peer, sizeof f->peer, "%s", s->peer);
	memcpy(f->why, s->why, sizeof f->why);
}

static bool
udp_timed(struct send_state *s)
{
	return s->timed;
}

SPATE_PLUGIN const struct send_ops spate_send = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct send_ops),
		  .name = "udp",
		  .help = "datagrams, as they were received",
		  .options = options,
		  .options_bytes = sizeof(struct udp_options),
		  .flags = SEND_TIMED | SEND_UNHEARD },
	.check = udp_check,
	.open = udp_open,
	.send = udp_send,
	.poll = udp_poll,
	.release = udp_release,
	.detach = udp_detach,
	.finish = udp_finish,
	.facts = udp_facts,
	.close = udp_close,
	.timed = udp_timed,
};
