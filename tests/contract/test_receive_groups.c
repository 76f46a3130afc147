/* SPDX-License-Identifier: MIT */
/*
 * Multicast groups and interfaces, in a network of our own:
 *
 *   a1 10.1.0.2, 10.1.0.3, fd01::2  =====  a0 10.1.0.1, fd01::1
 *   b1 10.2.0.2                     =====  b0 10.2.0.1
 *
 * What is sent through a1 comes in through a0.  Both ends are in the same
 * namespace, so the kernel is told to accept its own addresses from outside.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>

#include "contract/receive_bench.h"

static const char network[] =
    "set -e; exec >/dev/null 2>&1\n"
    "cd /proc/sys/net\n"
    "for c in all default; do echo 0 >ipv6/conf/$c/accept_dad\n"
    "echo 0 >ipv4/conf/$c/rp_filter; echo 1 >ipv4/conf/$c/accept_local\n"
    "done\n"
    "ip link set lo up\n"
    "ip link add a0 type veth peer name a1\n"
    "ip link add b0 type veth peer name b1\n"
    "ip address add 10.1.0.1/24 dev a0; ip address add 10.1.0.2/24 dev a1\n"
    "ip address add 10.1.0.3/24 dev a1; ip address add 10.2.0.1/24 dev b0\n"
    "ip address add 10.2.0.2/24 dev b1\n"
    "for d in a0 a1 b0 b1; do ip link set $d up; done\n"
    "ip address add fd01::1/64 dev a0 nodad\n"
    "ip address add fd01::2/64 dev a1 nodad\n";

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
	wish = (struct receive_args){ 0 };
	if ((unshare(CLONE_NEWNET) == 0 || become_root()) &&
	    system(network) == 0)
		return true;
	fprintf(stderr, "SKIP: no network namespace with veth pairs here\n");
	return false;
}

static void
route(const char *text)
{
	char line[128];

	snprintf(line, sizeof line, "ip route add %s", text);
	ck_assert_int_eq(system(line), 0);
}

/* ---- sending --------------------------------------------------------- */

static int
speaker(const char *from, const char *group, const char *device)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct ip_mreqn way = { .imr_ifindex = (int)if_nametoindex(device) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), off = 0;

	inet_pton(AF_INET, from, &at.sin_addr);
	ck_assert_int_eq(bind(fd, (void *)&at, sizeof at), 0);
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof off);
	ck_assert_int_eq(
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &way, sizeof way), 0);
	inet_pton(AF_INET, group, &at.sin_addr);
	at.sin_port = htons(7148);
	ck_assert_int_eq(connect(fd, (void *)&at, sizeof at), 0);
	return fd;
}

static int
speaker6(const char *from, const char *group, const char *device)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	int way = (int)if_nametoindex(device), off = 0;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET6, from, &at.sin6_addr);
	ck_assert_int_eq(bind(fd, (void *)&at, sizeof at), 0);
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &off, sizeof off);
	ck_assert_int_eq(
	    setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &way, sizeof way),
	    0);
	inet_pton(AF_INET6, group, &at.sin6_addr);
	at.sin6_port = htons(7148);
	/* The address of a new interface is on trial for a moment. */
	for (int i = 0; connect(fd, (void *)&at, sizeof at) < 0; i++) {
		ck_assert_msg(i < 500, "%s", strerror(errno));
		usleep(10000);
	}
	return fd;
}

/* Says something that the sources under test must not hear. */
static void
say_elsewhere(int fd)
{
	char data[108] = "not for you";

	ck_assert_int_eq(send(fd, data, sizeof data, 0), sizeof data);
	close(fd);
}

/* Says one datagram that `source` has to hear, and that alone. */
static void
say_to(struct bench *b, unsigned source, int fd)
{
	struct pollfd p = { b->ops->fd(b->state, source), POLLIN, 0 };

	if (b->from >= 0)
		close(b->from);
	b->from = fd;
	send_one(b, 108);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(receive_told(b, source), 1);
	ck_assert_int_eq(receive_told(b, source), 0);
}

static void
groups_open(struct bench *b, const char *name, const char *options)
{
	struct format_shape shape = { .prefix = 8, .payload = 100 };

	ck_assert_msg(bench_try(b, name, options, NULL, &shape) == 0, "%s",
		      b->why);
}

/* ---- tests ----------------------------------------------------------- */

#define A "239.1.2.3"

