/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/gen_socket.h"
#include "unit/suite.h"

enum { BYTES = 100, TRAINS = 10 };

static struct gen_socket sender;
static struct fault fault;
static int receiver;
static char url[64];

static void
start(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;

	receiver = socket(AF_INET, SOCK_DGRAM, 0);
	ck_assert_int_ge(receiver, 0);
	ck_assert_int_eq(bind(receiver, (struct sockaddr *)&a, bytes), 0);
	ck_assert_int_eq(getsockname(receiver, (struct sockaddr *)&a, &bytes),
			 0);
	snprintf(url, sizeof url, "udp://127.0.0.1:%u", ntohs(a.sin_port));
}

/* Sends trains of n datagrams, each with its number, and takes them. */
static void
send_and_take(unsigned n)
{
	uint32_t data[GEN_TRAIN][BYTES / sizeof(uint32_t)], got[BYTES];
	struct iovec iov[GEN_TRAIN];
	uint32_t sent = 0, taken = 0;

	memset(data, 0, sizeof data);
	for (unsigned t = 0; t < TRAINS; t++) {
		for (unsigned i = 0; i < n; i++) {
			data[i][0] = sent++;
			iov[i].iov_base = data[i];
			iov[i].iov_len = BYTES;
		}
		ck_assert_int_eq(gen_socket_send(&sender, iov, n), 0);
		for (unsigned i = 0; i < n; i++) {
			ck_assert_int_eq(recv(receiver, got, sizeof got, 0),
					 BYTES);
			ck_assert_uint_eq(got[0], taken++);
		}
	}
	ck_assert_int_eq(recv(receiver, got, sizeof got, MSG_DONTWAIT), -1);
}

START_TEST(trains)
{
	start();
	ck_assert_int_eq(gen_socket_open(&sender, url, BYTES, &fault), 0);
	ck_assert_uint_eq(sender.train, GEN_TRAIN);
	send_and_take(1);
	send_and_take(2);
	send_and_take(GEN_TRAIN);
	gen_socket_close(&sender);
	close(receiver);
}
END_TEST

START_TEST(one_by_one)
{
	start();
	ck_assert_int_eq(gen_socket_open(&sender, url, BYTES, &fault), 0);
	sender.segments = false;
	send_and_take(1);
	send_and_take(GEN_TRAIN);
	gen_socket_close(&sender);
	close(receiver);
}
END_TEST

START_TEST(nobody_listens)
{
	char data[BYTES] = { 0 };
	struct iovec iov = { data, sizeof data };

	start();
	ck_assert_int_eq(gen_socket_open(&sender, url, BYTES, &fault), 0);
	close(receiver);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(gen_socket_send(&sender, &iov, 1), 0);
	ck_assert_uint_gt(sender.refused, 0);
	gen_socket_close(&sender);
}
END_TEST

START_TEST(sizes)
{
	ck_assert_int_eq(
	    gen_socket_open(&sender, "udp://127.0.0.1:9", 8040, &fault), 0);
	ck_assert_uint_eq(sender.train, 65507 / 8040);
	gen_socket_close(&sender);
	ck_assert_int_eq(
	    gen_socket_open(&sender, "udp://127.0.0.1:9", 65507, &fault), 0);
	ck_assert_uint_eq(sender.train, 1);
	gen_socket_close(&sender);
	ck_assert_int_eq(
	    gen_socket_open(&sender, "udp://127.0.0.1:9", 65508, &fault),
	    -EMSGSIZE);
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
		"tcp://127.0.0.1:46227",
		"127.0.0.1:46227",
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(&fault, 0, sizeof fault);
		ck_assert_msg(gen_socket_open(&sender, bad[i], BYTES, &fault) <
				  0,
			      "%s", bad[i]);
		ck_assert_ptr_nonnull(fault.code);
	}
}
END_TEST

SUITE("gen_socket", trains, one_by_one, nobody_listens, sizes,
      addresses_refused)
