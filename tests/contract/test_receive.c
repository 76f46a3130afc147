/* SPDX-License-Identifier: MIT */
/*
 * What receive.h promises, asked of udp over real sockets and of gen.
 *
 * Pairs lie in memory with guards between them.  Each packet that was sent
 * has to be told once, in order, whole, and from where its bytes are; pairs
 * hold nothing but what was told to be there, guards nothing at all.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/conf.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "unit/suite.h"

enum { GUARD = 16, SENT = 4096, PATIENCE = 5000 /* ms, when nothing comes */ };

struct sent {
	uint32_t bytes, seed;
	bool foreign;
};

/* A plugin, open, and what stands around it. */
struct bench {
	const struct receive_ops *ops;
	struct receive_state *state;
	struct conf *conf;
	void *options;
	struct host host;
	uint32_t prefix, payload;
	uint8_t *memory; /* RECEIVE_BATCH pairs with guards */
	size_t step;
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch batch;
	unsigned want[2];
	char why[256];

	int from; /* the sender's socket */
	struct sent sent[SENT];
	unsigned sents, told;
	uint64_t calls;
};

static int64_t now_ns;

static int64_t
fake_now(void *ctx)
{
	(void)ctx;
	return now_ns;
}

static void __attribute__((format(printf, 3, 4)))
no_log(void *ctx, enum log_level level, const char *format, ...)
{
	(void)ctx;
	(void)level;
	(void)format;
}

static uint8_t
byte_of(uint32_t seed, uint32_t i)
{
	return (uint8_t)((seed * 2654435761u + i * 40503u) >> 11);
}

/* ---- the plugin ------------------------------------------------------ */

static const struct receive_ops *
plugin(const char *name)
{
	char file[4096];
	void *object;

	snprintf(file, sizeof file, "%s/receive-%s.so", getenv("SPATE_PLUGINS"),
		 name);
	object = dlopen(file, RTLD_NOW);
	ck_assert_msg(object, "%s", dlerror());
	return dlsym(object, "spate_receive");
}

static void
options_fill(struct bench *b, const char *text)
{
	struct fault fault = { 0 };
	char line[1024];
	struct conf_part part;

	ck_assert_int_eq(conf_open_text(&b->conf, text, "test", &fault), 0);
	b->options = calloc(1, b->ops->head.options_bytes);
	part = (struct conf_part){ b->ops->head.options, b->options };
	if (conf_fill(b->conf, conf_root(b->conf), &part, 1, NULL, &fault)) {
		fault_line(&fault, line, sizeof line);
		ck_abort_msg("%s", line);
	}
}

static int
bench_try(struct bench *b, const char *name, const char *options,
	  const struct format_ops *format, struct format_shape *shape)
{
	struct receive_args args = { .host = &b->host,
				     .prefix = shape->prefix,
				     .payload = shape->payload,
				     .format = format,
				     .shape = shape,
				     .why = b->why,
				     .why_bytes = sizeof b->why };

	memset(b, 0, sizeof *b);
	b->from = -1;
	b->host = (struct host){ .log = no_log, .now = fake_now };
	b->ops = plugin(name);
	b->prefix = shape->prefix;
	b->payload = shape->payload;
	b->step = (size_t)b->prefix + b->payload + 2 * GUARD;
	b->memory = malloc(RECEIVE_BATCH * b->step);
	b->want[0] = b->want[1] = RECEIVE_BATCH;
	options_fill(b, options);
	args.options = b->options;
	return b->ops->open(&b->state, &args);
}

static void
bench_free(struct bench *b)
{
	if (b->from >= 0)
		close(b->from);
	free(b->memory);
	free(b->options);
	conf_close(b->conf);
}

static void
bench_close(struct bench *b)
{
	b->ops->close(b->state);
	bench_free(b);
}

/* ---- a call ---------------------------------------------------------- */

static void
pairs_make(struct bench *b, unsigned pairs)
{
	for (size_t i = 0; i < RECEIVE_BATCH * b->step; i++)
		b->memory[i] = (uint8_t)(0xc3 + i * 5);
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		uint8_t *at = b->memory + i * b->step + GUARD;

		b->pair[i] = (struct receive_pair){ at, at + b->prefix + GUARD,
						    b->prefix, b->payload };
	}
	b->batch.pair = b->pair;
	b->batch.pairs = b->batch.want = pairs;
	b->batch.packets = 99;
}

static bool
untouched(const struct bench *b, const uint8_t *from, size_t bytes)
{
	for (const uint8_t *at = from; at < from + bytes; at++) {
		if (*at != (uint8_t)(0xc3 + (size_t)(at - b->memory) * 5))
			return false;
	}
	return true;
}

/* Nothing was written outside of pairs, nor into one beyond those given. */
static void
guards_check(const struct bench *b)
{
	for (unsigned i = 0; i < RECEIVE_BATCH; i++) {
		const uint8_t *at = b->memory + i * b->step;
		bool good = untouched(b, at, GUARD) &&
			    untouched(b, at + GUARD + b->prefix, GUARD);

		if (i >= b->batch.pairs)
			good = good && untouched(b, at, b->step);
		if (!good)
			ck_abort_msg("memory around pair %u was written", i);
	}
}

