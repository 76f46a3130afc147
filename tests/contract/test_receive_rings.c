/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of fanout's packet rings: on the loopback of
 * a network namespace of our own, where also a user may open them.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "contract/receive_bench.h"

enum { PORT = 5001 };
#define LO4(more) "listen = [ \"lo@127.0.0.1:5001\" ];" more
#define LO6(more) "listen = [ \"lo@[::1]:5001\" ];" more

static void
interface_set(unsigned long what, struct ifreq *request)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(request->ifr_name, "lo");
	ck_assert_int_eq(ioctl(fd, what, request), 0);
	close(fd);
}

/* False where we may not. */
static bool
net_make(int mtu)
{
	struct ifreq up = { .ifr_flags = IFF_UP | IFF_RUNNING };
	struct ifreq size = { .ifr_mtu = mtu };

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET)) {
		fprintf(stderr, "SKIP: no network namespace for us here\n");
		return false;
	}
	interface_set(SIOCSIFMTU, &size);
	interface_set(SIOCSIFFLAGS, &up);
	return true;
}

static void
rings_open(struct bench *b, const char *options, uint32_t prefix,
	   uint32_t payload)
{
	struct format_shape shape = { .prefix = prefix, .payload = payload };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool is_v6 = strstr(options, "::1");

	ck_assert_msg(bench_try(b, "fanout", options, NULL, &shape) == 0, "%s",
		      b->why);
	b->from = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_eq(is_v6 ? connect(b->from, (void *)&v6, sizeof v6)
			       : connect(b->from, (void *)&v4, sizeof v4),
			 0);
}

static void
traffic(struct bench *b)
{
	uint32_t size = b->prefix + b->payload;
	unsigned most = 65000 / size < 64 ? 65000 / size : 64;

	send_one(b, size);
	take_all(b);
	for (unsigned n = 1; n < most; n = n * 2 + 1) {
		send_train(b, size, n, 0);
		if (size > 1)
			send_train(b, size, n, size / 2);
		send_one(b, 3);
		send_one(b, size);
		take_all(b);
	}
	send_one(b, 0);
	send_one(b, size + 1);
	send_one(b, size - 1);
	send_one(b, 65000);
	for (unsigned n = 0; n < 300; n++)
		send_one(b, size);
	take_all(b);
}

