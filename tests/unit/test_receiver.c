/* SPDX-License-Identifier: MIT */
/*
 * A receiver with real sockets: a thread sends, the receiver takes, places
 * and hands blocks on; at the end each packet is accounted for.
 */
#include "flow/receiver.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "suite.h"

enum {
	PREFIX = 8,
	PAYLOAD = 1000,
	SIZE = PREFIX + PAYLOAD,
	SLOTS = 512,
	BLOCKS = 40,
	TRAIN = 32,
	SENT = 6000,
	MOST = 4
};

/* A stream: an intake with what it needs, and what came out of it. */
struct stream {
	const struct receive_ops *ops;
	struct receive_state *state;
	struct conf *conf;
	void *options;
	struct format_shape shape;
	struct stock *stock;
	struct intake *intake;
	uint64_t base, packets, blocks;
	bool bad;
	atomic_bool done;
};

static struct pool *pool;
static struct stream stream[MOST];

static int64_t
no_time(void *ctx)
{
	(void)ctx;
	return 0;
}

static void __attribute__((format(printf, 3, 4)))
no_log(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx;
	(void)level;
	(void)format;
}

static const struct host host = { .log = no_log, .now = no_time };

/* ---- the format ------------------------------------------------------ */

static void
parse(const struct format_shape *s, const void *prefix, const void *payload,
      struct format_packet *p)
{
	*p = (struct format_packet){ .has = FORMAT_READABLE | FORMAT_VALID };
	if (format_counter_read(s, prefix, payload, &p->sequence))
		p->has |= FORMAT_SEQUENCE;
}

static void
stamp(const struct format_shape *s, const struct format_packet *p, void *prefix,
      void *payload)
{
	format_counter_write(s, p->sequence, prefix, payload);
	memset(payload, (int)(p->sequence % 251), s->payload);
}

static const struct format_ops format = { .parse = parse, .stamp = stamp };

static const struct stock_args blocks = { .blocks = BLOCKS,
					  .slots = SLOTS,
					  .slot_bytes = PAYLOAD };

/* ---- a stream -------------------------------------------------------- */

static void
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

static void
done(void *arg)
{
	struct stream *s = arg;

	atomic_store(&s->done, true);
}

static void
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

static void
stream_open(struct stream *s, const char *plugin, const char *text)
{
	static const struct geometry geometry = {
		.payload = PAYLOAD,
		.parts = 1,
		.quantum = SLOTS,
		.slots = SLOTS,
		.block_bytes = (uint64_t)SLOTS * PAYLOAD,
	};
	struct intake_args args = { .name = "test", .done = done, .arg = s };
	struct place_args place;
	struct fault fault;

	*s = (struct stream){ .shape = { .prefix = PREFIX,
					 .payload = PAYLOAD,
					 .sequence = SEQUENCE_LE64,
					 .sequence_bits = 64,
					 .parts = 1 } };
	plugin_open(s, plugin, text);
	ck_assert_int_eq(pool_borrow(pool, &s->stock, &blocks, &fault), 0);
	args.ops = s->ops;
	args.state = s->state;
	args.shape = &s->shape;
	place = (struct place_args){ .format = &format,
				     .shape = &s->shape,
				     .geometry = &geometry,
				     .stock = s->stock,
				     .max_gap = 256 << 20,
				     .max_age = 2000000000,
				     .out = out,
				     .arg = s };
	args.place = &place;
	args.places = 1;
	ck_assert_int_eq(intake_make(&s->intake, &args), 0);
}

static void
stream_close(struct stream *s)
{
	intake_free(s->intake);
	s->ops->close(s->state);
	ck_assert_uint_eq(stock_home(s->stock), BLOCKS);
	stock_return(s->stock);
	free(s->options);
	conf_close(s->conf);
}

static void
pool_open(void)
{
	struct fault fault;

	log_level_set(LOG_ERROR);
	ck_assert_int_eq(pool_make(&pool, MOST * pool_need(&blocks), &fault),
			 0);
}

/* Removed from the receiver: flushed, and done. */
static void
stream_stop(struct receiver *r, struct stream *s)
{
	ck_assert_int_eq(receiver_remove(r, s->intake), 0);
	while (!atomic_load(&s->done))
		sched_yield();
}

/* Every datagram that was told is in a block, or in one of the drops. */
static struct counts
stream_check(struct stream *s)
{
	struct counts c;
	uint64_t dropped = 0;

	counts_read(&c, &s->intake->shown[0]);
	for (int i = 0; i < DROP_KINDS; i++)
		dropped += c.drop[i];
	ck_assert_uint_eq(c.datagrams, c.placed + dropped);
	ck_assert_uint_eq(c.placed, s->packets);
	ck_assert(!s->bad);
	return c;
}

/* ---- a sender -------------------------------------------------------- */

struct sender {
	pthread_t thread;
	int fd;
	uint64_t from;
	unsigned train; /* packets per call */
};

static void
sender_connect(struct sender *to, const struct stream *s, unsigned source)
{
	struct sockaddr_storage at;
	socklen_t length = sizeof at;

	*to = (struct sender){ .train = TRAIN };
	getsockname(s->ops->fd(s->state, source), (void *)&at, &length);
	to->fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(to->fd, (void *)&at, length), 0);
}