/* A packet never lies in another packet's pair. */
static void
pair_check(const struct bench *b, unsigned i)
{
	const struct receive_packet *k = &b->batch.packet[i];
	size_t off = (size_t)(k->payload - b->memory);

	if (k->payload < b->memory || off >= RECEIVE_BATCH * b->step)
		return;
	if (off / b->step != i)
		ck_abort_msg("packet %u lies in pair %zu", i, off / b->step);
}

/* One call; -errno, or how many packets there were. */
static int
receive(struct bench *b, unsigned source)
{
	int err;

	pairs_make(b, b->want[source]);
	err = b->ops->receive(b->state, source, &b->batch);
	guards_check(b);
	if (err)
		return err;
	ck_assert_uint_le(b->batch.packets, RECEIVE_BATCH);
	ck_assert_uint_ge(b->batch.want, 1);
	ck_assert_uint_le(b->batch.want, RECEIVE_BATCH);
	b->want[source] = b->batch.want;
	for (unsigned i = 0; i < b->batch.packets; i++)
		pair_check(b, i);
	return (int)b->batch.packets;
}

/* ---- udp ------------------------------------------------------------- */

/* Where the plugin listens: it was asked for any free port. */
static void
connect_to(struct bench *b, unsigned source)
{
	struct sockaddr_storage to;
	socklen_t length = sizeof to;

	ck_assert_int_eq(
	    getsockname(b->ops->fd(b->state, source), (void *)&to, &length), 0);
	if (b->from < 0)
		b->from = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(b->from, 0);
	ck_assert_int_eq(connect(b->from, (void *)&to, length), 0);
}

static void
udp_open(struct bench *b, const char *options, uint32_t prefix,
	 uint32_t payload)
{
	struct format_shape shape = { .prefix = prefix, .payload = payload };

	ck_assert_msg(bench_try(b, "udp", options, NULL, &shape) == 0, "%s",
		      b->why);
	connect_to(b, 0);
}

#define V4 "listen = [ \"127.0.0.1:0\" ];"

static void
send_bytes(struct bench *b, uint32_t bytes, uint32_t segment)
{
	static uint8_t data[65536];
	uint32_t done = 0;
	int gso = (int)segment;

	do {
		uint32_t n = bytes - done < segment ? bytes - done : segment;
		uint32_t seed = b->sents;

		ck_assert_uint_lt(b->sents, SENT);
		b->sent[b->sents++] = (struct sent){ n, seed, false };
		for (uint32_t i = 0; i < n; i++)
			data[done + i] = byte_of(seed, i);
		done += n;
	} while (done < bytes);
	if (bytes <= segment)
		gso = 0;
	ck_assert_int_eq(
	    setsockopt(b->from, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof gso), 0);
	ck_assert_int_eq(send(b->from, data, bytes, 0), bytes);
}

static void
send_one(struct bench *b, uint32_t bytes)
{
	send_bytes(b, bytes, bytes ? bytes : 1);
}

/* n segments of this size, and a last one of `tail` bytes. */
static void
send_train(struct bench *b, uint32_t segment, unsigned n, uint32_t tail)
{
	send_bytes(b, n * segment + tail, segment);
}

static void
packet_check(struct bench *b, unsigned i)
{
	const struct receive_packet *k = &b->batch.packet[i];
	const struct sent *s = &b->sent[b->told++];
	uint32_t size = b->prefix + b->payload;

	ck_assert_uint_le(b->told, b->sents);
	ck_assert_uint_eq((k->flags & RECEIVE_FOREIGN) != 0, s->foreign);
	if (s->bytes != size) {
		if (k->bytes == size && !(k->flags & RECEIVE_CUT))
			ck_abort_msg("datagram %u of %u bytes was told as one "
				     "of %u",
				     b->told - 1, s->bytes, size);
		return;
	}
	if (k->bytes != size || k->flags & RECEIVE_CUT)
		ck_abort_msg("good datagram %u was told as %u bytes",
			     b->told - 1, k->bytes);
	for (uint32_t j = 0; j < size; j++) {
		uint8_t is =
		    j < b->prefix ? k->prefix[j] : k->payload[j - b->prefix];

		if (is != byte_of(s->seed, j))
			ck_abort_msg("byte %u of datagram %u is wrong", j,
				     b->told - 1);
	}
}

static int
receive_told(struct bench *b, unsigned source)
{
	int n = receive(b, source);

	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++)
		packet_check(b, (unsigned)i);
	b->calls += n > 0;
	return n;
}

/* Takes what was sent, all of it, and then there is nothing. */
static void
take_all(struct bench *b)
{
	struct receive_counts c;

	while (b->told < b->sents) {
		struct pollfd p = { b->ops->fd(b->state, 0), POLLIN, 0 };

		if (receive_told(b, 0) == 0)
			ck_assert_msg(poll(&p, 1, PATIENCE) == 1,
				      "%u of %u datagrams came", b->told,
				      b->sents);
	}
	ck_assert_int_eq(receive_told(b, 0), 0);
	b->ops->counts(b->state, 0, &c);
	ck_assert_uint_eq(c.datagrams, b->told);
	ck_assert_uint_eq(c.calls, b->calls);
	ck_assert_uint_eq(c.overruns, 0);
}

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

