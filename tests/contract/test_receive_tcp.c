/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of tcp with plain bytes: every packet is
 * told once, in order, in its pair, however the bytes are cut and however
 * little room there is; and what a peer that misbehaves costs.
 */
#include <sys/resource.h>

#include "contract/tcp_bench.h"
#include "lib/dice.h"

enum { STREAM = 1 << 20 };

static uint8_t stream[STREAM];
static struct bench b;

static void
stream_make(void)
{
	noise_fill(0, 0, stream, STREAM);
}

/* The packets of the last call are the bytes of the stream from `at` on. */
static size_t
packets_check(size_t at, bool last)
{
	for (unsigned i = 0; i < b.batch.packets; i++) {
		const struct receive_packet *k = &b.batch.packet[i];
		uint32_t rest = k->bytes - k->prefix_bytes;

		if (!last && k->bytes != b.prefix + b.payload)
			ck_abort_msg("a packet of %u bytes", k->bytes);
		if (memcmp(k->prefix, stream + at, k->prefix_bytes) ||
		    memcmp(k->payload, stream + at + k->prefix_bytes, rest))
			ck_abort_msg("packet at byte %zu is wrong", at);
		if (k->bytes == b.prefix + b.payload &&
		    k->payload != b.pair[i].payload)
			ck_abort_msg("a packet is not in its pair");
		at += k->bytes;
	}
	return at;
}

/* Sends the stream in pieces and takes it with this room or less. */
static void
stream_take(struct dice *d, int fd, uint32_t most)
{
	size_t sent = 0, told = 0;

	while (told < STREAM) {
		uint32_t n = 1 + dice_roll(d, 1 + dice_roll(d, most));
		unsigned room = dice_roll(d, RECEIVE_BATCH + 1);

		if (n > STREAM - sent)
			n = (uint32_t)(STREAM - sent);
		if (n && dice_chance(d, 70)) {
			ssize_t done = send(fd, stream + sent, n, MSG_DONTWAIT);

			sent += done > 0 ? (size_t)done : 0;
		}
		ck_assert_uint_le(take(&b, 0, RECEIVE_BATCH, room), room);
		told = packets_check(told, false);
		ck_assert_uint_le(told, sent);
		if (sent == STREAM &&
		    STREAM - told < b.prefix + (size_t)b.payload)
			break;
	}
	close(fd);
	for (int i = 0; i < 1000 && told < STREAM; i++) {
		take(&b, 0, RECEIVE_BATCH, RECEIVE_BATCH);
		told = packets_check(told, true);
	}
	ck_assert_uint_eq(told, STREAM);
}

START_TEST(bytes_are_cut_into_packets)
{
	static const uint32_t sizes[][2] = { { 0, 8 },	     { 8, 100 },
					     { 0, 1472 },    { 8, 8032 },
					     { 3000, 5008 }, { 16, 64984 } };
	struct dice d = { 3 };

	stream_make();
	for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct receive_counts c;

		tcp_open(&b, "", sizes[i][0], sizes[i][1]);
		stream_take(&d, caller(), 40 * (sizes[i][0] + sizes[i][1]));
		b.ops->counts(b.state, 0, &c);
		ck_assert_uint_eq(c.datagrams,
				  (STREAM - 1) / (b.prefix + b.payload) + 1);
		ck_assert_ptr_nonnull(strstr(c.sender, "127.0.0.1:"));
		ck_assert_ptr_nonnull(strstr(c.address, "127.0.0.1:"));
		bench_close(&b);
	}
}
END_TEST

START_TEST(half_a_packet_is_told_as_such)
{
	int fd;

	stream_make();
	tcp_open(&b, "", 8, 100);
	fd = caller();
	give(fd, stream, 3 * 108 + 57);
	leave(fd);
	ck_assert_uint_eq(take(&b, 0, 64, 64), 3);
	ck_assert_uint_eq(take(&b, 0, 64, 64), 1);
	ck_assert_uint_eq(b.batch.packet[0].bytes, 57);
	ck_assert_uint_eq(b.batch.packet[0].prefix_bytes, 8);
	ck_assert_mem_eq(b.batch.packet[0].prefix, stream + 324, 8);
	ck_assert_mem_eq(b.batch.packet[0].payload, stream + 332, 49);
	ck_assert_ptr_nonnull(strstr(b.log, "with 57 of a packet's 108 bytes"));
	/* Half a prefix, too. */
	fd = caller();
	give(fd, stream, 5);
	leave(fd);
	for (int i = 0; i < 10 && !take(&b, 0, 64, 64); i++)
		;
	ck_assert_uint_eq(b.batch.packet[0].bytes, 5);
	ck_assert_uint_eq(b.batch.packet[0].prefix_bytes, 5);
	ck_assert_uint_eq(take(&b, 0, 64, 64), 0);
	bench_close(&b);
}
END_TEST

