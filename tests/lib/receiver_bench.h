/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_RECEIVER_BENCH_H
#define SPATE_TESTS_RECEIVER_BENCH_H

#include <dlfcn.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "flow/memory/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "flow/receive/receiver.h"
#include "lib/suite.h"

/*
 * Streams with real sockets, and senders to them.  What comes out of a stream
 * is counted, and its bytes are looked at; then each packet is accounted for.
 */
enum {
	PREFIX = 8,
	PAYLOAD = 1000,
	SIZE = PREFIX + PAYLOAD,
	SLOTS = 512,
	BLOCKS = 40,
	TRAIN = 32,
	SENT = 6016,
	MOST = 4
};

/* A stream: an intake with what it needs, and what came out of it. */
struct stream {
	const struct receive_ops *ops;
	struct receive_state *state;
	struct conf *conf;
	void *options;
	struct format_shape shape;
	struct block_pool *pool;
	struct intake *intake;
	struct subscriber *subscriber;
	uint64_t base, packets, blocks;
	bool bad;
	atomic_bool done;
};

static struct arena *arena;
static struct stream stream[MOST];

static inline int64_t
no_time(void *ctx)
{
	(void)ctx;
	return 0;
}

static inline void __attribute__((format(printf, 3, 4)))
no_log(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx;
	(void)level;
	(void)format;
}

static const struct host host = { .log = no_log, .now = no_time };

/* ---- the format ------------------------------------------------------ */

static inline void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_READABLE | FORMAT_VALID };
	if (format_counter_read(s, prefix, payload, &p->sequence))
		p->has |= FORMAT_SEQUENCE;
}

static inline void
stamp(const struct format_shape *s, const struct format_packet *p, void *prefix,
      void *payload)
{
	format_counter_write(s, p->sequence, prefix, payload);
	memset(payload, (int)(p->sequence % 251), s->payload);
}

static const struct format_ops format = { .parse = parse, .stamp = stamp };

static const struct block_pool_args blocks = { .blocks = BLOCKS,
					       .slots = SLOTS,
					       .slot_bytes = PAYLOAD };

/* ---- a stream -------------------------------------------------------- */

static inline void
out(void *arg, struct block *b)
{
	struct stream *s = arg;

	for (uint32_t i = 0; i < b->used; i++) {
		uint8_t byte = (uint8_t)((b->base + b->first + i) % 251);
		const uint8_t *at = block_slot(b, i);

		if (!block_has(b, i))
			continue;
		s->packets++;
		s->bad |= at[0] != byte || at[PAYLOAD / 2] != byte ||
			  at[PAYLOAD - 1] != byte;
	}
	s->blocks++;
	block_seal(b);
	block_drop(b);
}

static inline void
done(void *arg)
{
	struct stream *s = arg;

	atomic_store(&s->done, true);
}

static inline void
plugin_open(struct stream *s, const char *name, const char *text)
{
	struct fault fault;
	char file[4096], why[256] = "";
	struct conf_part part;
	struct receive_args args = { .host = &host,
				     .prefix = PREFIX,
				     .payload = PAYLOAD,
				     .format = &format,
				     .shape = &s->shape,
				     .why = why,
				     .why_bytes = sizeof why };
	void *object;

	snprintf(file, sizeof file, "%s/receive-%s.so", getenv("SPATE_PLUGINS"),
		 name);
	object = dlopen(file, RTLD_NOW);
	ck_assert_msg(object, "%s", dlerror());
	s->ops = dlsym(object, "spate_receive");
	ck_assert_int_eq(conf_open_text(&s->conf, text, "test", &fault), 0);
	s->options = calloc(1, s->ops->head.options_bytes);
	part = (struct conf_part){ s->ops->head.options, s->options };
	ck_assert_int_eq(
	    conf_fill(s->conf, conf_root(s->conf), &part, 1, NULL, &fault), 0);
	args.options = s->options;
	ck_assert_msg(s->ops->open(&s->state, &args) == 0, "%s", why);
}

