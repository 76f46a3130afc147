/* SPDX-License-Identifier: MIT */
/*
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
#include <time.h>

#include <errno.h>
#include <linux/errqueue.h> /* wants a struct timespec */
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "udp.h"

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

void
udp_answers(struct send_state *s, int fd)
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
	udp_answers(s, fd);
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

/* Handles an error of a call.  Returns 0: try again; else as udp_go(). */
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

int
udp_go(struct send_state *s, const struct udp_train *t, unsigned *done)
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
			/* udp_train_make() makes the train again, uncut */
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
