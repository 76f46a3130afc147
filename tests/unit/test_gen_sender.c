/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/module.h"
#include "cli/gen_sender.h"
#include "unit/suite.h"

enum { BYTES = 72, MOST = 400 };

static volatile sig_atomic_t stop;
static struct format_shape shape;
static struct gen_plan plan;
static struct gen_frames frames;
static struct gen_socket sock;
static struct gen_sender sender;
static int receiver;

/* Raw packets with a counter, to a socket of our own. */
static void
start(uint64_t packets, const struct gen_chances *chances)
{
	static const uint32_t threads[] = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;
	struct fault fault;
	char url[64];

	shape = (struct format_shape){ .prefix = 8,
				       .payload = BYTES - 8,
				       .sequence = SEQUENCE_LE64,
				       .fps = 10,
				       .threads_n = 1,
				       .threads = threads };
	frames = (struct gen_frames){ .shape = &shape };
	ck_assert_int_eq(module_format("raw", &frames.format, &fault), 0);
	ck_assert_int_eq(frames.format->shape(&shape, url, sizeof url), 0);
	ck_assert_int_eq(gen_frames_init(&frames), 0);
	gen_plan_init(&plan, chances, packets);
	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(bind(receiver, (struct sockaddr *)&a, bytes), 0);
	getsockname(receiver, (struct sockaddr *)&a, &bytes);
	snprintf(url, sizeof url, "udp://127.0.0.1:%u", ntohs(a.sin_port));
	ck_assert_int_eq(gen_socket_open(&sock, url, BYTES, &fault), 0);
	sender = (struct gen_sender){
		.plan = &plan, .frames = &frames, .socket = &sock, .stop = &stop
	};
	stop = 0;
}

static void
finish(void)
{
	gen_socket_close(&sock);
	gen_frames_finish(&frames);
	close(receiver);
}

/* What came is what the same plan gives again. */
static void
check(uint64_t packets, const struct gen_chances *chances)
{
	struct gen_plan again;
	uint64_t packet;
	uint8_t got[256];

	gen_plan_init(&again, chances, packets);
	while (gen_plan_next(&again, &packet)) {
		ck_assert_int_eq(recv(receiver, got, sizeof got, MSG_DONTWAIT),
				 BYTES);
		ck_assert_uint_eq(read_le64(got), packet);
		ck_assert_mem_eq(got, gen_frames_make(&frames, packet), BYTES);
	}
	ck_assert_int_eq(recv(receiver, got, sizeof got, MSG_DONTWAIT), -1);
	ck_assert_uint_eq(sender.bytes, plan.sent * BYTES);
	ck_assert_uint_eq(plan.next, packets);
	ck_assert_uint_eq(plan.sent, again.sent);
}

START_TEST(all_of_it)
{
	const struct gen_chances none = { 0 };

	start(200, &none);
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

	start(MOST, &some);
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(MOST, &some);
	finish();
}
END_TEST

START_TEST(paced)
{
	const struct gen_chances some = { .loss = 0.1, .reorder = 0.1 };

	start(200, &some);
	sender.rate = 8 * BYTES * 2000; /* 2000 packets/s: 100 ms */
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	check(200, &some);
	ck_assert_int_gt(sender.elapsed_ns, 90 * 1000000);
	finish();
}
END_TEST

START_TEST(stopped)
{
	const struct gen_chances none = { 0 };

	start(UINT64_MAX, &none);
	sender.rate = 8; /* a packet in BYTES seconds */
	stop = 1;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_uint_eq(plan.sent, 2);
	finish();
}
END_TEST

START_TEST(over)
{
	const struct gen_chances none = { 0 };

	start(UINT64_MAX, &none);
	sender.most_ns = 1000000;
	ck_assert_int_eq(gen_sender_run(&sender), 0);
	ck_assert_int_ge(sender.elapsed_ns, 1000000);
	ck_assert_uint_eq(plan.sent, plan.next);
	finish();
}
END_TEST

SUITE("gen_sender", all_of_it, trains_are_cut_where_frames_would_meet, paced,
      stopped, over)
