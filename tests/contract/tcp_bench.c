/* SPDX-License-Identifier: MIT */
#include "contract/tcp_bench.h"

uint16_t port;

#ifdef BENCH_UCX
/* libucx has threads that still run when the process ends.  The leak sanitizer
 * crashes, now and then, over the thread-local memory of one that ends just then:
 * it is left out as a place from where memory is reached. */
const char *__lsan_default_options(void);

const char *
__lsan_default_options(void)
{
	return "use_tls=0";
}
#endif

uint16_t
port_pick(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (void *)&a, length), 0);
	ck_assert_int_eq(getsockname(fd, (void *)&a, &length), 0);
	close(fd);
	return ntohs(a.sin_port);
}

int
tcp_try(struct bench *b, const char *options, uint32_t prefix, uint32_t payload)
{
	struct format_shape shape = { .prefix = prefix,
				      .payload = payload,
				      .parts = 1 };
	char text[512];
	int err;

	port = port_pick();
	snprintf(text, sizeof text, "listen = [ \"127.0.0.1:%u\" ]; %s", port,
		 options);
	err = bench_try(b, BENCH_BY, text, NULL, &shape);
	if (!err)
		for (int i = 0; i < 2; i++) /* the clock is seen */
			b->ops->counts(b->state, 0,
				       &(struct receive_counts){ 0 });
	return err;
}

void
tcp_open(struct bench *b, const char *options, uint32_t prefix,
	 uint32_t payload)
{
	ck_assert_msg(tcp_try(b, options, prefix, payload) == 0, "%s", b->why);
}

int
caller(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (void *)&a, sizeof a), 0);
	return fd;
}

void
settle(int fd)
{
	int left = 1;

	for (int i = 0; i < PATIENCE && left; i++) {
		ck_assert_int_eq(ioctl(fd, SIOCOUTQ, &left), 0);
		if (left)
			usleep(1000);
	}
}

void
give(int fd, const void *data, size_t bytes)
{
	ck_assert_int_eq(send(fd, data, bytes, 0), (ssize_t)bytes);
	settle(fd);
}

void
leave(int fd)
{
	shutdown(fd, SHUT_WR);
	settle(fd);
	close(fd);
}

int
caller_heard(struct bench *b)
{
	struct pollfd p = { .events = POLLIN };
	int fd = caller();

	p.fd = b->ops->fd(b->state, 0);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	return fd;
}

bool
is_cut(int fd)
{
	uint8_t byte;
	ssize_t got;

	do {
		got = recv(fd, &byte, 1, MSG_DONTWAIT);
	} while (got > 0);
	return got == 0 || errno != EAGAIN;
}

bool
comes_cut(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t byte;

	while (poll(&p, 1, PATIENCE) == 1 && recv(fd, &byte, 1, 0) > 0)
		;
	return is_cut(fd);
}

unsigned
take(struct bench *b, unsigned source, unsigned pairs, unsigned room)
{
	pairs_make(b, pairs);
	b->batch.room = room;
	ck_assert_int_eq(b->ops->receive(b->state, source, &b->batch), 0);
	guards_check(b);
	ck_assert_uint_le(b->batch.packets, RECEIVE_BATCH);
	for (unsigned i = 0; i < b->batch.packets; i++)
		pair_check(b, i);
	return b->batch.packets;
}

void
pass(struct bench *b, double seconds)
{
	struct receive_counts c;

	for (int i = 0; i < 10 * seconds; i++) {
		now_ns += SECOND / 10;
		b->ops->counts(b->state, 0, &c);
	}
}
