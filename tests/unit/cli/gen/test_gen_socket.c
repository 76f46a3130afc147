/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/gen/gen_socket.h"
#include "lib/suite.h"

enum { BYTES = 100, TRAINS = 10 };

static struct gen_socket sender;
static struct fault fault;
static struct gen_train train;
static int receiver;
static char url[64];

/* A socket on this port, or any that is free (0); -1 where it is taken. */
static int
listen_on(uint16_t port)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr =
					   htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	ck_assert_int_ge(fd, 0);
	if (bind(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t bytes = sizeof a;

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
	return ntohs(a.sin_port);
}

static void
start(void)
{
	receiver = listen_on(0);
	snprintf(url, sizeof url, "udp://127.0.0.1:%u", port_of(receiver));
}

static int
open_to(const char *to, uint32_t bytes, unsigned segment)
{
	const struct gen_to all = { .url = to,
				    .bytes = bytes,
				    .segment = segment };

	return gen_socket_open(&sender, &all, &fault);
}

/* Datagrams in two pieces each; the last one is `less` shorter. */
static void
train_of(uint32_t data[][BYTES / sizeof(uint32_t)], unsigned n, unsigned less)
{
	train.n = n;
	train.iovs = 2 * n;
	for (unsigned i = 0; i < n; i++) {
		train.pieces[i] = 2;
		train.iov[2 * i] = (struct iovec){ data[i], 4 };
		train.iov[2 * i + 1] = (struct iovec){ data[i] + 1, BYTES - 4 };
	}
	train.iov[2 * n - 1].iov_len -= less;
}

/* Sends trains of n datagrams, each with its number, and takes them. */
static void
send_and_take(unsigned n, unsigned less)
{
	uint32_t data[GEN_TRAIN][BYTES / sizeof(uint32_t)], got[BYTES];
	uint32_t sent = 0, taken = 0;
	int bytes;

	memset(data, 0, sizeof data);
	for (unsigned t = 0; t < TRAINS; t++) {
		for (unsigned i = 0; i < n; i++)
			data[i][0] = sent++;
		train_of(data, n, less);
		ck_assert_int_eq(gen_socket_send(&sender, 0, &train), 0);
		for (unsigned i = 0; i < n; i++) {
			bytes = recv(receiver, got, sizeof got, 0);
			ck_assert_int_eq(bytes,
					 i + 1 < n ? BYTES : BYTES - less);
			ck_assert_uint_eq(got[0], taken++);
		}
	}
	ck_assert_int_eq(recv(receiver, got, sizeof got, MSG_DONTWAIT), -1);
}

START_TEST(trains)
{
	start();
	ck_assert_int_eq(open_to(url, BYTES, GEN_TRAIN), 0);
	ck_assert_uint_eq(sender.train, GEN_TRAIN);
	send_and_take(1, 0);
	send_and_take(2, 0);
	send_and_take(GEN_TRAIN, 0);
	send_and_take(1, 40);
	send_and_take(GEN_TRAIN, 40);
	gen_socket_close(&sender);
	close(receiver);
}
END_TEST

START_TEST(one_by_one)
{
	for (unsigned segment = 0; segment < 2; segment++) {
		start();
		ck_assert_int_eq(open_to(url, BYTES, segment), 0);
		ck_assert(!sender.segments);
		ck_assert_uint_eq(sender.train, GEN_TRAIN);
		send_and_take(1, 0);
		send_and_take(GEN_TRAIN, 0);
		send_and_take(GEN_TRAIN, 40);
		gen_socket_close(&sender);
		close(receiver);
	}
}
END_TEST

/* As where the kernel refuses to cut. */
START_TEST(cut_no_more)
{
	start();
	ck_assert_int_eq(open_to(url, BYTES, GEN_TRAIN), 0);
	sender.segments = false;
	send_and_take(GEN_TRAIN, 0);
	gen_socket_close(&sender);
	close(receiver);
}
END_TEST

/* Three ports in a row that nobody uses. */
static void
listen_in_a_row(int fd[3], unsigned *first)
{
	fd[1] = fd[2] = -1;
	for (unsigned tries = 0; tries < 1000; tries++) {
		fd[0] = listen_on(0);
		*first = port_of(fd[0]);
		if (*first < 65534) {
			fd[1] = listen_on(*first + 1);
			fd[2] = listen_on(*first + 2);
		}
		if (fd[1] >= 0 && fd[2] >= 0)
			return;
		for (unsigned i = 0; i < 3; i++)
			if (fd[i] >= 0)
				close(fd[i]);
		fd[1] = fd[2] = -1;
	}
	ck_abort_msg("no three ports in a row are free");
}

START_TEST(ranges)
{
	uint32_t data[1][BYTES / sizeof(uint32_t)] = { { 0 } }, got[BYTES];
	unsigned first;
	int fd[3];

	listen_in_a_row(fd, &first);
	snprintf(url, sizeof url, "udp://127.0.0.1:%u-%u", first, first + 2);
	ck_assert_int_eq(open_to(url, BYTES, GEN_TRAIN), 0);
	ck_assert_uint_eq(sender.ports, 3);
	for (unsigned i = 0; i < 9; i++) {
		data[0][0] = 100 + i;
		train_of(data, 1, 0);
		ck_assert_int_eq(gen_socket_send(&sender, i % 3, &train), 0);
		ck_assert_int_eq(recv(fd[i % 3], got, sizeof got, MSG_DONTWAIT),
				 BYTES);
		ck_assert_uint_eq(got[0], 100 + i);
	}
	gen_socket_close(&sender);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
}
END_TEST

START_TEST(nobody_listens)
{
	uint32_t data[1][BYTES / sizeof(uint32_t)] = { { 0 } };

	start();
	ck_assert_int_eq(open_to(url, BYTES, GEN_TRAIN), 0);
	close(receiver);
	for (int i = 0; i < 100; i++) {
		train_of(data, 1, 0);
		ck_assert_int_eq(gen_socket_send(&sender, 0, &train), 0);
	}
	ck_assert_uint_gt(sender.refused, 0);
	gen_socket_close(&sender);
}
END_TEST

START_TEST(sizes)
{
	static const char to[] = "udp://127.0.0.1:9";

	ck_assert_int_eq(open_to(to, 8040, GEN_TRAIN), 0);
	ck_assert_uint_eq(sender.train, 65507 / 8040);
	gen_socket_close(&sender);
	ck_assert_int_eq(open_to(to, 8040, 3), 0);
	ck_assert_uint_eq(sender.train, 3);
	gen_socket_close(&sender);
	ck_assert_int_eq(open_to(to, 65507, GEN_TRAIN), 0);
	ck_assert(!sender.segments);
	gen_socket_close(&sender);
	ck_assert_int_eq(open_to(to, 65508, GEN_TRAIN), -EMSGSIZE);
}
END_TEST

START_TEST(addresses_refused)
{
	static const char *const bad[] = {
		"",
		"udp",
		"udp://",
		"udp://127.0.0.1",
		"udp://127.0.0.1:",
		"udp://:46227",
		"udp://127.0.0.1:x",
		"udp://127.0.0.1:46227/",
		"udp://127.0.0.1:123456",
		"udp://::1:46227",
		"udp://[::1]",
		"udp://[::1]46227",
		"udp://[::1:46227",
		"udp://[]:46227",
		"udp://127.0.0.1:0",
		"udp://127.0.0.1:65536",
		"udp://127.0.0.1:46227-",
		"udp://127.0.0.1:-46227",
		"udp://127.0.0.1:46227-46226",
		"udp://127.0.0.1:46227-65536",
		"udp://127.0.0.1:0-2",
		"udp://127.0.0.1:46227-46228-46229",
		"udp://127.0.0.1:46227-x",
		"tcp://127.0.0.1",
		"tcp://127.0.0.1:46227-46228",
		"sctp://127.0.0.1:46227",
		"127.0.0.1:46227",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(&fault, 0, sizeof fault);
		ck_assert_msg(open_to(bad[i], BYTES, GEN_TRAIN) < 0, "%s",
			      bad[i]);
		ck_assert_ptr_nonnull(fault.code);
	}
}
END_TEST

SUITE("gen_socket", trains, one_by_one, cut_no_more, ranges, nobody_listens,
      sizes, addresses_refused)
