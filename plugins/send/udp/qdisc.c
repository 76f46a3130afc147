/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether an interface sends packets at a given time.  SO_TXTIME can
 * be set on any socket, but most queues ignore the times.  So rtnetlink is
 * asked which interface the route uses, and whether its queue is fq, or all
 * queues of a card with several.
 *
 * etf obeys times, too, but drops packets that are late or have no time; it
 * does not count.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "qdisc.h"

struct question {
	struct nlmsghdr h;
	union {
		struct rtmsg route;
		struct tcmsg qdisc;
	};
	uint8_t more[64];
};

static int
ask(struct question *q)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (send(fd, q, q->h.nlmsg_len, 0) == (ssize_t)q->h.nlmsg_len)
		return fd;
	close(fd);
	return -EIO;
}

/* Returns an attribute behind the fixed part of an answer; NULL: not there. */
static const struct rtattr *
attribute(const struct nlmsghdr *h, size_t fixed, unsigned short type)
{
	const uint8_t *at = (const uint8_t *)NLMSG_DATA(h) + NLMSG_ALIGN(fixed);
	size_t left = h->nlmsg_len > NLMSG_SPACE(fixed)
			  ? h->nlmsg_len - NLMSG_SPACE(fixed)
			  : 0;
	const struct rtattr *a = (const struct rtattr *)at;

	while (RTA_OK(a, left)) {
		if (a->rta_type == type)
			return a;
		a = RTA_NEXT(a, left);
	}
	return NULL;
}

/* ---- the interface ----------------------------------------------------- */

static unsigned
route_device(const union endpoint *to)
{
	bool v4 = to->any.sa_family == AF_INET;
	size_t bytes = v4 ? 4 : 16;
	struct question q = {
		.h = { .nlmsg_len = (uint32_t)(NLMSG_SPACE(sizeof q.route) +
					       RTA_LENGTH(bytes)),
		       .nlmsg_type = RTM_GETROUTE,
		       .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (uint8_t)to->any.sa_family,
			   .rtm_dst_len = (uint8_t)(8 * bytes) },
	};
	struct rtattr *dst =
	    (void *)((uint8_t *)&q + NLMSG_SPACE(sizeof q.route));
	_Alignas(struct nlmsghdr) uint8_t answer[4096];
	const struct nlmsghdr *h = (void *)answer;
	const struct rtattr *a = NULL;
	unsigned device = 0;
	ssize_t got;
	int fd;

	dst->rta_type = RTA_DST;
	dst->rta_len = (uint16_t)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(dst),
	       v4 ? (const void *)&to->v4.sin_addr
		  : (const void *)&to->v6.sin6_addr,
	       bytes);
	fd = ask(&q);
	if (fd < 0)
		return 0;
	got = recv(fd, answer, sizeof answer, 0);
	if (got > 0 && NLMSG_OK(h, (size_t)got) &&
	    h->nlmsg_type == RTM_NEWROUTE)
		a = attribute(h, sizeof q.route, RTA_OIF);
	if (a)
		memcpy(&device, RTA_DATA(a), sizeof device);
	close(fd);
	return device;
}

/* ---- its queue --------------------------------------------------------- */

struct queues {
	unsigned fq, others;
};

/*
 * Counts a queue of the interface. mq, which only hands packets on to other
 * queues, and the ingress hooks do not count.
 */
static void
queue_count(struct queues *q, const struct nlmsghdr *h, unsigned device)
{
	const struct tcmsg *t = NLMSG_DATA(h);
	const struct rtattr *kind = attribute(h, sizeof *t, TCA_KIND);

	if (t->tcm_ifindex != (int)device || t->tcm_parent == TC_H_INGRESS ||
	    t->tcm_parent == TC_H_CLSACT || !kind ||
	    strcmp(RTA_DATA(kind), "mq") == 0)
		return;
	if (strcmp(RTA_DATA(kind), "fq") == 0)
		q->fq++;
	else
		q->others++;
}

/* Reads one message of an answer; false: it was the last one. */
static bool
queues_read(struct queues *q, const uint8_t *answer, size_t bytes,
	    unsigned device)
{
	const struct nlmsghdr *h = (const void *)answer;

	for (; NLMSG_OK(h, bytes); h = NLMSG_NEXT(h, bytes)) {
		if (h->nlmsg_type != RTM_NEWQDISC)
			return false;
		queue_count(q, h, device);
	}
	return true;
}

bool
qdisc_timed(const union endpoint *to, unsigned device)
{
	struct question q = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof q.qdisc),
		       .nlmsg_type = RTM_GETQDISC,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.qdisc = { .tcm_family = AF_UNSPEC },
	};
	_Alignas(struct nlmsghdr) uint8_t answer[16384];
	struct queues queues = { 0 };
	ssize_t got;
	int fd;

	if (!device)
		device = route_device(to);
	if (!device)
		return false;
	fd = ask(&q);
	if (fd < 0)
		return false;
	do {
		got = recv(fd, answer, sizeof answer, 0);
	} while (got > 0 && queues_read(&queues, answer, (size_t)got, device));
	close(fd);
	return queues.fq && !queues.others;
}