static const uint32_t sizes[][2] = {
	/* prefix, payload */
	{ 0, 8 },    { 8, 8 },	  { 8, 100 },	{ 0, 1472 },
	{ 8, 5008 }, { 8, 8032 }, { 0, 30000 }, { 8, 32760 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void
all_sizes(const char *options)
{
	static struct bench b;

	for (unsigned i = 0; i < SIZES; i++) {
		rings_open(&b, options, sizes[i][0], sizes[i][1]);
		traffic(&b);
		bench_close(&b);
	}
}

START_TEST(every_datagram_is_told)
{
	if (net_make(65536))
		all_sizes(LO4("rings = 1; ring = \"128M\";"));
}
END_TEST

START_TEST(every_datagram_is_told_over_ipv6)
{
	if (net_make(65536))
		all_sizes(LO6("rings = 1; ring = \"128M\";"));
}
END_TEST

/* Fragments are put together before they get to us. */
START_TEST(fragments_are_whole)
{
	static struct bench b;

	if (!net_make(1500))
		return;
	rings_open(&b, LO4("rings = 1; ring = \"16M\";"), 8, 8032);
	for (unsigned i = 0; i < 50; i++)
		send_one(&b, 8040);
	take_all(&b);
	ck_assert_uint_eq(b.lines, 0);
	bench_close(&b);
}
END_TEST

START_TEST(strangers_are_foreign)
{
	static struct bench b;

	if (!net_make(65536))
		return;
	wish.senders = true;
	rings_open(&b, LO4("rings = 1; allow = [ \"10.0.0.0/8\" ];"), 8, 100);
	send_one(&b, 108);
	b.sent[0].foreign = true;
	take_all(&b);
	bench_close(&b);
	wish.senders = false;
}
END_TEST

/* ---- several --------------------------------------------------------- */

enum { SHARED = 1000 };

/* Which of them came, once each; counts them. */
static unsigned
share_take(struct bench *b, struct receive_state *state, bool *came)
{
	unsigned told = 0;

	pairs_make(b, 1);
	while (b->ops->receive(state, 0, &b->batch) == 0 && b->batch.packets) {
		for (unsigned i = 0; i < b->batch.packets; i++) {
			const struct receive_packet *k = &b->batch.packet[i];
			uint32_t n;

			memcpy(&n, k->payload, sizeof n);
			ck_assert_uint_eq(k->bytes, 1000);
			ck_assert_uint_lt(n, SHARED);
			ck_assert_int_gt(k->arrived, 0);
			ck_assert(!came[n]);
			came[n] = true;
			told++;
		}
	}
	return told;
}

START_TEST(threads_share_a_flow)
{
	static struct bench b;
	static bool came[SHARED];
	struct format_shape shape = { .payload = 1000 };
	struct receive_state *second;
	struct receive_args args;
	unsigned n[2] = { 0 };
	uint8_t data[1000] = { 0 };

	if (!net_make(65536))
		return;
	wish.shares = 2;
	rings_open(&b, LO4("rings = 2; ring = \"8M\";"), 0, shape.payload);
	args = (struct receive_args){ .host = &b.host,
				      .options = b.options,
				      .payload = 1000,
				      .longest = 1000,
				      .share = 1,
				      .shares = 2,
				      .why = b.why,
				      .why_bytes = sizeof b.why };
	ck_assert_msg(b.ops->open(&second, &args) == 0, "%s", b.why);
	for (uint32_t i = 0; i < SHARED; i++) {
		memcpy(data, &i, sizeof i);
		ck_assert_int_eq(send(b.from, data, sizeof data, 0),
				 sizeof data);
	}
	for (int i = 0; i < 100 && n[0] + n[1] < SHARED; i++) {
		n[0] += share_take(&b, b.state, came);
		n[1] += share_take(&b, second, came);
		usleep(20000);
	}
	ck_assert_uint_eq(n[0] + n[1], SHARED);
	ck_assert_uint_gt(n[0], SHARED / 4);
	ck_assert_uint_gt(n[1], SHARED / 4);
	b.ops->close(second);
	bench_close(&b);
	wish.shares = 0;
}
END_TEST

/* What the ring had no room for is counted, and nothing else is missing. */
START_TEST(a_full_ring_is_counted)
{
	static struct bench b;
	uint8_t data[1000] = { 0 };
	struct receive_counts c = { 0 };
	unsigned told = 0, sent = 0;

	if (!net_make(65536))
		return;
	rings_open(&b, LO4("rings = 1; ring = \"1M\";"), 0, 1000);
	for (; sent < 3 * SHARED; sent++)
		ck_assert_int_eq(send(b.from, data, sizeof data, 0),
				 sizeof data);
	for (int i = 0; i < 100 && told + c.overruns < sent; i++) {
		pairs_make(&b, 1);
		ck_assert_int_eq(b.ops->receive(b.state, 0, &b.batch), 0);
		told += b.batch.packets;
		b.ops->counts(b.state, 0, &c);
		if (!b.batch.packets)
			usleep(20000);
	}
	ck_assert_uint_gt(c.overruns, 0);
	ck_assert_uint_eq(told + c.overruns, sent);
	bench_close(&b);
}
END_TEST

/* ---- what does not belong -------------------------------------------- */

static void
raw_send(uint16_t port, uint16_t sum)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint8_t packet[20 + 8 + 8] = { 0x45, 0, 0, 36, 0, 0, 0, 0, 64, 17 };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	write_be32(packet + 12, INADDR_LOOPBACK);
	write_be32(packet + 16, INADDR_LOOPBACK);
	write_be16(packet + 20, 4000);
	write_be16(packet + 22, port);
	write_be16(packet + 24, 16);
	write_be16(packet + 26, sum);
	ck_assert_int_eq(
	    sendto(fd, packet, sizeof packet, 0, (void *)&to, sizeof to),
	    sizeof packet);
	close(fd);
}

START_TEST(other_ports_and_wrong_sums_are_left_out)
{
	static struct bench b;

	if (!net_make(65536))
		return;
	rings_open(&b, LO4("rings = 1;"), 0, 8);
	raw_send(PORT + 1, 0);
	raw_send(PORT, 0x1234);
	send_one(&b, 8);
	take_all(&b);
	ck_assert_ptr_nonnull(strstr(b.log, "checksums"));
	ck_assert_uint_eq(b.lines, 1);
	/* Without a checksum it is as good as any. */
	raw_send(PORT, 0);
	for (int i = 0; i < 100 && !receive(&b, 0); i++)
		usleep(20000);
	ck_assert_uint_eq(b.batch.packets, 1);
	ck_assert_uint_eq(b.batch.packet[0].bytes, 8);
	bench_close(&b);
}
END_TEST

static void
refused(const char *options, int err, const char *text)
{
	static struct bench b;
	struct format_shape shape = { .payload = 8 };
	struct receive_plan plan;
	int is;

	bench_make(&b, "fanout", options, 0, 8);
	is = b.ops->plan(b.options, &plan, b.why, sizeof b.why);
	bench_free(&b);
	if (!is) {
		is = bench_try(&b, "fanout", options, NULL, &shape);
		bench_free(&b);
	}
	ck_assert_int_eq(is, err);
	ck_assert_msg(strstr(b.why, text), "it says: %s", b.why);
}

START_TEST(what_cannot_be_is_said)
{
	static struct bench b;

	if (!net_make(65536))
		return;
	refused("rings = 2; listen = [ \"0.0.0.0:5001\" ];", -EINVAL,
		"interface");
	refused("rings = 2; listen = [ \"lo@0.0.0.0:0\" ];", -EINVAL, "port");
	refused("rings = 2; listen = [ \"lo@0.0.0.0:5001-5002\" ];", -EINVAL,
		"one port");
	refused(LO4("rings = 2; keepalive = \"1s\";"), -EINVAL, "keepalive");
	refused("rings = 2; listen = [ \"none@0.0.0.0:5001\" ];", -ENODEV,
		"ip -brief link");
	rings_open(&b, LO4("rings = 1;"), 0, 8);
	refused(LO4("rings = 1;"), -EADDRINUSE, "another program");
	bench_close(&b);
}
END_TEST

SUITE("receive: fanout, rings", every_datagram_is_told,
      every_datagram_is_told_over_ipv6, fragments_are_whole,
      strangers_are_foreign, threads_share_a_flow, a_full_ring_is_counted,
      other_ports_and_wrong_sums_are_left_out, what_cannot_be_is_said)
