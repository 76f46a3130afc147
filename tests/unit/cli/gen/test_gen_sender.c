/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/module.h"
#include "cli/gen/gen_frames.h"
#include "cli/gen/gen_heaps.h"
#include "cli/gen/gen_sender.h"
#include "lib/suite.h"

enum { BYTES = 72, MOST = 400, PORTS = 3 };

static volatile sig_atomic_t stop;
static struct format_shape shape;
static struct gen_port port[PORTS];
static struct gen_frames frames;
static struct gen_heaps heaps;
static struct gen_socket sock;
static struct gen_sender sender;
static int receiver[PORTS];
static int order; /* receives what all of them get, in order */

/* A socket of our own to receive from, and one that sends there. */
static int
way_open(int *to)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int from = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t bytes = sizeof a;

	ck_assert_int_eq(bind(from, (struct sockaddr *)&a, bytes), 0);
	getsockname(from, (struct sockaddr *)&a, &bytes);
	*to = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(connect(*to, (struct sockaddr *)&a, bytes), 0);
	return from;
}

/* Several ports that are one: what comes is in the order of sending. */
static void
ways_open(unsigned ports, bool joined)
{
	sock = (struct gen_socket){ .ports = ports, .train = GEN_TRAIN };
	sock.fd = calloc(ports, sizeof *sock.fd);
	order = -1;
	for (unsigned i = 0; i < ports; i++) {
		if (i && joined)
			sock.fd[i] = dup(sock.fd[0]);
		else
			receiver[i] = way_open(&sock.fd[i]);
	}
	if (joined)
		order = receiver[0];
}

/* Raw packets with a counter. */
static void
start(uint64_t packets, const struct gen_chances *chances, unsigned ports)
{
	static const uint32_t threads[] = { 0 };
	struct gen_chances c = *chances;
	struct fault fault;
	char why[64];

	shape = (struct format_shape){ .prefix = 8,
				       .payload = BYTES - 8,
				       .sequence = SEQUENCE_LE64,
				       .fps = 10,
				       .threads_n = 1,
				       .threads = threads };
	frames = (struct gen_frames){ .shape = &shape };
	ck_assert_int_eq(module_format("raw", &frames.format, &fault), 0);
	ck_assert_int_eq(frames.format->shape(&shape, why, sizeof why), 0);
	ck_assert_int_eq(gen_frames_init(&frames), 0);
	ways_open(ports, false);
	memset(port, 0, sizeof port);
	for (unsigned i = 0; i < ports; i++) {
		c.seed = chances->seed + i;
		gen_plan_init(&port[i].plan, &c, packets);
	}
	sender = (struct gen_sender){ .port = port,
				      .ports = ports,
				      .source = &frames.source,
				      .socket = &sock,
				      .stop = &stop };
	stop = 0;
}

static void
finish(void)
{
	for (unsigned i = 0; i < sock.ports; i++)
		if (order < 0 || i == 0)
			close(receiver[i]);
	gen_socket_close(&sock);
	gen_frames_finish(&frames);
}

/* What came at each port is what its plan gives again. */
static void
check(uint64_t packets, const struct gen_chances *chances)
{
	struct gen_chances c = *chances;
	struct gen_plan again;
	uint64_t packet, sent = 0;
	uint8_t got[256];

	for (unsigned i = 0; i < sock.ports; i++) {
		c.seed = chances->seed + i;
		gen_plan_init(&again, &c, packets);
		while (gen_plan_next(&again, &packet)) {
			ck_assert_int_eq(
			    recv(receiver[i], got, sizeof got, MSG_DONTWAIT),
			    BYTES);
			ck_assert_uint_eq(read_le64(got), packet);
			ck_assert_mem_eq(
			    got, gen_frames_make(&frames, i, packet), BYTES);
		}
		ck_assert_int_eq(
		    recv(receiver[i], got, sizeof got, MSG_DONTWAIT), -1);
		ck_assert_uint_eq(port[i].plan.next, packets);
		ck_assert_uint_eq(port[i].plan.sent, again.sent);
		sent += again.sent;
	}
	ck_assert_uint_eq(sender.bytes, sent * BYTES);
}

START_TEST(all_of_it)
{
	const struct gen_chances none = { 0 };

	start(200, &none, 1);
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(200, &none);
	finish();
}
END_TEST

