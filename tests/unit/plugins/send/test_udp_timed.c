/* SPDX-License-Identifier: MIT */
/*
 * Packets that have a time to leave at.  Few machines have an interface whose
 * queue is fq, so here the answers of the kernel are made up, and the plugin is
 * told that there is one: over loopback times are taken, and not looked at.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>

#define qdisc_timed kernel_qdisc_timed
#include "send/udp/qdisc.c"
#undef qdisc_timed
bool qdisc_timed(const union endpoint *to, unsigned device);

static bool is_fq;

bool
qdisc_timed(const union endpoint *to, unsigned device)
{
	(void)to;
	(void)device;
	return is_fq;
}

#include "send/udp/udp.c"

#include "lib/suite.h"

/* ---- what the kernel says of queues ------------------------------------------ */

enum { DEVICE = 7 };

struct told {
	_Alignas(struct nlmsghdr) uint8_t bytes[2048];
	size_t n;
};

static void
tell(struct told *t, int device, uint32_t parent, const char *kind)
{
	struct nlmsghdr *h = (void *)(t->bytes + t->n);
	struct tcmsg *q = NLMSG_DATA(h);
	struct rtattr *a = (void *)((uint8_t *)h + NLMSG_SPACE(sizeof *q));

	h->nlmsg_type = RTM_NEWQDISC;
	h->nlmsg_len =
	    (uint32_t)(NLMSG_SPACE(sizeof *q) + RTA_SPACE(strlen(kind) + 1));
	q->tcm_ifindex = device;
	q->tcm_parent = parent;
	a->rta_type = TCA_KIND;
	a->rta_len = (uint16_t)RTA_LENGTH(strlen(kind) + 1);
	strcpy(RTA_DATA(a), kind);
	t->n += NLMSG_ALIGN(h->nlmsg_len);
}

static bool
timed(const struct told *t)
{
	struct queues q = { 0 };

	ck_assert(queues_read(&q, t->bytes, t->n, DEVICE));
	return q.fq && !q.others;
}

START_TEST(queues)
{
	struct told t = { 0 };

	tell(&t, 1, TC_H_ROOT, "fq");
	ck_assert(!timed(&t));
	tell(&t, DEVICE, TC_H_ROOT, "fq");
	ck_assert(timed(&t));
	tell(&t, DEVICE, TC_H_INGRESS, "ingress");
	tell(&t, 9, TC_H_ROOT, "pfifo_fast");
	ck_assert(timed(&t));
	t.n = 0;
	tell(&t, DEVICE, TC_H_ROOT, "mq");
	ck_assert(!timed(&t));
	for (uint32_t i = 1; i < 5; i++)
		tell(&t, DEVICE, 0x80010000 + i, "fq");
	ck_assert(timed(&t));
	tell(&t, DEVICE, 0x80010005, "pfifo_fast");
	ck_assert(!timed(&t));
	t.n = 0;
	tell(&t, DEVICE, TC_H_ROOT, "fq_codel");
	ck_assert(!timed(&t));
}
END_TEST

START_TEST(the_kernel_answers)
{
	union endpoint e = { .v4 = { .sin_family = AF_INET } };

	e.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_uint_eq(route_device(&e), if_nametoindex("lo"));
	ck_assert(!kernel_qdisc_timed(&e, 0));
	ck_assert(!kernel_qdisc_timed(&e, 4711));
	e = (union endpoint){ .v6 = { .sin6_family = AF_INET6,
				      .sin6_addr = in6addr_loopback } };
	ck_assert_uint_eq(route_device(&e), if_nametoindex("lo"));
}
END_TEST

/* ---- what is sent ---------------------------------------------------------------- */

static const struct udp_options wishes = { .socket_buffer = 1 << 20,
					   .train = UDP_TRAIN,
					   .timed = true };
static int ear;

static struct send_state *
sender(const struct udp_options *o)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof at;
	struct send_state *s;
	char why[256], to[64];
	struct send_args args = { .options = o,
				  .to = to,
				  .subs = 1,
				  .why = why,
				  .why_bytes = sizeof why };

	ear = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(ear, (void *)&at, sizeof at), 0);
	getsockname(ear, (void *)&at, &bytes);
	snprintf(to, sizeof to, "udp://127.0.0.1:%u", ntohs(at.sin_port));
	ck_assert_msg(spate_send.open(&s, &args) == 0, "%s", why);
	return s;
}

static uint8_t data[200000];

/* 20 packets of 1000 bytes, `every` ns apart: in how many calls? */
static uint64_t
calls(const struct udp_options *o, int64_t every, bool cut_in_two)
{
	struct timespec t;
	struct send_run run[2];
	struct send_facts f;
	struct send_state *s = sender(o);
	unsigned n = 0;
	uint64_t taken;

	clock_gettime(CLOCK_MONOTONIC, &t);
	run[0] = (struct send_run){ .data = data,
				    .data_bytes = 1000,
				    .data_stride = 1000,
				    .packets = cut_in_two ? 10 : 20,
				    .due = t.tv_sec * INT64_C(1000000000) +
					   t.tv_nsec,
				    .every = every };
	run[1] = run[0];
	run[1].due += 10 * every + (cut_in_two ? 1000000 : 0);
	ck_assert_int_eq(spate_send.send(s, run, cut_in_two ? 2 : 1, &taken),
			 0);
	ck_assert_uint_eq(taken, 20);
	while (recv(ear, data, sizeof data, 0) == 1000)
		n++;
	ck_assert_uint_eq(n, 20);
	spate_send.facts(s, &f);
	spate_send.close(s);
	close(ear);
	return f.calls;
}

/* What is to go at a time goes in short trains, each with its own. */
START_TEST(trains_have_times)
{
	struct udp_options each = wishes, off = wishes;

	each.train = 1;
	off.timed = false;
	is_fq = true;
	ck_assert_uint_eq(calls(&wishes, 0, false), 1);
	ck_assert_uint_eq(calls(&wishes, 0, true), 2);
	ck_assert_uint_eq(calls(&wishes, 10000, false), 2);
	ck_assert_uint_eq(calls(&wishes, 50000, false), 10);
	ck_assert_uint_eq(calls(&wishes, 1000000, false), 20);
	ck_assert_uint_eq(calls(&each, 50000, false), 10);
	ck_assert_uint_eq(calls(&off, 50000, false), 1);
	is_fq = false;
	ck_assert_uint_eq(calls(&wishes, 50000, false), 1);
}
END_TEST

START_TEST(it_is_said)
{
	struct send_state *s;
	struct send_facts f;

	is_fq = true;
	s = sender(&wishes);
	ck_assert(spate_send.timed(s));
	spate_send.facts(s, &f);
	ck_assert_str_eq(f.way, "udp, trains, timed by fq");
	spate_send.close(s);
	close(ear);
	is_fq = false;
	s = sender(&wishes);
	ck_assert(!spate_send.timed(s));
	spate_send.facts(s, &f);
	ck_assert_str_eq(f.way, "udp, trains");
	spate_send.close(s);
	close(ear);
}
END_TEST

SUITE("udp_timed", queues, the_kernel_answers, trains_have_times, it_is_said)