static size_t
send_most(int fd)
{
	static uint8_t much[1 << 20];
	size_t sent = 0;
	ssize_t n;

	for (size_t piece = sizeof much; piece; piece /= 2)
		while ((n = send(fd, much, piece, MSG_DONTWAIT)) > 0)
			sent += (size_t)n;
	return sent;
}

/* Where there is no room, nothing is read: the sender waits, for as long as it
 * takes, and is not blamed for it. */
START_TEST(the_sender_waits)
{
	size_t sent, more = 0;
	int fd;

	tcp_open(&b, "socket_buffer = 65536;", 0, 1024);
	fd = caller();
	sent = send_most(fd);
	for (int i = 0; i < 600; i++) {
		ck_assert_uint_eq(take(&b, 0, 128, 0), 0);
		pass(&b, 0.1);
	}
	ck_assert_uint_lt(send_most(fd), sent / 2);
	for (int i = 0; i < 100000 && more < sent / 1024; i++) {
		unsigned got = take(&b, 0, 128, 3);

		ck_assert_uint_le(got, 3);
		more += got;
	}
	ck_assert_uint_ge(more, sent / 1024);
	bench_close(&b);
	close(fd);
}
END_TEST

START_TEST(one_at_a_time)
{
	int first, second;

	tcp_open(&b, "", 0, 100);
	first = caller();
	give(first, stream, 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	second = caller();
	give(second, stream, 100);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	ck_assert(comes_cut(second));
	ck_assert(!is_cut(first));
	ck_assert_ptr_nonnull(strstr(b.log, "is refused: another sender"));
	give(first, stream, 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	close(second);
	close(first);
	bench_close(&b);
}
END_TEST

/* Who was there before the other has been read to its end is no second. */
START_TEST(one_after_the_other)
{
	int fd;
	unsigned n = 0, lines;

	tcp_open(&b, "", 0, 100);
	for (int i = 0; i < 20; i++) {
		fd = caller();
		give(fd, stream, 500);
		leave(fd);
	}
	for (int i = 0; i < 1000 && n < 100; i++)
		n += take(&b, 0, 1, 1);
	ck_assert_uint_eq(n, 100);
	take(&b, 0, 1, 1);
	lines = b.lines;
	ck_assert_uint_eq(lines, 40); /* is connected, has ended */
	bench_close(&b);
}
END_TEST

START_TEST(who_is_silent_is_cut_off)
{
	int fd, next;

	tcp_open(&b, "stall = \"10s\";", 0, 100);
	fd = caller();
	give(fd, stream, 130);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	pass(&b, 9);
	ck_assert(!is_cut(fd));
	give(fd, stream, 1);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	pass(&b, 9);
	ck_assert(!is_cut(fd));
	pass(&b, 2);
	ck_assert(comes_cut(fd));
	ck_assert_ptr_nonnull(strstr(b.log, "has been silent for 10 s"));
	/* What it left is told, and the next one may come. */
	next = caller();
	give(next, stream, 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	ck_assert_uint_eq(b.batch.packet[0].bytes, 31);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	ck_assert_uint_eq(b.batch.packet[0].bytes, 100);
	close(fd);
	close(next);
	bench_close(&b);
	/* Never. */
	tcp_open(&b, "stall = \"0s\";", 0, 100);
	fd = caller_heard(&b);
	take(&b, 0, 8, 8);
	pass(&b, 1000);
	ck_assert(!is_cut(fd));
	close(fd);
	bench_close(&b);
}
END_TEST

START_TEST(strangers_are_refused)
{
	int fd[20];

	tcp_open(&b, "allow = [ \"10.0.0.0/8\" ];", 0, 100);
	for (int i = 0; i < 20; i++) {
		fd[i] = caller_heard(&b);
		ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
		ck_assert(comes_cut(fd[i]));
		close(fd[i]);
	}
	ck_assert_ptr_nonnull(strstr(b.log, "is not in `allow`"));
	ck_assert_uint_eq(b.lines, 5); /* no flood of them */
	pass(&b, 0.1);
	ck_assert_str_eq(b.log, "15 more connections are refused");
	bench_close(&b);
	tcp_open(&b, "allow = [ \"127.0.0.0/8\" ];", 0, 100);
	fd[0] = caller();
	ck_assert_int_eq(send(fd[0], stream, 100, 0), 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	close(fd[0]);
	bench_close(&b);
}
END_TEST

/* Who connects and says nothing keeps nobody out, however many do. */
START_TEST(the_silent_give_way)
{
	int fd[30], sender, later;

	tcp_open(&b, "", 0, 100);
	for (int i = 0; i < 30; i++) {
		fd[i] = caller_heard(&b);
		ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
		pass(&b, 0.1);
	}
	sender = caller_heard(&b);
	take(&b, 0, 8, 8);
	ck_assert(!is_cut(sender));
	give(sender, stream, 150);
	for (int i = 0; i < 10 && !take(&b, 0, 8, 8); i++)
		;
	ck_assert_uint_eq(b.batch.packets, 1);
	ck_assert_mem_eq(b.batch.packet[0].payload, stream, 100);
	ck_assert_ptr_nonnull(strstr(b.log, "is connected"));
	/* It has sent something, and so it stays. */
	later = caller_heard(&b);
	give(later, stream, 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	ck_assert(comes_cut(later));
	for (int i = 0; i < 30; i++) {
		ck_assert(comes_cut(fd[i]));
		close(fd[i]);
	}
	give(sender, stream + 150, 50);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	ck_assert_mem_eq(b.batch.packet[0].payload, stream + 100, 100);
	close(sender);
	close(later);
	bench_close(&b);
}
END_TEST

/* Without descriptors a connection waits, and the receiver does not run in
 * circles meanwhile. */
START_TEST(no_descriptor_is_left)
{
	struct pollfd p = { .events = POLLIN };
	struct rlimit was, none;
	int fd;

	tcp_open(&b, "", 0, 100);
	p.fd = b.ops->fd(b.state, 0);
	fd = caller_heard(&b);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){ 3, was.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	ck_assert_ptr_nonnull(strstr(b.log, "could not be accepted"));
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	pass(&b, 0.5);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
	pass(&b, 2);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	give(fd, stream, 100);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	close(fd);
	bench_close(&b);
}
END_TEST

/* Its descriptor polls readable when there is something, and only then. */
START_TEST(it_can_be_polled)
{
	struct pollfd p = { .events = POLLIN };
	int fd;

	tcp_open(&b, "", 0, 100);
	p.fd = b.ops->fd(b.state, 0);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	fd = caller();
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	give(fd, stream, 150);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	/* Half a packet of who was cut off is something. */
	pass(&b, 31);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 1);
	ck_assert_uint_eq(take(&b, 0, 8, 8), 0);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	close(fd);
	bench_close(&b);
}
END_TEST

static void
refused(const char *options, uint32_t prefix, const char *why)
{
	struct receive_plan plan;
	bool opened = tcp_try(&b, options, prefix, 100) == 0;

	ck_assert_msg(!opened, "'%s' was opened", options);
	ck_assert_msg(strstr(b.why, why), "'%s'", b.why);
	if (!prefix) {
		b.why[0] = 0;
		ck_assert_int_lt(
		    b.ops->plan(b.options, &plan, b.why, sizeof b.why), 0);
		ck_assert_msg(strstr(b.why, why), "'%s'", b.why);
	}
	bench_free(&b);
}

START_TEST(options_that_cannot_be)
{
	struct receive_plan plan = { 0 };

	refused("connections = 2;", 0, "frames = \"spt1\"");
	refused("frames = \"spt1\";", 8, "prefix = 0");
	tcp_open(&b, "frames = \"spt1\"; connections = 7;", 0, 100);
	ck_assert_uint_eq(b.ops->sources(b.state), 7);
	ck_assert_int_eq(b.ops->plan(b.options, &plan, b.why, sizeof b.why), 0);
	ck_assert(plan.sequence && plan.subs == 1 && plan.threads == 1);
	bench_close(&b);
}
END_TEST

START_TEST(addresses_that_cannot_be)
{
	static const char *const bad[] = { "127.0.0.1:2630-2640",
					   "239.1.2.3:2630", "nonsense",
					   "239.1.2.3+4:2630" };
	struct format_shape shape = { .payload = 100, .parts = 1 };
	char text[128];

	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "listen = [ \"%s\" ];", bad[i]);
		ck_assert_int_lt(bench_try(&b, "tcp", text, NULL, &shape), 0);
		ck_assert_msg(strstr(b.why, bad[i]), "%s", b.why);
		bench_free(&b);
	}
	ck_assert_int_lt(bench_try(&b, "tcp", "", NULL, &shape), 0);
	ck_assert_msg(strstr(b.why, "`listen` is missing"), "%s", b.why);
	bench_free(&b);
}
END_TEST

/* The port is somebody's already: said, and who could know more. */
START_TEST(a_port_that_is_taken)
{
	static struct bench other;
	struct format_shape shape = { .payload = 100, .parts = 1 };
	char text[128];

	tcp_open(&b, "", 0, 100);
	snprintf(text, sizeof text, "listen = [ \"127.0.0.1:%u\" ];", port);
	ck_assert_int_eq(bench_try(&other, "tcp", text, NULL, &shape),
			 -EADDRINUSE);
	ck_assert_msg(strstr(other.why, "ss -tlpn"), "%s", other.why);
	bench_free(&other);
	bench_close(&b);
}
END_TEST

SUITE("receive_tcp", bytes_are_cut_into_packets, half_a_packet_is_told_as_such,
      the_sender_waits, one_at_a_time, one_after_the_other,
      who_is_silent_is_cut_off, strangers_are_refused, the_silent_give_way,
      no_descriptor_is_left, it_can_be_polled, options_that_cannot_be,
      addresses_that_cannot_be, a_port_that_is_taken)