/* Many lost: packets of one train would be further apart than frames lie. */
START_TEST(trains_are_cut_where_frames_would_meet)
{
	const struct gen_chances some = {
		.loss = 0.7, .reorder = 0.3, .duplicate = 0.2, .displace = 50
	};

	start(MOST, &some, 1);
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(MOST, &some);
	finish();
}
END_TEST

START_TEST(every_port_by_its_plan)
{
	const struct gen_chances some = {
		.loss = 0.3, .reorder = 0.3, .duplicate = 0.2, .displace = 5
	};

	start(200, &some, PORTS);
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(200, &some);
	finish();
}
END_TEST

START_TEST(paced)
{
	const struct gen_chances some = { .loss = 0.1, .reorder = 0.1 };

	start(200, &some, 1);
	sender.rate = 8 * BYTES * 2000; /* 2000 packets/s: 100 ms */
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(200, &some);
	ck_assert_int_gt(sender.elapsed_ns, 90 * 1000000);
	finish();
}
END_TEST

/* A clock that drifts by 1e-9 is 8.64 ms late after a hundred days.  Packets are
 * fifty days apart here, and it ends when the one after the last would be due. */
START_TEST(drifts)
{
	const struct gen_chances none = { 0 };
	const int64_t days = INT64_C(50) * 86400 * 1000000000;
	int64_t due = clock_steady() + 20000000;

	start(2, &none, 1);
	sender.rate = 1;
	sender.exact_ns = (double)days;
	sender.begin_ns = due - 2 * days;
	sender.drift = 1e-9;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_int_ge(clock_steady(), due + 8640000);
	check(2, &none);
	finish();
}
END_TEST

/* The rate is that of all ports together. */
START_TEST(paced_together)
{
	const struct gen_chances some = { .loss = 0.1, .reorder = 0.1 };

	start(100, &some, PORTS);
	sender.rate = 8 * BYTES * 3000; /* 300 packets */
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(100, &some);
	ck_assert_int_gt(sender.elapsed_ns, 90 * 1000000);
	finish();
}
END_TEST

/* Bursts of 8 packets cut trains of 7: none of the ports gets the short end
 * every time, and falls behind. */
START_TEST(bursts_are_fair)
{
	const struct gen_chances none = { 0 };

	start(UINT64_MAX, &none, PORTS - 1);
	sock.train = 7;
	sender.rate = 8 * BYTES * 8000;
	sender.most_ns = 50000000;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_uint_gt(port[0].plan.sent, 14);
	ck_assert_uint_le(port[0].plan.sent, port[1].plan.sent + 8);
	ck_assert_uint_le(port[1].plan.sent, port[0].plan.sent + 8);
	finish();
}
END_TEST

START_TEST(stopped)
{
	const struct gen_chances none = { 0 };

	start(UINT64_MAX, &none, PORTS);
	sender.rate = 8; /* a packet in BYTES seconds */
	stop = 1;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_uint_eq(port[0].plan.sent, 2);
	ck_assert_uint_eq(port[1].plan.sent, 1);
	ck_assert_uint_eq(port[2].plan.sent, 1);
	finish();
}
END_TEST

START_TEST(over)
{
	const struct gen_chances none = { 0 };

	start(UINT64_MAX, &none, 1);
	sender.most_ns = 1000000;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_int_ge(sender.elapsed_ns, 1000000);
	ck_assert_uint_eq(port[0].plan.sent, port[0].plan.next);
	finish();
}
END_TEST

/* ---- heaps ------------------------------------------------------------- */

/* Heaps of five packets or six, to ports that are one socket. */
static void
start_heaps(uint64_t number)
{
	uint64_t packets;

	heaps = (struct gen_heaps){ .bits = 48,
				    .packet = 200,
				    .bytes = 750,
				    .start = true,
				    .stop = true,
				    .count = 1,
				    .count_step = 1,
				    .ports = PORTS };
	ck_assert_int_eq(gen_heaps_init(&heaps), 0);
	ways_open(PORTS, true);
	memset(port, 0, sizeof port);
	packets = gen_heaps_packets(&heaps, number);
	for (unsigned i = 0; i < PORTS; i++) {
		gen_plan_init(&port[i].plan, &(struct gen_chances){ 0 },
			      packets);
		gen_heaps_plan(&heaps, i, packets);
	}
	sender = (struct gen_sender){ .port = port,
				      .ports = PORTS,
				      .source = &heaps.source,
				      .socket = &sock,
				      .stop = &stop };
	stop = 0;
}

