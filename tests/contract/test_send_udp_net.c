/* SPDX-License-Identifier: MIT */
/*
 * Over a veth pair in a network of its own: groups, a link that is slow, has a
 * small MTU, or goes down, and a host that says that there is no way.
 *
 *   a0 10.1.0.1, fd01::1 ------- a1   who listens to groups there
 */
#include <fcntl.h>
#include <sched.h>

#include "contract/send_udp_bench.h"

static const char network[] =
    "set -e; exec >/dev/null 2>&1\n"
    "cd /proc/sys/net\n"
    "for c in all default; do echo 0 >ipv6/conf/$c/accept_dad\n"
    "echo 0 >ipv4/conf/$c/rp_filter; echo 1 >ipv4/conf/$c/accept_local\n"
    "done\n"
    "ip link set lo up\n"
    "ip link add a0 type veth peer name a1\n"
    "ip address add 10.1.0.1/24 dev a0\n"
    "ip address add fd01::1/64 dev a0 nodad\n"
    "for d in a0 a1; do ip link set $d up; done\n"
    "ip neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev a0\n"
    /* the kernel drops what is sent before it has seen the carrier */
    "n=0; until ip -br link show a0 | grep -q ' UP ' || [ $n -ge 200 ]\n"
    "do n=$((n + 1)); sleep 0.05; done\n";

/* Root of a namespace of users is root of its networks. */
static bool
become_root(void)
{
	char map[64];
	int fd, n = snprintf(map, sizeof map, "0 %d 1", (int)getuid());
	bool done;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, map, (size_t)n) == n;
	close(fd);
	return done;
}

/* Each test has its own: it runs in a process of its own. */
static bool
network_make(void)
{
	if ((unshare(CLONE_NEWNET) == 0 || become_root()) &&
	    system(network) == 0)
		return true;
	fprintf(stderr, "SKIP: no network namespace with veth pairs here\n");
	return false;
}

static void
command(const char *line)
{
	ck_assert_msg(system(line) == 0, "%s", line);
}

/* ear[0] listens to a group on a1. */
static void
join(const char *group)
{
	struct ip_mreqn by = { .imr_ifindex = (int)if_nametoindex("a1") };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(7148) };
	const int room = ROOM;

	inet_pton(AF_INET, group, &at.sin_addr);
	by.imr_multiaddr = at.sin_addr;
	ear[0] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (setsockopt(ear[0], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) <
	    0)
		setsockopt(ear[0], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	ck_assert_int_eq(bind(ear[0], (void *)&at, sizeof at), 0);
	ck_assert_int_eq(
	    setsockopt(ear[0], IPPROTO_IP, IP_ADD_MEMBERSHIP, &by, sizeof by),
	    0);
}

static void
join6(const char *group)
{
	struct ipv6_mreq by = { .ipv6mr_interface = if_nametoindex("a1") };
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_port = htons(7148) };

	inet_pton(AF_INET6, group, &at.sin6_addr);
	by.ipv6mr_multiaddr = at.sin6_addr;
	ear[0] = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(ear[0], (void *)&at, sizeof at), 0);
	ck_assert_int_eq(
	    setsockopt(ear[0], IPPROTO_IPV6, IPV6_JOIN_GROUP, &by, sizeof by),
	    0);
}

static void
bench_open(struct bench *b, const char *options, const char *to)
{
	ck_assert_msg(bench_try(b, options, to, 1) == 0, "%s", why);
}

START_TEST(groups)
{
	struct bench b;

	if (!network_make())
		return;
	join("239.1.2.3");
	bench_open(&b, "", "udp://a0@239.1.2.3:7148");
	look_at(&b, 50, 8, 1000, 0);
	bench_close(&b);
	bench_open(&b, "interface = \"a0\"; ttl = 3;", "udp://239.1.2.3:7148");
	look_at(&b, 50, 8, 1000, 0);
	bench_close(&b);
	deafen(1);
	join6("ff05::1234");
	bench_open(&b, "", "udp://a0@[ff05::1234]:7148");
	look_at(&b, 50, 8, 1000, 0);
	bench_close(&b);
	deafen(1);
}
END_TEST

/* As substreams of a stream that is received so. */
START_TEST(groups_in_a_row)
{
	struct send_run run[3];
	struct bench b;
	uint64_t taken;

	if (!network_make())
		return;
	join("239.1.2.5");
	ck_assert_int_eq(bench_try(&b, "", "udp://a0@239.1.2.3+3:7148", 3), 0);
	for (unsigned i = 0; i < 3; i++) {
		run[i] = run_make(2, 8, 100, 0);
		run[i].sub = (uint16_t)i;
	}
	ck_assert_int_eq(b.ops->send(b.state, run, 3, &taken), 0);
	ck_assert_uint_eq(taken, 6);
	heard(ear[0], 0, 8, 100);
	heard(ear[0], 1, 8, 100);
	silence(ear[0]);
	bench_close(&b);
	deafen(1);
}
END_TEST

