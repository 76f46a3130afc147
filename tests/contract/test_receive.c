/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of udp over real sockets: datagrams of one
 * length, in both modes and in between.
 */
#include <arpa/inet.h>
#include <sys/syscall.h>

#include "contract/receive_bench.h"

/* Singles, trains, and everything that is not what it should be. */
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
	if (size < 65000)
		send_one(b, size + 1);
	send_one(b, size - 1);
	send_one(b, 65000);
	send_one(b, size);
	take_all(b);
	/* Trains of another size, the last of them perhaps as expected. */
	for (unsigned n = 2; n < most / 2 && n < 40; n = 2 * n + 1) {
		send_train(b, size + 7, n, 0);
		send_train(b, size + 7, n, size);
		send_train(b, size - 1, n, 0);
		send_train(b, (size + 1) / 2, n, 0);
		send_one(b, size);
		take_all(b);
	}
}

static const uint32_t sizes[][2] = {
	/* prefix, payload */
	{ 0, 8 },    { 8, 8 },	   { 8, 100 },	 { 0, 1472 },	{ 8, 5008 },
	{ 8, 8032 }, { 0, 30000 }, { 8, 32760 }, { 16, 64984 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void
all_sizes(const char *options)
{
	static struct bench b;

	for (unsigned i = 0; i < SIZES; i++) {
		udp_open(&b, options, sizes[i][0], sizes[i][1]);
		traffic(&b);
		bench_close(&b);
	}
}

START_TEST(udp_tells_every_datagram)
{
	all_sizes(V4);
}
END_TEST

START_TEST(udp_without_trains)
{
	all_sizes(V4 "gro = false;");
}
END_TEST

START_TEST(udp_over_ipv6)
{
	all_sizes("listen = [ \"[::1]:0\" ];");
}
END_TEST

/* More than a batch is in the socket: it comes bit by bit, in order. */
START_TEST(udp_takes_a_backlog)
{
	static struct bench b;

	udp_open(&b, V4, 8, 8);
	for (int i = 0; i < 12; i++) {
		send_train(&b, 16, 60, 0);
		send_train(&b, 12, 60, 8);
		send_train(&b, 17, 30, 16);
	}
	take_all(&b);
	bench_close(&b);
}
END_TEST

static const char two[] = "listen = [ \"127.0.0.1:0\", \"127.0.0.1:0\" ];";

/* Whichever source is asked, and with however few pairs, all is told. */
START_TEST(udp_loses_nothing_between_sources)
{
	static struct bench b;
	unsigned first, n = 0;

	udp_open(&b, two, 8, 8);
	ck_assert_uint_eq(b.ops->sources(b.state), 2);
	send_train(&b, 12, 60, 0);
	connect_to(&b, 1);
	send_train(&b, 20, 60, 0);
	first = b.sents;
	for (unsigned calls = 0; n < first && calls < 1000; calls++) {
		b.want[0] = b.want[1] = 1;
		n += (unsigned)receive(&b, calls % 2);
	}
	ck_assert_uint_eq(n, first);
	bench_close(&b);
}
END_TEST

/* ---- udp's modes ----------------------------------------------------- */

/* Trains are in the socket at the moment of the switch. */
START_TEST(udp_switches_to_batches)
{
	static struct bench b;
	unsigned calls = 0;

	udp_open(&b, V4, 8, 1000);
	ck_assert(gro_is_on(&b));
	singles(&b, 60);
	for (int i = 0; i < 8; i++)
		send_one(&b, 1008);
	for (int i = 0; i < 8; i++) {
		send_train(&b, 1008, 20, 0);
		send_train(&b, 1008, 9, 500);
	}
	while (gro_is_on(&b) && ++calls < 100)
		receive_told(&b, 0);
	ck_assert(!gro_is_on(&b));
	send_train(&b, 1008, 30, 7);
	send_one(&b, 3);
	take_all(&b);
	/* Now in batches: so many messages per call. */
	b.calls = 0;
	for (int i = 0; i < 64; i++)
		send_one(&b, 1008);
	for (calls = 0; b.told < b.sents && calls < 100; calls++)
		receive_told(&b, 0);
	ck_assert_uint_lt(b.calls, 32);
	bench_close(&b);
}
END_TEST

/* A socket that is never empty is left as well: what came before the switch
 * ends with so many bytes, whatever comes after it. */
START_TEST(udp_leaves_a_full_socket)
{
	static struct bench b;
	unsigned i;

	udp_open(&b, V4, 8, 592);
	for (i = 0; i < 210; i++)
		send_one(&b, 600);
	for (i = 0; i < 200 && gro_is_on(&b); i++)
		ck_assert_int_eq(receive_told(&b, 0), 1);
	ck_assert(!gro_is_on(&b));
	for (i = 0; i < 2000 && receive_told(&b, 0) == 1; i++)
		send_one(&b, 600);
	ck_assert_uint_gt(b.batch.packets, 1);
	ck_assert(!gro_is_on(&b));
	take_all(&b);
	bench_close(&b);
}
END_TEST

/* Trains, and single datagrams as long as trains, from the moment on at which
 * so many single ones have been read that the mode is left. */
static void
mixture(struct bench *b, unsigned before)
{
	for (unsigned i = 0; i < before; i++)
		send_one(b, 1008);
	for (unsigned i = 0; i < 20; i++) {
		send_train(b, 1008, 3, 0);
		send_one(b, 3 * 1008);
		send_train(b, 1008, 2, 7);
		send_one(b, 2 * 1008 + 7);
		send_one(b, 2000);
	}
	for (unsigned i = 0; i < 30; i++)
		send_one(b, 1008);
	take_all(b);
}

START_TEST(udp_never_guesses_at_trains)
{
	static const unsigned before[] = { 1,	60,  63,  64,  65,  120,
					   191, 192, 193, 194, 195, 200 };
	static struct bench b;

	for (unsigned i = 0; i < sizeof before / sizeof *before; i++) {
		udp_open(&b, V4, 8, 1000);
		mixture(&b, before[i]);
		mixture(&b, before[i]);
		bench_close(&b);
	}
}
END_TEST

/* The plugin's setsockopt: lets something happen just before it turns trains
 * off (this program is linked so that its symbols go first). */
static struct bench *ambushed;
static unsigned ambushes;

__attribute__((visibility("default"))) int
setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
	struct bench *b = ambushed;

	if (b && ambushes && level == IPPROTO_UDP && name == UDP_GRO &&
	    !*(const int *)value) {
		ambushes--;
		ambushed = NULL;
		send_train(b, 1008, 3, 9);
		ambushed = b;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, bytes);
}

/* Trains that come between the last look and the switch are read as trains,
 * and the switch is put off. */
START_TEST(udp_leaves_no_train_behind)
{
	static struct bench b;

	udp_open(&b, V4, 8, 1000);
	ambushed = &b;
	ambushes = 5;
	singles(&b, 80);
	ck_assert_uint_eq(ambushes, 0);
	ck_assert(!gro_is_on(&b));
	ambushed = NULL;
	bench_close(&b);
}
END_TEST

START_TEST(udp_tries_trains_again)
{
	static struct bench b;
	unsigned calls;

	now_ns = 1000 * (int64_t)SECOND;
	udp_open(&b, V4, 8, 1000);
	singles(&b, 80);
	ck_assert(!gro_is_on(&b));
	for (calls = 0; calls < 1000; calls++)
		receive_told(&b, 0);
	ck_assert(!gro_is_on(&b));
	now_ns += 11 * (int64_t)SECOND;
	for (calls = 0; calls < 1000 && !gro_is_on(&b); calls++)
		receive_told(&b, 0);
	ck_assert(gro_is_on(&b));
	send_train(&b, 1008, 40, 0);
	send_train(&b, 900, 40, 0);
	take_all(&b);
	/* And once more there and back. */
	singles(&b, 200);
	ck_assert(!gro_is_on(&b));
	take_all(&b);
	bench_close(&b);
}
END_TEST

/* ---- udp's options --------------------------------------------------- */

START_TEST(udp_knows_foreign_senders)
{
	static const char *const modes[] = { "gro = true;", "gro = false;" };
	static struct bench b;
	char options[256];

	for (int i = 0; i < 2; i++) {
		snprintf(options, sizeof options,
			 V4 "allow = [ \"10.0.0.0/8\" ]; %s", modes[i]);
		udp_open(&b, options, 8, 1000);
		send_one(&b, 1008);
		send_one(&b, 3);
		for (unsigned n = 0; n < b.sents; n++)
			b.sent[n].foreign = true;
		take_all(&b);
		bench_close(&b);
		snprintf(options, sizeof options,
			 V4 "allow = [ \"10.0.0.0/8\", \"127.0.0.0/8\" ]; %s",
			 modes[i]);
		udp_open(&b, options, 8, 1000);
		traffic(&b);
		bench_close(&b);
	}
}
END_TEST

/* What has come back to the sender: how many datagrams. */
static unsigned
heard(const struct bench *b)
{
	char text[64];
	unsigned n = 0;

	while (recv(b->from, text, sizeof text, MSG_DONTWAIT) > 0)
		n++;
	return n;
}

START_TEST(udp_keeps_the_way_alive)
{
	static const char *const modes[] = { "gro = true;", "gro = false;" };
	static struct bench b;
	struct receive_counts c;
	char options[128];

	for (int i = 0; i < 2; i++) {
		snprintf(options, sizeof options, V4 "keepalive = \"10s\"; %s",
			 modes[i]);
		now_ns = 1000 * (int64_t)SECOND;
		udp_open(&b, options, 8, 1000);
		b.ops->counts(b.state, 0, &c); /* nobody is there yet */
		send_one(&b, 1008);
		take_all(&b);
		b.ops->counts(b.state, 0, &c);
		b.ops->counts(b.state, 0, &c);
		ck_assert_uint_eq(heard(&b), 1);
		now_ns += 11 * (int64_t)SECOND;
		b.ops->counts(b.state, 0, &c);
		ck_assert_uint_eq(heard(&b), 1);
		bench_close(&b);
	}
}
END_TEST

START_TEST(udp_counts_overruns)
{
	static struct bench b;
	struct receive_counts c;

	udp_open(&b, V4 "socket_buffer = 4096;", 0, 1400);
	for (int i = 0; i < 200; i++)
		send_one(&b, 1400);
	while (receive(&b, 0) > 0)
		;
	b.ops->counts(b.state, 0, &c);
	ck_assert_uint_gt(c.overruns, 0);
	ck_assert_uint_eq(c.overruns + c.datagrams, 200);
	bench_close(&b);
}
END_TEST

START_TEST(udp_refuses_with_a_sentence)
{
	static const struct {
		const char *options, *says;
	} bad[] = {
		{ "", "listen" },
		{ "listen = [ \"127.0.0.1\" ];", "127.0.0.1" },
		{ "listen = [ \"127.0.0.1:\" ];", "46227" },
		{ "listen = [ \"127.0.0.1:70000\" ];", "46227" },
		{ "listen = [ \"127.0.0.1:-5\" ];", "46227" },
		{ "listen = [ \"192.0.2.1:0\" ];", "192.0.2.1" },
		{ "listen = [ \"127.0.0.1:0\", \"nowhere.invalid:5\" ];",
		  "nowhere.invalid" },
		{ V4 "allow = [ \"10.0.0.0/99\" ];", "10.0.0.0/99" },
	};
	struct format_shape shape = { .payload = 100 };
	static struct bench b;

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		ck_assert_int_lt(
		    bench_try(&b, "udp", bad[i].options, NULL, &shape), 0);
		ck_assert_msg(strstr(b.why, bad[i].says), "%s: %s",
			      bad[i].options, b.why);
		bench_free(&b);
	}
}
END_TEST

START_TEST(udp_shares_no_port)
{
	struct format_shape shape = { .payload = 100 };
	static struct bench b, other;
	struct sockaddr_in at;
	socklen_t length = sizeof at;
	char options[128];

	udp_open(&b, V4, 0, 100);
	getsockname(b.ops->fd(b.state, 0), (void *)&at, &length);
	snprintf(options, sizeof options, "listen = [ \"127.0.0.1:%u\" ];",
		 ntohs(at.sin_port));
	ck_assert_int_eq(bench_try(&other, "udp", options, NULL, &shape),
			 -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(other.why, "ss -ulpn"));
	bench_free(&other);
	bench_close(&b);
}
END_TEST

SUITE("receive contract", udp_tells_every_datagram, udp_without_trains,
      udp_over_ipv6, udp_takes_a_backlog, udp_loses_nothing_between_sources,
      udp_switches_to_batches, udp_leaves_a_full_socket,
      udp_never_guesses_at_trains, udp_leaves_no_train_behind,
      udp_tries_trains_again, udp_knows_foreign_senders,
      udp_keeps_the_way_alive, udp_counts_overruns, udp_refuses_with_a_sentence,
      udp_shares_no_port)