static void
finish_heaps(void)
{
	gen_heaps_finish(&heaps);
	finish();
}

/* The next datagram is this packet of this port. */
static void
check_next(unsigned of, uint64_t packet)
{
	struct iovec piece[GEN_PIECES];
	unsigned n = heaps.source.ops->make(&heaps.source, of, packet, piece);
	uint8_t got[256], *at = got;
	ssize_t bytes = recv(order, got, sizeof got, MSG_DONTWAIT);

	for (unsigned i = 0; i < n; i++) {
		bytes -= (ssize_t)piece[i].iov_len;
		ck_assert_int_ge(bytes, 0);
		ck_assert_mem_eq(at, piece[i].iov_base, piece[i].iov_len);
		at += piece[i].iov_len;
	}
	ck_assert_int_eq(bytes, 0);
}

START_TEST(ports_take_turns_by_heap)
{
	const uint64_t heap = 5; /* packets */

	start_heaps(3);
	ck_assert_uint_eq(heaps.plain.packets, heap);
	sender.by_heap = true;
	sender.socket->train = 2;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	for (unsigned i = 0; i < PORTS; i++)
		check_next(i, 0);
	for (unsigned h = 0; h < 3; h++)
		for (unsigned i = 0; i < PORTS; i++)
			for (uint64_t k = 0; k < heap; k++)
				check_next(i, 1 + h * heap + k);
	for (unsigned i = 0; i < PORTS; i++)
		check_next(i, 1 + 3 * heap);
	ck_assert_int_eq(recv(order, NULL, 0, MSG_DONTWAIT), -1);
	finish_heaps();
}
END_TEST

/* A train ends with a heap, whose last packet is shorter. */
START_TEST(ports_take_turns_by_train)
{
	start_heaps(2);
	sender.socket->train = 4;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	for (unsigned i = 0; i < PORTS; i++)
		check_next(i, 0);
	for (unsigned h = 0; h < 2; h++) {
		for (unsigned i = 0; i < PORTS; i++)
			for (uint64_t k = 0; k < 4; k++)
				check_next(i, 1 + 5 * h + k);
		for (unsigned i = 0; i < PORTS; i++)
			check_next(i, 1 + 5 * h + 4);
	}
	for (unsigned i = 0; i < PORTS; i++)
		check_next(i, 11);
	ck_assert_int_eq(recv(order, NULL, 0, MSG_DONTWAIT), -1);
	finish_heaps();
}
END_TEST

/* Who is stopped finishes the heap that it has begun, and says stop. */
START_TEST(a_heap_is_finished)
{
	start_heaps(1000);
	stop = 1;
	sender.socket->train = 4;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check_next(0, 0); /* the port that had its turn when it was stopped */
	for (unsigned i = 1; i < PORTS; i++)
		check_next(i, 0);
	for (uint64_t k = 0; k < 4; k++)
		check_next(0, 1 + k);
	check_next(1, 1);
	check_next(2, 1);
	check_next(0, 5);
	check_next(0, 6);
	ck_assert_int_eq(recv(order, NULL, 0, MSG_DONTWAIT), -1);
	finish_heaps();
}
END_TEST

/* What is due by a clock that has gone on already comes late, and is noted. */
START_TEST(late)
{
	const struct gen_chances none = { .seed = 1 };

	start(100, &none, 1);
	sender.rate = 1;
	sender.exact_ns = NS_SECOND / 1000;
	sender.begin_ns = clock_steady() - NS_SECOND / 2;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_uint_eq(sender.lates, 1);
	ck_assert_int_ge(sender.late[0].from, sender.begin_ns);
	ck_assert_int_lt(sender.late[0].from, sender.begin_ns + NS_SECOND / 10);
	ck_assert_int_eq(sender.late[0].most_ns, sender.late_ns);
	ck_assert_int_ge(sender.late_ns, NS_SECOND / 2);
	ck_assert_int_ge(sender.late[0].to, sender.begin_ns + NS_SECOND / 2);
	finish();
}
END_TEST

SUITE("gen_sender", all_of_it, trains_are_cut_where_frames_would_meet,
      every_port_by_its_plan, paced, drifts, paced_together, bursts_are_fair,
      stopped, late, over, ports_take_turns_by_heap, ports_take_turns_by_train,
      a_heap_is_finished)