/* A queue takes less than is there: it is waited for, and nothing is lost. */
static void
look_at_slow(const char *queue, const char *options)
{
	enum { PACKETS = 400, BYTES = 1400 };
	struct send_run run;
	uint64_t taken = 0;
	struct bench b;

	command(queue);
	join("239.1.2.3");
	bench_open(&b, options, "udp://a0@239.1.2.3:7148");
	run = run_make(PACKETS, 8, BYTES, 0);
	ck_assert_int_eq(b.ops->send(b.state, &run, 1, &taken), 0);
	ck_assert_uint_lt(taken, PACKETS);
	run.head += taken * run.head_stride;
	run.data += taken * run.data_stride;
	run.packets -= (uint32_t)taken;
	send_all(&b, &run, 1);
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct pollfd p = { ear[0], POLLIN, 0 };

		ck_assert_int_eq(poll(&p, 1, 20000), 1);
		heard(ear[0], i, 8, BYTES);
	}
	ck_assert_uint_eq(facts_of(&b).lost, 0);
	ck_assert_uint_eq(facts_of(&b).packets, PACKETS);
	bench_close(&b);
	deafen(1);
}

START_TEST(a_slow_link)
{
	if (!network_make())
		return;
	look_at_slow("tc qdisc replace dev a0 root tbf rate 20mbit burst 16k "
		     "limit 2m",
		     "socket_buffer = 65536;");
}
END_TEST

START_TEST(a_short_queue)
{
	if (!network_make())
		return;
	look_at_slow("tc qdisc replace dev a0 root tbf rate 20mbit burst 16k "
		     "limit 32k",
		     "train = 1;");
}
END_TEST

/* Too large for the link: it is said once, and they travel as fragments. */
START_TEST(a_small_mtu)
{
	struct bench b;

	if (!network_make())
		return;
	join("239.1.2.3");
	bench_open(&b, "", "udp://a0@239.1.2.3:7148");
	look_at(&b, 20, 8, 1464, 0);
	ck_assert_uint_eq(lines, 0);
	look_at(&b, 20, 8, 5000, 0);
	look_at(&b, 20, 8, 5000, 0);
	look_at(&b, 20, 8, 1000, 0);
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(logged, "5008 bytes"));
	ck_assert_ptr_nonnull(strstr(logged, "1500 (MTU)"));
	ck_assert_uint_eq(facts_of(&b).lost, 0);
	bench_close(&b);
	deafen(1);
}
END_TEST

/* Nothing is taken, and nothing lost, while there is no way. */
START_TEST(a_link_goes_down)
{
	struct send_run run;
	struct bench b;
	uint64_t taken;

	if (!network_make())
		return;
	bench_open(&b, "", "udp://10.1.0.9:7148");
	run = run_make(20, 8, 1000, 0);
	send_all(&b, &run, 1);
	command("ip link set a0 down");
	run = run_make(20, 8, 1000, 0);
	for (unsigned i = 0; i < 3; i++) {
		int64_t until = INT64_MAX;
		struct pollfd p;

		ck_assert_int_eq(b.ops->send(b.state, &run, 1, &taken),
				 -EAGAIN);
		ck_assert_uint_eq(taken, 0);
		ck_assert_uint_eq(b.ops->poll(b.state, &p, 1, &until), 0);
		ck_assert_int_lt(until, INT64_MAX);
	}
	ck_assert_uint_eq(lines, 1);
	ck_assert_ptr_nonnull(strstr(facts_of(&b).why, "tried again"));
	command("ip link set a0 up; ip neigh replace 10.1.0.9 lladdr "
		"02:00:00:00:00:09 dev a0");
	send_all(&b, &run, 1);
	ck_assert_uint_eq(facts_of(&b).packets, 40);
	bench_close(&b);
}
END_TEST

START_TEST(no_way_at_all)
{
	struct bench b;

	if (!network_make())
		return;
	ck_assert_int_lt(bench_try(&b, "", "udp://192.0.2.1:5", 1), 0);
	ck_assert_ptr_nonnull(strstr(why, "ip route"));
	bench_drop(&b);
}
END_TEST

SUITE("send_udp_net", groups, groups_in_a_row, a_slow_link, a_short_queue,
      a_small_mtu, a_link_goes_down, no_way_at_all)
