/* SPDX-License-Identifier: MIT */
#include "contract/send_udp_bench.h"

char why[SEND_SENTENCE], logged[512];
unsigned lines;
int ear[PORTS];
uint8_t heads[4096], data[2 << 20];

static void __attribute__((format(printf, 3, 4)))
keep_log(void *ctx, enum log_level level, const char *format, ...)
{
	va_list args;

	(void)ctx;
	(void)level;
	va_start(args, format);
	vsnprintf(logged, sizeof logged, format, args);
	va_end(args);
	lines++;
}

static const struct host host = { .log = keep_log };

static void
options_fill(struct bench *b, const char *text)
{
	struct conf_part part;
	struct fault fault;

	ck_assert_int_eq(conf_open_text(&b->conf, text, "test", &fault), 0);
	b->options = calloc(1, b->ops->head.options_bytes);
	part = (struct conf_part){ b->ops->head.options, b->options };
	ck_assert_int_eq(
	    conf_fill(b->conf, conf_root(b->conf), &part, 1, NULL, &fault), 0);
}

int
bench_try(struct bench *b, const char *options, const char *to, unsigned subs)
{
	struct fault fault;
	struct send_args args = { .host = &host,
				  .to = to,
				  .subs = subs,
				  .transfer = 1,
				  .name = "test",
				  .why = why,
				  .why_bytes = sizeof why };

	why[0] = logged[0] = 0;
	lines = 0;
	*b = (struct bench){ 0 };
	ck_assert_int_eq(module_send("udp", &b->ops, &fault), 0);
	options_fill(b, options);
	args.options = b->options;
	return b->ops->open(&b->state, &args);
}

void
bench_drop(struct bench *b)
{
	free(b->options);
	conf_close(b->conf);
}

void
bench_close(struct bench *b)
{
	b->ops->close(b->state);
	bench_drop(b);
}

struct send_facts
facts_of(struct bench *b)
{
	struct send_facts f;

	b->ops->facts(b->state, &f);
	return f;
}

void
send_all(struct bench *b, struct send_run *run, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint64_t taken, before = b->ops->release(b->state);
		int64_t until = INT64_MAX;
		struct pollfd fd;

		ck_assert_int_eq(b->ops->send(b->state, &run[i], 1, &taken), 0);
		ck_assert_uint_eq(b->ops->release(b->state), before + taken);
		if (taken == run[i].packets)
			continue;
		if (run[i].head)
			run[i].head += taken * run[i].head_stride;
		run[i].data += taken * run[i].data_stride;
		run[i].packets -= (uint32_t)taken;
		poll(&fd, b->ops->poll(b->state, &fd, 1, &until),
		     until == INT64_MAX ? 1000 : 1);
		i--;
	}
}

unsigned
listen_on(int family, unsigned ports)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	const int room = ROOM;
	socklen_t bytes = family == AF_INET ? sizeof at.v4 : sizeof at.v6;
	unsigned first = 0, i = 0;

	for (unsigned tries = 0; i < ports && tries < 1000; tries++) {
		memset(&at, 0, sizeof at);
		at.any.sa_family = (sa_family_t)family;
		at.v6.sin6_addr = in6addr_loopback;
		if (family == AF_INET) {
			memset(&at, 0, sizeof at);
			at.any.sa_family = AF_INET;
			at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		}
		at.v4.sin_port = htons(i ? (uint16_t)(first + i) : 0);
		ear[i] = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		ck_assert_int_ge(ear[i], 0);
		if (setsockopt(ear[i], SOL_SOCKET, SO_RCVBUFFORCE, &room,
			       sizeof room) < 0)
			setsockopt(ear[i], SOL_SOCKET, SO_RCVBUF, &room,
				   sizeof room);
		if (bind(ear[i], &at.any, bytes) < 0) {
			while (i + 1 > 0 && i < PORTS)
				close(ear[i--]);
			i = 0;
			continue;
		}
		if (!i) {
			getsockname(ear[0], &at.any, &bytes);
			first = ntohs(at.v4.sin_port);
		}
		i++;
	}
	ck_assert_uint_eq(i, ports);
	return first;
}

void
deafen(unsigned ports)
{
	for (unsigned i = 0; i < ports; i++)
		close(ear[i]);
}

void
heard(int fd, uint32_t n, uint32_t head, uint32_t body)
{
	static uint8_t packet[LONGEST];
	struct pollfd come = { .fd = fd, .events = POLLIN };
	ssize_t got;

	poll(&come, 1,
	     10000); /* between network namespaces it takes a moment */
	got = recv(fd, packet, sizeof packet, 0);
	ck_assert_int_eq(got, head + body);
	for (uint32_t i = 0; i < head; i++)
		ck_assert_uint_eq(packet[i], (uint8_t)(n + i));
	ck_assert(noise_is(n, 0, packet + head, body));
}

void
silence(int fd)
{
	char c;

	ck_assert_int_lt(recv(fd, &c, 1, 0), 0);
	ck_assert_int_eq(errno, EAGAIN);
}

struct send_run
run_make(uint32_t n, uint32_t head, uint32_t bytes, uint32_t skip)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < head; j++)
			heads[i * head + j] = (uint8_t)(i + j);
		noise_fill(i, 0, data + i * (bytes + skip), bytes);
		memset(data + i * (bytes + skip) + bytes, 0xee, skip);
	}
	return (struct send_run){ .head = head ? heads : NULL,
				  .data = data,
				  .head_bytes = head,
				  .head_stride = head,
				  .data_bytes = bytes,
				  .data_stride = bytes + skip,
				  .packets = n };
}

void
look_at(struct bench *b, uint32_t n, uint32_t head, uint32_t bytes,
	uint32_t skip)
{
	struct send_run run = run_make(n, head, bytes, skip);

	/* No more than surely fit in the ear. */
	send_all(b, &run, 1);
	for (uint32_t i = 0; i < n; i++)
		heard(ear[0], i, head, bytes);
	silence(ear[0]);
}