static void
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

/* Slower than any receiver, so that no socket overflows. */
static void *
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

/* ---- tests ----------------------------------------------------------- */

static const char one[] = "listen = [ \"127.0.0.1:0\" ];";

static void
sent_and_recorded(unsigned train, const char *options)
{
	struct receiver *r;
	struct sender sender;
	struct counts c;

	pool_open();
	stream_open(&stream[0], "udp", options);
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	ck_assert_int_eq(receiver_add(r, stream[0].intake), 0);
	sender_connect(&sender, &stream[0], 0);
	sender.train = train;
	sender.from = 1000000;
	pthread_create(&sender.thread, NULL, sender_run, &sender);
	pthread_join(sender.thread, NULL);
	stream_stop(r, &stream[0]);
	receiver_stop(r);
	c = stream_check(&stream[0]);
	ck_assert_uint_eq(c.datagrams + stream[0].intake->overruns, SENT);
	ck_assert_uint_eq(c.placed, c.datagrams);
	close(sender.fd);
	stream_close(&stream[0]);
	pool_free(pool);
}

START_TEST(trains_are_recorded)
{
	sent_and_recorded(TRAIN, one);
}
END_TEST

START_TEST(singles_are_recorded)
{
	sent_and_recorded(1, one);
	sent_and_recorded(1, "listen = [ \"127.0.0.1:0\" ]; gro = false;");
}
END_TEST

/* What is in the socket at the stop belongs to the recording. */
START_TEST(a_stop_takes_what_has_arrived)
{
	for (unsigned train = 1; train <= TRAIN; train += TRAIN - 1) {
		struct receiver *r;
		struct sender sender;
		struct counts c;

		pool_open();
		stream_open(&stream[0], "udp", one);
		ck_assert_int_eq(receiver_start(&r, NULL), 0);
		sender_connect(&sender, &stream[0], 0);
		for (unsigned i = 0; i < 256; i += train)
			sender_send(&sender, i, train);
		/* All of it is in the socket before the receiver knows it. */
		ck_assert_int_eq(receiver_add(r, stream[0].intake), 0);
		stream_stop(r, &stream[0]);
		receiver_stop(r);
		c = stream_check(&stream[0]);
		ck_assert_uint_eq(c.placed, 256);
		close(sender.fd);
		stream_close(&stream[0]);
		pool_free(pool);
	}
}
END_TEST

/* Several streams on one receiver, one of two sockets; each its own. */
START_TEST(streams_do_not_mix)
{
	static const char two[] = "listen = [ \"127.0.0.1:0\", \"[::1]:0\" ];";
	struct sender sender[MOST + 1];
	struct receiver *r;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	for (unsigned i = 0; i < MOST; i++) {
		stream_open(&stream[i], "udp", i ? one : two);
		ck_assert_int_eq(receiver_add(r, stream[i].intake), 0);
		sender_connect(&sender[i], &stream[i], 0);
		sender[i].from = i * 100000;
	}
	sender_connect(&sender[MOST], &stream[0], 1);
	sender[MOST].from = SENT;
	for (unsigned i = 0; i <= MOST; i++)
		pthread_create(&sender[i].thread, NULL, sender_run, &sender[i]);
	for (unsigned i = 0; i <= MOST; i++) {
		pthread_join(sender[i].thread, NULL);
		close(sender[i].fd);
	}
	for (unsigned i = 0; i < MOST; i++) {
		struct counts c;

		stream_stop(r, &stream[i]);
		c = stream_check(&stream[i]);
		ck_assert_uint_eq(c.datagrams + stream[i].intake->overruns,
				  i ? SENT : 2 * SENT);
		stream_close(&stream[i]);
	}
	receiver_stop(r);
	pool_free(pool);
}
END_TEST

/* A source that ends by itself leaves the receiver in peace. */
START_TEST(a_source_ends)
{
	struct receiver *r;
	struct counts c;

	pool_open();
	stream_open(&stream[0], "gen", "packets = 20000; first = 77;");
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	ck_assert_int_eq(receiver_add(r, stream[0].intake), 0);
	do {
		sched_yield();
		counts_read(&c, &stream[0].intake->shown[0]);
	} while (c.datagrams < 20000);
	stream_stop(r, &stream[0]);
	c = stream_check(&stream[0]);
	ck_assert_uint_eq(c.datagrams, 20000);
	ck_assert_uint_eq(c.placed + c.drop[DROP_NO_BUFFER], 20000);
	ck_assert_uint_eq(c.runs, 1);
	receiver_stop(r);
	stream_close(&stream[0]);
	pool_free(pool);
}
END_TEST

START_TEST(nothing_comes)
{
	struct receiver *r;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	stream_open(&stream[0], "udp", one);
	ck_assert_int_eq(receiver_add(r, stream[0].intake), 0);
	stream_stop(r, &stream[0]);
	ck_assert_uint_eq(stream_check(&stream[0]).datagrams, 0);
	ck_assert_uint_eq(stream[0].blocks, 0);
	receiver_stop(r);
	stream_close(&stream[0]);
	pool_free(pool);
}
END_TEST

SUITE("receiver", nothing_comes, a_source_ends, trains_are_recorded,
      singles_are_recorded, a_stop_takes_what_has_arrived, streams_do_not_mix)
