/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_STAMP_H
#define SPATE_RECEIVE_UDP_STAMP_H

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "receive/packet.h"

/*
 * A stamp is the UTC time at which the kernel took a message in from a driver
 * or a local sender, before the message waited in any socket.  The kernel
 * passes it beside the message, one for a whole train of datagrams.
 *
 * The kernel stamps all incoming packets of the machine while at least one
 * socket asks for stamps.  Handing the stamps over costs more, so a source
 * turns that on only when stamps are needed.  Messages that already wait in the
 * socket then have their stamps, too, if another socket asked all the time:
 * stamps_keep() opens that socket.
 *
 * A card that stamps packets itself passes its stamp on beside the kernel's, if
 * its driver was told to (hwstamp_ctl, chrony, ptp4l): that is for who cares
 * for its clock.  Where no card stamps, nothing is passed on.
 */
enum {
	STAMP_SPACE = CMSG_SPACE(sizeof(struct timespec)) +
		      CMSG_SPACE(sizeof(struct scm_timestamping)),
};

/*
 * A card's stamp counts if it is at most so much earlier than the kernel's, in
 * ns, and not later.  Its clock may run free, or on TAI, and drift through this
 * range: then what is told differs from the kernel's by less than any step that
 * the core looks for.
 */
#define STAMP_CARD INT64_C(300000)

struct stamps {
	int64_t kernel, card; /* ns; 0: none.  UTC, and what the card has */
};

/*
 * Turns stamps on or off for the messages of a socket.  No known kernel
 * refuses; if one does, all stamps are 0.
 */
static inline void
stamps_ask(int fd, int on)
{
	int card =
	    on ? SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE
	       : 0;

	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &card, sizeof card);
}

/*
 * Opens a socket that nothing is sent to and that asks for stamps.  Returns the
 * descriptor, owned by the caller, or -errno.  Without it, messages that wait
 * when a source turns stamps on get the time at which they are read.
 */
static inline int
stamps_keep(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	stamps_ask(fd, 1);
	return fd;
}

/* Returns the ns by which the kernel has TAI ahead of UTC; 0: nobody told it. */
static inline int64_t
stamp_tai(void)
{
	struct timespec utc, tai;

	clock_gettime(CLOCK_REALTIME, &utc);
	clock_gettime(CLOCK_TAI, &tai);
	/* read one after the other, so the second may have changed */
	return ((tai.tv_sec - utc.tv_sec) * NS_SECOND + tai.tv_nsec -
		utc.tv_nsec + NS_SECOND / 2) /
	       NS_SECOND * NS_SECOND;
}

static inline int64_t
stamp_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_SECOND + t->tv_nsec;
}

/* Tells whether a control message is one with stamps, and then sets them. */
static inline bool
stamp_is(const struct cmsghdr *c, struct stamps *s)
{
	struct scm_timestamping card;
	struct timespec t;

	if (c->cmsg_level != SOL_SOCKET)
		return false;
	if (c->cmsg_type == SCM_TIMESTAMPNS &&
	    c->cmsg_len >= CMSG_LEN(sizeof t)) {
		memcpy(&t, CMSG_DATA(c), sizeof t);
		s->kernel = stamp_ns(&t);
		return true;
	}
	if (c->cmsg_type != SCM_TIMESTAMPING ||
	    c->cmsg_len < CMSG_LEN(sizeof card))
		return false;
	memcpy(&card, CMSG_DATA(c), sizeof card);
	s->card = stamp_ns(&card.ts[2]);
	return true;
}

/*
 * Returns the card's stamp in UTC, if it can be true beside the kernel's; else
 * 0.  `tai`: see stamp_tai().
 */
static inline int64_t
stamp_card(const struct stamps *s, int64_t tai)
{
	int64_t late = s->kernel - s->card;

	if (!s->kernel || !s->card)
		return 0;
	if (late >= 0 && late <= STAMP_CARD)
		return s->card;
	late += tai;
	return late >= 0 && late <= STAMP_CARD ? s->card - tai : 0;
}

/* Marks a packet with the card's stamp, UTC ns, unless it is 0. */
static inline void
stamp_mark(struct receive_packet *k, int64_t card)
{
	if (!card)
		return;
	k->arrived = card;
	k->flags |= RECEIVE_CARD;
}

/* Reads the stamps of a message. */
static inline struct stamps
stamps_of(struct msghdr *m)
{
	struct stamps s = { 0 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		stamp_is(c, &s);
	return s;
}

#endif