static inline void
stream_open(struct stream *s, const char *plugin, const char *text)
{
	static const struct geometry geometry = {
		.payload = PAYLOAD,
		.parts = 1,
		.quantum = SLOTS,
		.slots = SLOTS,
		.block_bytes = (uint64_t)SLOTS * PAYLOAD,
	};
	struct intake_args args = { .name = "test",
				    .format = &format,
				    .slots = SLOTS,
				    .placements = 1 };
	struct subscriber_args subscriber = {
		.name = "test",
		.time_window = { INT64_MIN, INT64_MAX, false },
		.done = done,
		.arg = s
	};
	struct placement_args placement;
	struct fault fault;

	*s = (struct stream){ .shape = { .prefix = PREFIX,
					 .payload = PAYLOAD,
					 .sequence = SEQUENCE_LE64,
					 .sequence_bits = 64,
					 .parts = 1 } };
	plugin_open(s, plugin, text);
	ck_assert_int_eq(block_pool_borrow(arena, &s->pool, &blocks, &fault),
			 0);
	args.ops = s->ops;
	args.state = s->state;
	args.shape = &s->shape;
	placement = (struct placement_args){ .format = &format,
					     .shape = &s->shape,
					     .geometry = &geometry,
					     .pool = s->pool,
					     .max_gap = 256 << 20,
					     .max_age = 2000000000,
					     .out = out,
					     .arg = s };
	subscriber.placement = &placement;
	ck_assert_int_eq(intake_make(&s->intake, &args), 0);
	ck_assert_int_eq(
	    subscriber_make(&s->subscriber, s->intake, &subscriber), 0);
}

static inline void
stream_close(struct stream *s)
{
	subscriber_free(s->subscriber);
	intake_free(s->intake);
	s->ops->close(s->state);
	ck_assert_uint_eq(block_pool_free_blocks(s->pool), BLOCKS);
	block_pool_return(s->pool);
	free(s->options);
	conf_close(s->conf);
}

static inline void
pool_open(void)
{
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(
	    arena_make(&arena, MOST * block_pool_need(&blocks), NULL, &fault),
	    0);
}

/* Its time window is closed: drained, flushed, and done. */
static inline void
stream_stop(struct receiver *r, struct stream *s)
{
	const struct time_window time_window = { INT64_MIN, clock_steady(),
						 false };

	subscriber_order(s->subscriber, &time_window);
	receiver_look(r);
	while (!atomic_load(&s->done))
		sched_yield();
}

/* Every datagram that was told is in a block, or in one of the drops. */
static inline struct counts
stream_check(struct stream *s)
{
	struct counts c;
	uint64_t dropped = 0;

	counts_read(&c, &s->subscriber->shown[0]);
	for (int i = 0; i < DROP_KINDS; i++)
		dropped += c.drop[i];
	ck_assert_uint_eq(c.datagrams, c.placed + dropped);
	ck_assert_uint_eq(c.placed, s->packets);
	ck_assert(!s->bad);
	return c;
}

/* The kernel counts a train that it lost as one. */
static inline void
sent_check(const struct stream *s, const struct counts *c, uint64_t sent)
{
	ck_assert_uint_le(c->datagrams, sent);
	ck_assert_uint_ge(c->datagrams + TRAIN * s->subscriber->overruns, sent);
}

/* ---- a sender -------------------------------------------------------- */

struct sender {
	pthread_t thread;
	int fd;
	uint64_t from;
	unsigned train; /* packets per call */
	atomic_bool stop;
};

static inline void
sender_connect(struct sender *to, const struct stream *s, unsigned source)
{
	struct sockaddr_storage at;
	socklen_t length = sizeof at;

	*to = (struct sender){ .train = TRAIN };
	getsockname(s->ops->fd(s->state, source), (void *)&at, &length);
	to->fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(to->fd, (void *)&at, length), 0);
}

static inline void
sender_send(const struct sender *s, uint64_t from, unsigned n)
{
	static _Thread_local uint8_t data[TRAIN * SIZE];
	int gso = SIZE;

	if (n > 1)
		setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof gso);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *at = data + i * SIZE;

		write_le64(at, from + i);
		memset(at + PREFIX, (int)((from + i) % 251), PAYLOAD);
	}
	if (send(s->fd, data, (size_t)n * SIZE, 0) != (ssize_t)n * SIZE)
		abort();
}

/* Waits until all that was sent is in the receiving sockets: on a busy machine
 * that takes a while even over loopback. */
static inline void
sender_settle(const struct sender *s)
{
	int left = 1;

	for (int i = 0; i < 10000 && left; i++) {
		if (ioctl(s->fd, SIOCOUTQ, &left) < 0)
			abort();
		if (left)
			usleep(1000);
	}
}

/* Slower than any receiver, so that no socket overflows. */
static inline void *
sender_run(void *arg)
{
	const struct sender *s = arg;

	for (unsigned i = 0; i < SENT; i += s->train) {
		sender_send(s, s->from + i,
			    SENT - i < s->train ? SENT - i : s->train);
		if (i % 256 == 0)
			usleep(1000);
	}
	return NULL;
}

static const char one[] = "listen = [ \"127.0.0.1:0\" ];";

#endif
