/* SPDX-License-Identifier: MIT */
/*
 * Sends to sockets that are looked into: every packet has to arrive as it
 * was, from one to thousands of bytes, gathered and copied, cut by the kernel
 * and not.
 */
#include "contract/send_udp_bench.h"

static void
look_at_sizes(int family, const char *host_text, const char *options)
{
	static const uint32_t sizes[] = { 1,	100,  1024, 1025,
					  1472, 5000, 8192, 33000 };
	unsigned port = listen_on(family, 1);
	uint64_t packets = 0;
	struct bench b;
	char to[64];

	snprintf(to, sizeof to, "udp://%s:%u", host_text, port);
	ck_assert_msg(bench_try(&b, options, to, 1) == 0, "%s", why);
	for (unsigned i = 0; i < 8; i++)
		for (unsigned head = 0; head < 17; head += 8) {
			uint32_t n = sizes[i] > 1472 ? 9 : 70;

			look_at(&b, n, head, sizes[i], 0);
			look_at(&b, n, head, sizes[i], 16);
			look_at(&b, 1, head, sizes[i], 0);
			packets += 2 * n + 1;
		}
	ck_assert_uint_eq(facts_of(&b).packets, packets);
	ck_assert_uint_eq(facts_of(&b).refused, 0);
	ck_assert_uint_eq(facts_of(&b).lost, 0);
	ck_assert_int_eq(b.ops->finish(b.state), 0);
	bench_close(&b);
	deafen(1);
}

START_TEST(all_sizes)
{
	look_at_sizes(AF_INET, "127.0.0.1", "");
	look_at_sizes(AF_INET, "localhost", "train = 3;");
	look_at_sizes(AF_INET, "lo@127.0.0.1", "socket_buffer = 65536;");
}
END_TEST

START_TEST(packet_by_packet)
{
	look_at_sizes(AF_INET, "127.0.0.1", "train = 1;");
}
END_TEST

START_TEST(ipv6)
{
	look_at_sizes(AF_INET6, "[::1]", "");
	look_at_sizes(AF_INET6, "[::1]", "train = 1;");
}
END_TEST

/* As heaps are: the first has another head, and the last is shorter. */
START_TEST(runs_make_trains)
{
	unsigned port = listen_on(AF_INET, 1);
	struct send_run run[3];
	struct send_facts f;
	struct bench b;
	uint64_t taken;
	char to[64];

	snprintf(to, sizeof to, "udp://127.0.0.1:%u", port);
	ck_assert_int_eq(bench_try(&b, "", to, 1), 0);
	run_make(8, 16, 1000, 0);
	run[0] = (struct send_run){ heads, data, 16, 0, 1000, 0, .packets = 1 };
	run[1] = (struct send_run){ NULL, data + 1000, 0,	    0,
				    1016, 1016,	       .packets = 6 };
	run[2] = (struct send_run){ heads, data, 8, 0, 5, 0, .packets = 1 };
	ck_assert_int_eq(b.ops->send(b.state, run, 3, &taken), 0);
	ck_assert_uint_eq(taken, 8);
	f = facts_of(&b);
	ck_assert_uint_eq(f.packets, 8);
	ck_assert_uint_eq(f.bytes, 7 * 1016 + 13);
	ck_assert_uint_eq(f.calls, 1);
	ck_assert_uint_eq(f.burst, f.bytes);
	heard(ear[0], 0, 16, 1000);
	for (unsigned i = 0; i < 6; i++) {
		uint8_t packet[2000];

		ck_assert_int_eq(recv(ear[0], packet, sizeof packet, 0), 1016);
		ck_assert_int_eq(memcmp(packet, data + 1000 + i * 1016, 1016),
				 0);
	}
	heard(ear[0], 0, 8, 5);
	silence(ear[0]);
	bench_close(&b);
	deafen(1);
}
END_TEST