START_TEST(one_group_through_two_interfaces)
{
	static struct bench b;
	struct receive_counts c;

	if (!network_make())
		return;
	groups_open(&b, "fanout",
		    "listen = [ \"a0@239.1.2.3:7148\", "
		    "\"b0@239.1.2.3:7148\" ];");
	ck_assert_uint_eq(b.ops->sources(b.state), 2);
	for (unsigned i = 0; i < 10; i++) {
		say_to(&b, 0, speaker("10.1.0.2", A, "a1"));
		say_to(&b, 1, speaker("10.2.0.2", A, "b1"));
		ck_assert_uint_eq(b.ops->sub(b.state, 1), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		b.ops->counts(b.state, i, &c);
		ck_assert_uint_eq(c.datagrams, 10);
		ck_assert_str_eq(c.device, i ? "b0" : "a0");
		ck_assert(!strncmp(c.sender, i ? "10.2.0.2:" : "10.1.0.2:", 9));
	}
	bench_close(&b);
}
END_TEST

/* To everybody behind an interface: what is for one of the addresses of this
 * machine would not leave it. */
static int
speaker_to_all(const char *from, const char *all, const char *device)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(7148) };
	int fd = speaker(from, A, device), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, 3);
	inet_pton(AF_INET, all, &to.sin_addr);
	ck_assert_int_eq(connect(fd, (void *)&to, sizeof to), 0);
	return fd;
}

START_TEST(one_port_through_two_interfaces)
{
	static struct bench b;

	if (!network_make())
		return;
	groups_open(&b, "fanout",
		    "listen = [ \"a0@0.0.0.0:7148\", \"b0@0.0.0.0:7148\" ];");
	for (unsigned i = 0; i < 10; i++) {
		say_to(&b, 0, speaker_to_all("10.1.0.2", "10.1.0.255", "a1"));
		say_to(&b, 1, speaker_to_all("10.2.0.2", "10.2.0.255", "b1"));
	}
	bench_close(&b);
}
END_TEST

/* The address that the kernel gave `device`: it is told to the far end. */
static int
speaker_link(const char *device, const char *far)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
	struct ifaddrs *list;
	int fd = speaker6("::", "ff02::1", far);

	ck_assert_int_eq(getifaddrs(&list), 0);
	for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
		const struct sockaddr_in6 *at = (const void *)i->ifa_addr;

		if (at && at->sin6_family == AF_INET6 &&
		    IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr) &&
		    !strcmp(i->ifa_name, device))
			to = *at;
	}
	freeifaddrs(list);
	to.sin6_port = htons(7148);
	to.sin6_scope_id = if_nametoindex(far);
	ck_assert_int_eq(connect(fd, (void *)&to, sizeof to), 0);
	return fd;
}

START_TEST(one_ipv6_port_through_two_interfaces)
{
	static struct bench b;

	if (!network_make())
		return;
	groups_open(&b, "fanout",
		    "listen = [ \"a0@[::]:7148\", \"[::%b0]:7148\" ];");
	for (unsigned i = 0; i < 10; i++) {
		say_to(&b, 0, speaker_link("a0", "a1"));
		say_to(&b, 1, speaker_link("b0", "b1"));
	}
	bench_close(&b);
}
END_TEST

/* Somebody else has joined a group, and we listen to any address. */
START_TEST(plain_ports_hear_no_groups)
{
	struct ip_mreqn also = { .imr_ifindex = 0 };
	static struct bench b;
	int other;

	if (!network_make())
		return;
	groups_open(&b, "udp", "listen = [ \"0.0.0.0:7148\" ];");
	other = socket(AF_INET, SOCK_DGRAM, 0);
	also.imr_ifindex = (int)if_nametoindex("a0");
	inet_pton(AF_INET, A, &also.imr_multiaddr);
	ck_assert_int_eq(setsockopt(other, IPPROTO_IP, IP_ADD_MEMBERSHIP, &also,
				    sizeof also),
			 0);
	for (unsigned i = 0; i < 10; i++) {
		say_elsewhere(speaker("10.1.0.2", A, "a1"));
		connect_to(&b, 0);
		say_to(&b, 0, dup(b.from));
	}
	close(other);
	bench_close(&b);
}
END_TEST

START_TEST(groups_of_others_stay_away)
{
	struct ip_mreqn also = { .imr_ifindex = 0 };
	static struct bench b;
	int other;

	if (!network_make())
		return;
	route("239.0.0.0/8 dev a0");
	groups_open(&b, "udp", "listen = [ \"239.1.2.3:7148\" ];");
	other = socket(AF_INET, SOCK_DGRAM, 0);
	also.imr_ifindex = (int)if_nametoindex("b0");
	inet_pton(AF_INET, A, &also.imr_multiaddr);
	ck_assert_int_eq(setsockopt(other, IPPROTO_IP, IP_ADD_MEMBERSHIP, &also,
				    sizeof also),
			 0);
	for (unsigned i = 0; i < 10; i++) {
		say_elsewhere(speaker("10.2.0.2", A, "b1"));
		say_to(&b, 0, speaker("10.1.0.2", A, "a1"));
	}
	close(other);
	bench_close(&b);
}
END_TEST

