/* SPDX-License-Identifier: MIT */
/*
 * A receiver with real sockets: a thread sends, the receiver takes, places
 * and hands blocks on; at the end each packet is accounted for.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "flow/memory/arena.h"
#include "flow/receive/receiver.h"
#include "lib/stamps.h"
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

static const struct block_pool_args blocks = { .blocks = BLOCKS,
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

static void
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

static void
pool_open(void)
{
	struct fault fault;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(
	    arena_make(&arena, MOST * block_pool_need(&blocks), NULL, &fault),
	    0);
	while (arena_facts(arena).ready < arena_facts(arena).bytes)
		usleep(1000);
}

/* Its time window is closed: drained, flushed, and done. */
static void
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
static struct counts
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
static void
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

/* Waits until all that was sent is in the receiving sockets: on a busy machine
 * that takes a while even over loopback. */
static void
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

static const char one[] = "listen = [ \"127.0.0.1:0\" ];";

/* ---- one stream, and several ------------------------------------------ */

static void
sent_and_recorded(unsigned train, const char *options)
{
	struct receiver *r;
	struct sender sender;
	struct counts c;

	pool_open();
	stream_open(&stream[0], "udp", options);
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	sender_connect(&sender, &stream[0], 0);
	sender.train = train;
	sender.from = 1000000;
	pthread_create(&sender.thread, NULL, sender_run, &sender);
	pthread_join(sender.thread, NULL);
	stream_stop(r, &stream[0]);
	receiver_stop(r);
	c = stream_check(&stream[0]);
	sent_check(&stream[0], &c, SENT);
	ck_assert_uint_eq(c.placed, c.datagrams);
	close(sender.fd);
	stream_close(&stream[0]);
	arena_free(arena);
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
		stamps_wait();
		for (unsigned i = 0; i < 256; i += train)
			sender_send(&sender, i, train);
		sender_settle(&sender);
		/* All of it is in the socket before the receiver knows it. */
		ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber),
				 0);
		stream_stop(r, &stream[0]);
		receiver_stop(r);
		c = stream_check(&stream[0]);
		ck_assert_uint_eq(c.placed, 256);
		close(sender.fd);
		stream_close(&stream[0]);
		arena_free(arena);
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
		ck_assert_int_eq(receiver_subscribe(r, stream[i].subscriber),
				 0);
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
		sent_check(&stream[i], &c, i ? SENT : 2 * SENT);
		stream_close(&stream[i]);
	}
	receiver_stop(r);
	arena_free(arena);
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
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	do {
		sched_yield();
		counts_read(&c, &stream[0].subscriber->shown[0]);
	} while (c.datagrams < 20000);
	stream_stop(r, &stream[0]);
	c = stream_check(&stream[0]);
	ck_assert_uint_eq(c.datagrams, 20000);
	ck_assert_uint_eq(c.placed + c.drop[DROP_NO_BUFFER], 20000);
	ck_assert_uint_eq(c.runs, 1);
	receiver_stop(r);
	stream_close(&stream[0]);
	arena_free(arena);
}
END_TEST

/* It shows that it lives, with nothing to do too. */
static void
beats(const struct receiver *r)
{
	int64_t was = receiver_beat(r);

	while (receiver_beat(r) == was)
		sched_yield();
}

START_TEST(nothing_comes)
{
	struct receiver *r;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	beats(r);
	stream_open(&stream[0], "udp", one);
	ck_assert_int_eq(receiver_subscribe(r, stream[0].subscriber), 0);
	beats(r);
	stream_stop(r, &stream[0]);
	ck_assert_uint_eq(stream_check(&stream[0]).datagrams, 0);
	ck_assert_uint_eq(stream[0].blocks, 0);
	receiver_stop(r);
	stream_close(&stream[0]);
	arena_free(arena);
}
END_TEST

/* ---- floods, and where the thread runs ------------------------------- */

enum {
	FLOOD = 20000000, /* far more than anyone waits for */
	GEN = MOST - 1,
};

static const char endless[] = "packets = 20000000L; first = 77;";