START_TEST(substreams)
{
	unsigned port = listen_on(AF_INET, PORTS);
	struct send_run run[PORTS];
	struct bench b;
	uint64_t taken;
	char to[64];

	for (unsigned way = 0; way < 2; way++) {
		snprintf(to, sizeof to, "udp://127.0.0.1:%u-%u", port,
			 port + PORTS - 1);
		if (way)
			*strrchr(to, '-') = 0;
		ck_assert_int_eq(bench_try(&b, "", to, PORTS), 0);
		for (unsigned i = 0; i < PORTS; i++) {
			run[i] = run_make(3, 8, 100, 0);
			run[i].sub = (uint16_t)(PORTS - 1 - i);
			run[i].packets = i % 3 + 1;
		}
		ck_assert_int_eq(b.ops->send(b.state, run, PORTS, &taken), 0);
		ck_assert_uint_eq(taken, 1 + 2 + 3 + 1);
		for (unsigned i = 0; i < PORTS; i++) {
			for (unsigned j = 0; j < i % 3 + 1; j++)
				heard(ear[PORTS - 1 - i], j, 8, 100);
			silence(ear[PORTS - 1 - i]);
		}
		run[0].sub = PORTS;
		ck_assert_int_eq(b.ops->send(b.state, run, 1, &taken), -EINVAL);
		ck_assert_ptr_nonnull(strstr(facts_of(&b).why, "substream 4"));
		bench_close(&b);
	}
	/* One that was chosen keeps its number. */
	ck_assert_int_eq(bench_try(&b, "", to, 1), 0);
	run[0] = run_make(1, 8, 100, 0);
	run[0].sub = 3;
	send_all(&b, run, 1);
	heard(ear[0], 0, 8, 100);
	bench_close(&b);
	deafen(PORTS);
}
END_TEST

static void
is_refused(const char *to, unsigned subs, const char *because)
{
	struct bench b;

	ck_assert_msg(bench_try(&b, "", to, subs) < 0, "%s", to);
	ck_assert_msg(strstr(why, because), "%s: %s", to, why);
	bench_drop(&b);
}

START_TEST(what_is_refused)
{
	is_refused("tcp://127.0.0.1:5", 1, "udp://host:port");
	is_refused("udp://127.0.0.1:5-7", 4, "4 substreams");
	is_refused("udp://239.1.2.3+2:5", 4, "3 groups");
	is_refused("udp://127.0.0.1:65533", 4, "65532");
	is_refused("udp://nowhere.invalid:5", 1, "'nowhere.invalid'");
	is_refused("udp://127.0.0.256:5", 1, "four numbers");
	is_refused("udp://nosuch@127.0.0.1:5", 1, "no interface 'nosuch'");
}
END_TEST

/* A port that nobody has any more. */
START_TEST(nobody_listens)
{
	unsigned port = listen_on(AF_INET, 1);
	struct send_facts f;
	struct bench b;
	char to[64];

	deafen(1);
	snprintf(to, sizeof to, "udp://127.0.0.1:%u", port);
	for (unsigned way = 0; way < 2; way++) {
		ck_assert_int_eq(bench_try(&b, way ? "" : "train = 1;", to, 1),
				 0);
		for (unsigned i = 0; i < 50; i++) {
			struct send_run run = run_make(20, 8, 100, 0);

			send_all(&b, &run, 1);
		}
		ck_assert_int_eq(b.ops->finish(b.state), 0);
		f = facts_of(&b);
		ck_assert_uint_eq(f.packets, 1000);
		ck_assert_uint_gt(f.refused, 0);
		ck_assert_ptr_nonnull(strstr(f.why, "nobody listens"));
		ck_assert_ptr_nonnull(strstr(f.why, f.peer));
		bench_close(&b);
	}
}
END_TEST

/* Somebody begins to listen: nothing has to be begun anew. */
START_TEST(somebody_comes)
{
	unsigned port = listen_on(AF_INET, 1);
	struct send_run run;
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct bench b;
	char to[64];

	deafen(1);
	snprintf(to, sizeof to, "udp://127.0.0.1:%u", port);
	ck_assert_int_eq(bench_try(&b, "", to, 1), 0);
	run = run_make(20, 8, 100, 0);
	send_all(&b, &run, 1);
	ear[0] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	at.sin_port = htons((uint16_t)port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(ear[0], (void *)&at, sizeof at), 0);
	look_at(&b, 20, 8, 100, 0);
	bench_close(&b);
	deafen(1);
}
END_TEST

START_TEST(too_large)
{
	unsigned port = listen_on(AF_INET, 1);
	struct send_run run[2];
	struct bench b;
	uint64_t taken;
	char to[64];

	snprintf(to, sizeof to, "udp://127.0.0.1:%u", port);
	ck_assert_int_eq(bench_try(&b, "", to, 1), 0);
	run[0] = run_make(3, 8, 65500, 0);
	run[1] = run_make(1, 8, 100, 0);
	run[1].head = heads;
	ck_assert_int_eq(b.ops->send(b.state, run, 2, &taken), 0);
	ck_assert_uint_eq(taken, 4);
	ck_assert_uint_eq(facts_of(&b).lost, 3);
	ck_assert_uint_eq(facts_of(&b).packets, 1);
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(logged, "65508 bytes"));
	heard(ear[0], 0, 8, 100);
	bench_close(&b);
	deafen(1);
}
END_TEST

SUITE("send_udp", all_sizes, packet_by_packet, ipv6, runs_make_trains,
      substreams, what_is_refused, nobody_listens, somebody_comes, too_large)