START_TEST(groups_of_one_sender)
{
	static struct bench b, all;

	if (!network_make())
		return;
	groups_open(&all, "udp", "listen = [ \"a0@232.1.1.1:7148\" ];");
	groups_open(&b, "udp", "listen = [ \"a0@10.1.0.2>232.1.1.1:7148\" ];");
	for (unsigned i = 0; i < 10; i++) {
		say_to(&all, 0, speaker("10.1.0.3", "232.1.1.1", "a1"));
		say_to(&b, 0, speaker("10.1.0.2", "232.1.1.1", "a1"));
		/* Groups are shared: it has come there, too. */
		ck_assert_int_eq(receive(&all, 0), 1);
	}
	bench_close(&b);
	bench_close(&all);
}
END_TEST

START_TEST(a_range_of_groups)
{
	static struct bench b;
	char group[32];

	if (!network_make())
		return;
	groups_open(&b, "udp", "listen = [ \"a0@239.2.1.250+7:7148\" ];");
	ck_assert_uint_eq(b.ops->sources(b.state), 8);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_uint_eq(b.ops->sub(b.state, i), i);
		snprintf(group, sizeof group, "239.2.%u.%u",
			 1 + (i + 250) / 256, (i + 250) % 256);
		say_elsewhere(speaker("10.1.0.2", "239.2.2.2", "a1"));
		say_to(&b, i, speaker("10.1.0.2", group, "a1"));
	}
	bench_close(&b);
}
END_TEST

START_TEST(ipv6_groups)
{
	static struct bench b, one;

	if (!network_make())
		return;
	groups_open(&b, "udp",
		    "listen = [ \"a0@[ff15::1234]:7148\", "
		    "\"[ff15::1234%b0]:7148\" ];");
	groups_open(&one, "udp",
		    "listen = [ \"[fd01::2]>[ff35::1234%a0]:7148\" ];");
	for (unsigned i = 0; i < 10; i++) {
		say_to(&b, 0, speaker6("fd01::2", "ff15::1234", "a1"));
		say_to(&b, 1, speaker6("::", "ff15::1234", "b1"));
		say_elsewhere(speaker6("::", "ff35::1234", "b1"));
		say_to(&one, 0, speaker6("fd01::2", "ff35::1234", "a1"));
	}
	bench_close(&b);
	bench_close(&one);
}
END_TEST

START_TEST(a_group_without_a_way)
{
	struct format_shape shape = { .prefix = 8, .payload = 100 };
	static struct bench b;

	if (!network_make())
		return;
	ck_assert_int_eq(bench_try(&b, "udp",
				   "listen = [ \"239.1.2.3:7148\" ];", NULL,
				   &shape),
			 -ENODEV);
	ck_assert_ptr_nonnull(strstr(b.why, "eth2@239.1.2.3:7148"));
	bench_free(&b);
}
END_TEST

START_TEST(an_interface_that_is_there)
{
	static struct bench b;
	struct receive_counts c;
	char device[16] = "";
	socklen_t length = sizeof device;

	wish = (struct receive_args){ 0 };
	udp_open(&b, "listen = [ \"lo@127.0.0.1:0\" ];", 8, 100);
	getsockopt(b.ops->fd(b.state, 0), SOL_SOCKET, SO_BINDTODEVICE, device,
		   &length);
	ck_assert_str_eq(device, "lo");
	send_one(&b, 108);
	take_all(&b);
	b.ops->counts(b.state, 0, &c);
	ck_assert_str_eq(c.device, "lo");
	ck_assert_str_eq(c.address, "lo@127.0.0.1:0");
	bench_close(&b);
	udp_open(&b, "listen = [ \"[::1%lo]:0\" ];", 8, 100);
	send_one(&b, 108);
	take_all(&b);
	b.ops->counts(b.state, 0, &c);
	ck_assert_str_eq(c.device, "lo");
	bench_close(&b);
}
END_TEST

START_TEST(an_interface_that_is_not_there)
{
	struct format_shape shape = { .prefix = 8, .payload = 100 };
	static struct bench b;

	wish = (struct receive_args){ 0 };
	ck_assert_int_eq(bench_try(&b, "fanout",
				   "listen = [ \"nosuch0@0.0.0.0:0\" ];", NULL,
				   &shape),
			 -ENODEV);
	ck_assert_ptr_nonnull(strstr(b.why, "nosuch0@0.0.0.0:0"));
	ck_assert_ptr_nonnull(strstr(b.why, "ip -brief link"));
	bench_free(&b);
}
END_TEST

SUITE("receive groups", one_group_through_two_interfaces,
      one_port_through_two_interfaces, one_ipv6_port_through_two_interfaces,
      plain_ports_hear_no_groups, groups_of_others_stay_away,
      groups_of_one_sender, a_range_of_groups, ipv6_groups,
      a_group_without_a_way, an_interface_that_is_there,
      an_interface_that_is_not_there)