/* Garbage as fast as it goes, of right and of wrong size. */
static void *
flood_run(void *arg)
{
	struct sender *s = arg;
	uint64_t n = 0;

	while (n < FLOOD && !atomic_load(&s->stop)) {
		sender_send(s, n * 0x9e3779b97f4a7c15, 1 + n % 2 * (TRAIN - 1));
		send(s->fd, "short", 5, 0);
		n++;
	}
	s->from = n;
	return NULL;
}

/*
 * Neighbours of a flooded stream, and of one that always has more, go on, a
 * burst at a time: the next is sent when the one before has come.  If they
 * had to wait for an end of the flood, it would come to its own first.
 */
START_TEST(a_flood_starves_nobody)
{
	struct sender flood, sender[MOST];
	struct receiver *r;
	struct counts c;

	pool_open();
	ck_assert_int_eq(receiver_start(&r, NULL), 0);
	for (unsigned i = 0; i < MOST; i++) {
		stream_open(&stream[i], i == GEN ? "gen" : "udp",
			    i == GEN ? endless : one);
		ck_assert_int_eq(receiver_subscribe(r, stream[i].subscriber),
				 0);
		if (i != GEN)
			sender_connect(&sender[i], &stream[i], 0);
	}
	flood = sender[0];
	pthread_create(&flood.thread, NULL, flood_run, &flood);
	for (uint64_t n = 0; n < SENT; n += TRAIN) {
		for (unsigned i = 1; i < GEN; i++)
			sender_send(&sender[i], n, TRAIN);
		for (unsigned i = 1; i < GEN; i++) {
			do
				counts_read(&c,
					    &stream[i].subscriber->shown[0]);
			while (c.datagrams < n + TRAIN && !sched_yield());
		}
	}
	atomic_store(&flood.stop, true);
	pthread_join(flood.thread, NULL);
	ck_assert_uint_lt(flood.from, FLOOD);
	counts_read(&c, &stream[GEN].subscriber->shown[0]);
	ck_assert_uint_lt(c.datagrams, FLOOD);
	for (unsigned i = 0; i < MOST; i++) {
		stream_stop(r, &stream[i]);
		c = stream_check(&stream[i]);
		if (i && i < GEN)
			ck_assert_uint_eq(c.placed, SENT);
		if (i != GEN)
			close(sender[i].fd);
		stream_close(&stream[i]);
	}
	receiver_stop(r);
	arena_free(arena);
}
END_TEST

/* A thread's own, by its name; -1. */
static int
thread_find(const char *name)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	int found = -1;

	while (dir && (e = readdir(dir))) {
		char file[300], comm[32] = "";
		FILE *f;

		snprintf(file, sizeof file, "/proc/self/task/%s/comm",
			 e->d_name);
		f = fopen(file, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof comm, f) &&
		    !strncmp(comm, name, strlen(name)))
			found = atoi(e->d_name);
		fclose(f);
	}
	closedir(dir);
	return found;
}

/* What may not be had is left out, and packets are received all the same. */
START_TEST(a_thread_runs_where_it_is_told)
{
	static const uint32_t cpu[] = { 0, 4000 };
	struct receiver_args args = { .priority = 3, .cpu = cpu, .cpus = 2 };
	struct receiver *r;
	cpu_set_t set;
	int thread, policy;

	log_level_set(LEVEL_ERROR);
	ck_assert_int_eq(receiver_start(&r, &args), 0);
	do
		thread = thread_find("spate-receive");
	while (thread < 0 && !sched_yield());
	ck_assert_int_eq(sched_getaffinity(thread, sizeof set, &set), 0);
	if (CPU_ISSET(0, &set))
		ck_assert_int_eq(CPU_COUNT(&set), 1);
	policy = sched_getscheduler(thread);
	ck_assert(policy == SCHED_FIFO || policy == SCHED_OTHER);
	if (policy == SCHED_OTHER)
		ck_assert_int_eq(
		    pthread_setschedparam(pthread_self(), SCHED_FIFO,
					  &(struct sched_param){ 3 }),
		    EPERM);
	receiver_stop(r);
}
END_TEST

SUITE_THREADS("receiver", NULL, nothing_comes, a_source_ends,
	      trains_are_recorded, singles_are_recorded,
	      a_stop_takes_what_has_arrived, streams_do_not_mix,
	      a_flood_starves_nobody, a_thread_runs_where_it_is_told)