enum { SECOND = 1000000000 };

/* Packets one by one, until it thinks nothing of trains any more. */
static void
singles(struct bench *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		send_one(b, b->prefix + b->payload);
		take_all(b);
	}
}

static bool
gro_is_on(struct bench *b)
{
	int on = 0;
	socklen_t length = sizeof on;

	getsockopt(b->ops->fd(b->state, 0), IPPROTO_UDP, UDP_GRO, &on, &length);
	return on != 0;
}

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

/* ---- gen ------------------------------------------------------------- */

/* The bare minimum of a format: a number in the prefix. */
static void
number_stamp(const struct format_shape *s, const struct format_packet *p,
	     void *prefix, void *payload)
{
	format_counter_write(s, p->sequence, prefix, payload);
}

static const struct format_ops number = { .stamp = number_stamp };

enum { MADE = 5000 };

struct made {
	unsigned times[MADE];
	unsigned packets, backwards;
	uint64_t sum;
};

static void
gen_run(const char *options, struct made *made)
{
	struct format_shape shape = { .prefix = 8,
				      .payload = 104,
				      .sequence = SEQUENCE_LE64,
				      .sequence_bits = 64,
				      .parts = 1 };
	static struct bench b;
	uint64_t last = 0;
	int n;

	*made = (struct made){ .packets = 0 };
	ck_assert_msg(bench_try(&b, "gen", options, &number, &shape) == 0, "%s",
		      b.why);
	ck_assert_uint_eq(b.ops->sources(b.state), 1);
	ck_assert_int_ge(b.ops->fd(b.state, 0), 0);
	while ((n = receive(&b, 0)) >= 0) {
		now_ns += SECOND / 1000;
		for (int i = 0; i < n; i++) {
			const struct receive_packet *k = &b.batch.packet[i];
			uint64_t at = read_le64(k->prefix) - 100;

			ck_assert_uint_eq(k->bytes, 112);
			ck_assert_uint_lt(at, MADE);
			made->times[at]++;
			made->backwards += at < last;
			made->sum = made->sum * 31 + read_le64(k->payload) + at;
			last = at;
			made->packets++;
		}
	}
	ck_assert_int_eq(n, -ENODATA);
	ck_assert_int_eq(receive(&b, 0), -ENODATA);
	bench_close(&b);
}

#define GEN "first = 100; packets = 5000; "

START_TEST(gen_makes_what_was_asked_for)
{
	static struct made made, again;
	unsigned lost = 0, twice = 0;

	gen_run(GEN, &made);
	for (int i = 0; i < MADE; i++)
		ck_assert_uint_eq(made.times[i], 1);
	ck_assert_uint_eq(made.backwards, 0);
	gen_run(GEN "loss = 0.1; reorder = 0.1; duplicate = 0.05;", &made);
	for (int i = 0; i < MADE; i++) {
		lost += made.times[i] == 0;
		twice += made.times[i] == 2;
		ck_assert_uint_le(made.times[i], 2);
	}
	/* Seeded, so these are the same every time; they only have to be
	 * near what was asked for. */
	ck_assert(lost > 350 && lost < 650);
	ck_assert(twice > 100 && twice < 400);
	ck_assert_uint_gt(made.backwards, 100);
	ck_assert_uint_eq(made.times[0], 1);
	ck_assert_uint_ge(made.times[MADE - 1], 1);
	gen_run(GEN "loss = 0.1; reorder = 0.1; duplicate = 0.05;", &again);
	ck_assert_mem_eq(&made, &again, sizeof made);
	gen_run(GEN "loss = 0.1; seed = 2;", &again);
	ck_assert_uint_ne(made.sum, again.sum);
	/* At a rate it makes the same, in time. */
	gen_run(GEN "gen_rate = \"100Mbps\";", &again);
	ck_assert_uint_eq(again.packets, MADE);
}
END_TEST

START_TEST(gen_refuses_to_lose_everything)
{
	struct format_shape shape = { .prefix = 8,
				      .payload = 100,
				      .sequence = SEQUENCE_LE64,
				      .parts = 1 };
	static struct bench b;

	ck_assert_int_eq(bench_try(&b, "gen", "loss = 1.0;", &number, &shape),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(b.why, "loss"));
	bench_free(&b);
}
END_TEST

SUITE("receive contract", udp_tells_every_datagram, udp_without_trains,
      udp_over_ipv6, udp_takes_a_backlog, udp_loses_nothing_between_sources,
      udp_switches_to_batches, udp_tries_trains_again,
      udp_knows_foreign_senders, udp_keeps_the_way_alive, udp_counts_overruns,
      udp_refuses_with_a_sentence, udp_shares_no_port,
      gen_makes_what_was_asked_for, gen_refuses_to_lose_everything)
