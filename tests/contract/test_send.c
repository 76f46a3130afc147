/* SPDX-License-Identifier: MIT */
/* What every send plugin has to do, whatever it sends by. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "contract/send.h"
#include "lib/dice.h"
#include "lib/noise.h"
#include "lib/suite.h"
#include "wire/frame.h"

/*
 * A peer is what a send plugin talks to in the contract test: the smallest
 * thing that hears it.  It writes the bytes of packets one behind the other to
 * `heard`.  It is served between calls of the plugin, in the same thread, and
 * does not read while it is not served.
 *
 * A new plugin gets one here, or a line that says where it is tested instead.
 */
enum { HEARD = 64 << 20 };

static uint8_t *heard;
static uint64_t heard_bytes;

struct peer {
	const char *plugin;
	const char *what;
	void (*open)(char *url, size_t bytes); /* NULL: tested elsewhere */
	void (*serve)(void);
	void (*close)(void);
	bool plain; /* bytes without packets: send_args::plain */
	bool heads; /* they may have heads */
	bool hears; /* it is not nowhere */
	bool holds; /* when it does not read, the plugin has to wait */
};

static void
heard_clear(void)
{
	if (!heard)
		heard = malloc(HEARD);
	heard_bytes = 0;
}

static void
hear(const void *data, size_t bytes)
{
	ck_assert_uint_le(heard_bytes + bytes, HEARD);
	memcpy(heard + heard_bytes, data, bytes);
	heard_bytes += bytes;
}

static int peer_door = -1, peer_line = -1;

static uint16_t
peer_bind(int type)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof a;
	int room = 1 << 20;

	peer_door = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (type == SOCK_STREAM)
		room = 65536;
	setsockopt(peer_door, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	ck_assert_int_eq(bind(peer_door, (void *)&a, length), 0);
	ck_assert_int_eq(getsockname(peer_door, (void *)&a, &length), 0);
	return ntohs(a.sin_port);
}

static void
peer_close(void)
{
	if (peer_line >= 0)
		close(peer_line);
	if (peer_door >= 0)
		close(peer_door);
	peer_line = peer_door = -1;
}

/* ---- nowhere --------------------------------------------------------- */

static void
null_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "null:");
}

static void
null_peer_serve(void)
{
}

/* ---- datagrams ------------------------------------------------------- */

static void
udp_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "udp://127.0.0.1:%u", peer_bind(SOCK_DGRAM));
}

static void
udp_peer_serve(void)
{
	uint8_t datagram[65536];
	ssize_t n;

	while ((n = recv(peer_door, datagram, sizeof datagram, 0)) > 0)
		hear(datagram, (size_t)n);
}

/* ---- bytes ----------------------------------------------------------- */

static void
tcp_peer_open(char *url, size_t bytes)
{
	snprintf(url, bytes, "tcp://127.0.0.1:%u", peer_bind(SOCK_STREAM));
	ck_assert_int_eq(listen(peer_door, 4), 0);
}

static bool
tcp_accept(void)
{
	if (peer_line < 0)
		peer_line = accept4(peer_door, NULL, NULL,
				    SOCK_NONBLOCK | SOCK_CLOEXEC);
	return peer_line >= 0;
}

/* When the plugin has ended, so does it. */
static void
tcp_peer_serve(void)
{
	uint8_t bytes[65536];
	ssize_t n = -1;

	while (tcp_accept() &&
	       (n = recv(peer_line, bytes, sizeof bytes, 0)) > 0)
		hear(bytes, (size_t)n);
	if (n == 0) {
		close(peer_line);
		peer_line = -1;
	}
}

/* ---- spate's frames -------------------------------------------------- */

static struct {
	uint8_t in[WIRE_HEADER_MOST + WIRE_PAYLOAD_MOST];
	size_t got;
	uint64_t next;
} framed_peer;

static void
framed_peer_open(char *url, size_t bytes)
{
	memset(&framed_peer, 0, sizeof framed_peer);
	tcp_peer_open(url, bytes);
}

static void
framed_have(void)
{
	const struct wire_frame f = { .type = WIRE_HAVE,
				      .first = framed_peer.next };
	uint8_t out[WIRE_HEADER];

	wire_pack(&f, out, crc32c);
	ck_assert_int_eq(send(peer_line, out, sizeof out, MSG_NOSIGNAL),
			 sizeof out);
}

/* One whole frame from what came; its length, or 0. */
static size_t
framed_one(void)
{
	struct wire_frame f;
	const uint8_t *payload;
	size_t all;

	if (framed_peer.got < WIRE_HEADER)
		return 0;
	ck_assert_ptr_null(wire_unpack(&f, framed_peer.in, crc32c));
	all = f.header_bytes + (size_t)f.payload_bytes;
	if (framed_peer.got < all)
		return 0;
	payload = framed_peer.in + f.header_bytes;
	ck_assert_uint_eq(crc32c(0, payload, f.payload_bytes), f.payload_crc);
	if (f.type == WIRE_DATA && f.packets) {
		ck_assert_uint_eq(f.first, framed_peer.next);
		framed_peer.next += f.packets;
		hear(payload, f.payload_bytes);
	} else if (f.type != WIRE_DATA) {
		framed_have();
	}
	return all;
}

static void
framed_peer_serve(void)
{
	size_t used;
	ssize_t n;

	if (!tcp_accept())
		return;
	do {
		n = recv(peer_line, framed_peer.in + framed_peer.got,
			 sizeof framed_peer.in - framed_peer.got, 0);
		if (n > 0)
			framed_peer.got += (size_t)n;
		while ((used = framed_one())) {
			framed_peer.got -= used;
			memmove(framed_peer.in, framed_peer.in + used,
				framed_peer.got);
		}
	} while (n > 0);
}

static const struct peer peers[] = {
	{ "null", "nowhere", null_peer_open, null_peer_serve, peer_close,
	  .heads = true },
	{ "udp", "datagrams", udp_peer_open, udp_peer_serve, peer_close,
	  .heads = true, .hears = true },
	{ "tcp", "plain", tcp_peer_open, tcp_peer_serve, peer_close,
	  .plain = true, .hears = true, .holds = true },
	{ "tcp", "frames", framed_peer_open, framed_peer_serve, peer_close,
	  .hears = true, .holds = true },
	{ "etd", "test_send_etd.c", .open = NULL },
	{ "ucx", "test_send_ucx.c", .open = NULL },
};

/*
 * A bench is an open send plugin and what was given to it.  The memory of each
 * run is its own; it is freed as soon as the plugin has released it, so that
 * a sanitizer sees who looks at it later, and spoiled before that.
 *
 * What is sent is packets of one size, whose bytes follow from their number,
 * so a peer that has bytes one behind the other can tell which they are.
 */
enum { DATA = 1000, MEMORIES = 4096 };

struct memory {
	uint8_t *data;
	size_t bytes;
	uint64_t until; /* taken, when its last packet was */
};

struct bench {
	const struct send_ops *ops;
	struct send_state *state;
	const struct peer *peer;
	struct host host;
	struct conf *conf;
	void *options;
	uint32_t head;	   /* bytes */
	uint64_t made;	   /* packets */
	uint64_t taken;	   /* of those */
	uint64_t released; /* the same */
	struct memory memory[MEMORIES];
	unsigned memories, freed;
	/* The run that is being given. */
	struct send_run run;
	struct dice dice;
	char why[SEND_SENTENCE];
};

static struct bench bench;
static bool zerocopy_ok = true; /* of the next that is opened */

/* ---- making ---------------------------------------------------------- */

static void
options_fill(struct bench *b)
{
	struct fault fault = { 0 };
	struct conf_part part;

	b->options = calloc(1, b->ops->head.options_bytes + 1);
	if (!b->ops->head.options)
		return;
	ck_assert_int_eq(conf_open_text(&b->conf, "", "test", &fault), 0);
	part = (struct conf_part){ b->ops->head.options, b->options };
	ck_assert_int_eq(
	    conf_fill(b->conf, conf_root(b->conf), &part, 1, NULL, &fault), 0);
}

/* Texts among them are the configuration's. */
static void
options_free(struct bench *b)
{
	free(b->options);
	if (b->conf)
		conf_close(b->conf);
}

static struct bench *
bench_open(const struct send_ops *ops, const struct peer *peer, uint32_t head)
{
	struct bench *b = &bench;
	char url[128] = "";
	struct send_args args = { .host = &b->host,
				  .to = url,
				  .head_bytes = head,
				  .data_bytes = DATA,
				  .subs = 1,
				  .connections = 1,
				  .plain = peer->plain,
				  .transfer = 99,
				  .zerocopy_ok = zerocopy_ok,
				  .name = "test",
				  .why = b->why,
				  .why_bytes = sizeof b->why };

	memset(b, 0, sizeof *b);
	b->ops = ops;
	b->peer = peer;
	b->head = head;
	b->host = log_host("test");
	b->dice = (struct dice){ 5 };
	options_fill(b);
	args.options = b->options;
	heard_clear();
	peer->open(url, sizeof url);
	ck_assert_msg(ops->check(&args) == 0, "%s", b->why);
	ck_assert_msg(ops->open(&b->state, &args) == 0, "%s", b->why);
	return b;
}

static void
memory_free(struct bench *b)
{
	while (b->freed < b->memories &&
	       b->memory[b->freed].until <= b->released) {
		struct memory *m = &b->memory[b->freed++];

		memset(m->data, 0xee, m->bytes);
		free(m->data);
	}
}

static void
bench_close(struct bench *b)
{
	b->ops->close(b->state);
	b->released = UINT64_MAX;
	memory_free(b);
	b->peer->close();
	options_free(b);
}

/* ---- giving ---------------------------------------------------------- */

/* Memory for some packets: heads, and data that are so far apart. */
static void
run_make(struct bench *b, uint32_t packets, uint32_t gap)
{
	uint32_t stride = DATA + gap;
	size_t heads = (size_t)packets * b->head;
	struct memory m = { .bytes = heads + (size_t)packets * stride };
	uint8_t *data;

	ck_assert_uint_lt(b->memories, MEMORIES);
	m.data = malloc(m.bytes);
	m.until = b->made + packets;
	data = m.data + heads;
	memset(m.data, 0xdd, m.bytes);
	for (uint32_t i = 0; i < packets; i++) {
		uint8_t *head = m.data + (size_t)i * b->head;

		noise_fill(b->made + i, 0, head, b->head);
		noise_fill(b->made + i, b->head, data + (size_t)i * stride,
			   DATA);
	}
	b->run = (struct send_run){ .head = b->head ? m.data : NULL,
				    .data = data,
				    .head_bytes = b->head,
				    .head_stride = b->head,
				    .data_bytes = DATA,
				    .data_stride = stride,
				    .packets = packets,
				    .first = b->made };
	b->memory[b->memories++] = m;
	b->made += packets;
}

static void
run_took(struct bench *b, uint64_t n)
{
	struct send_run *r = &b->run;

	ck_assert_uint_le(n, r->packets);
	b->taken += n;
	r->packets -= (uint32_t)n;
	r->first += n;
	r->data += n * r->data_stride;
	if (r->head)
		r->head += n * r->head_stride;
}

static void
release(struct bench *b)
{
	uint64_t released = b->ops->release(b->state);

	ck_assert_uint_ge(released, b->released);
	ck_assert_uint_le(released, b->taken);
	b->released = released;
	memory_free(b);
}

/* Sleeps as the core does, at most 20 ms. */
static void
bench_wait(struct bench *b)
{
	struct pollfd fd[300];
	int64_t until = clock_steady() + 20000000, left;
	unsigned n = b->ops->poll(b->state, fd, 300, &until);

	ck_assert_uint_le(n, 300);
	left = until - clock_steady();
	poll(fd, n, left > 0 ? (int)(left / 1000000) + 1 : 0);
}

/* Gives what is left of the run, once; returns what was taken. */
static uint64_t
give(struct bench *b)
{
	uint64_t taken = 0;
	int err = b->ops->send(b->state, &b->run, b->run.packets > 0, &taken);

	if (err == -EAGAIN) {
		ck_assert_uint_eq(taken, 0);
		return 0;
	}
	ck_assert_int_eq(err, 0);
	run_took(b, taken);
	return taken;
}

/* All of it, while the peer reads. */
static void
give_all(struct bench *b)
{
	while (b->run.packets) {
		if (!give(b))
			bench_wait(b);
		b->peer->serve();
		release(b);
	}
}

/* Until it is connected: it is called with nothing to send. */
static void
bench_connect(struct bench *b)
{
	int64_t end = clock_steady() + INT64_C(30000000000);
	uint64_t taken;
	int err;

	while ((err = b->ops->send(b->state, &b->run, 0, &taken))) {
		ck_assert_int_eq(err, -EAGAIN);
		ck_assert_uint_eq(taken, 0);
		ck_assert(clock_steady() < end);
		bench_wait(b);
		b->peer->serve();
	}
}

static void
bench_finish(struct bench *b)
{
	int64_t end = clock_steady() + INT64_C(30000000000);
	int err;

	while ((err = b->ops->finish(b->state))) {
		ck_assert_int_eq(err, -EAGAIN);
		ck_assert(clock_steady() < end);
		bench_wait(b);
		b->peer->serve();
		release(b);
	}
	release(b);
	ck_assert_uint_eq(b->released, b->taken);
}

/* The peer has so many packets, each as it was sent. */
static void
bench_heard(struct bench *b, uint64_t packets)
{
	uint32_t size = b->head + DATA;
	int64_t end = clock_steady() + INT64_C(30000000000);

	if (!b->peer->hears)
		return;
	while (heard_bytes < packets * size && clock_steady() < end)
		b->peer->serve();
	ck_assert_uint_eq(heard_bytes, packets * size);
	for (uint64_t i = 0; i < packets; i++)
		ck_assert_msg(noise_is(i, 0, heard + i * size, size),
			      "packet %llu is wrong", (unsigned long long)i);
}

/* ---- all plugins ----------------------------------------------------- */

static void
each_peer(const struct send_ops *ops,
	  void (*check)(const struct send_ops *ops, const struct peer *peer))
{
	unsigned found = 0;

	for (unsigned i = 0; i < sizeof peers / sizeof *peers; i++) {
		if (strcmp(peers[i].plugin, ops->head.name) != 0)
			continue;
		found++;
		if (peers[i].open)
			check(ops, &peers[i]);
	}
	ck_assert_msg(found, "%s has no peer in tests/contract/test_send.c",
		      ops->head.name);
}

static void
each_send(void (*check)(const struct send_ops *ops, const struct peer *peer))
{
	const char *folder = getenv("SPATE_PLUGINS");
	char pattern[4096];
	glob_t found;

	ck_assert_msg(folder, "SPATE_PLUGINS is not set");
	snprintf(pattern, sizeof pattern, "%s/send-*.so", folder);
	ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		void *object = dlopen(found.gl_pathv[i], RTLD_NOW);
		const struct send_ops *ops;

		ck_assert_msg(object, "%s", dlerror());
		ops = dlsym(object, "spate_send");
		ck_assert_msg(ops, "%s", found.gl_pathv[i]);
		/* It takes no packets. */
		if (!ops->objects)
			each_peer(ops, check);
	}
	globfree(&found);
}

#define CONTRACT(what)                                                         \
	START_TEST(plugin_##what)                                              \
	{                                                                      \
		each_send(what);                                               \
	}                                                                      \
	END_TEST

enum { ROUNDS = 200, STALLED = 20000 };

/* Runs of any length, some with memory between their packets. */
static void
runs_give(struct bench *b, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t packets = 1 + dice_roll(&b->dice, 40);
		uint32_t gap =
		    dice_chance(&b->dice, 30) ? dice_roll(&b->dice, 3000) : 0;

		run_make(b, packets, gap);
		give_all(b);
	}
}

static void
all_arrives(const struct send_ops *ops, const struct peer *peer)
{
	for (uint32_t head = 0; head <= (peer->heads ? 24 : 0); head += 8) {
		struct bench *b = bench_open(ops, peer, head);
		struct send_facts f;

		bench_connect(b);
		runs_give(b, ROUNDS);
		bench_finish(b);
		bench_heard(b, b->made);
		ops->facts(b->state, &f);
		ck_assert_uint_eq(f.packets, b->made);
		ck_assert_uint_ge(f.bytes, b->made * (DATA + head));
		ck_assert_uint_eq(f.lost, 0);
		ck_assert_ptr_nonnull(f.way);
		bench_close(b);
	}
}

/* It may be called before it is connected, and says no more than -EAGAIN. */
static void
nothing_is_connected(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	run_make(b, 10, 0);
	give_all(b);
	runs_give(b, 3);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

static void
an_end_without_packets(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	bench_connect(b);
	bench_finish(b);
	bench_heard(b, 0);
	bench_close(b);
}

/* Many runs in one call, of which it takes what it can. */
static void
many_runs_in_a_call(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);
	struct send_run run[SEND_RUNS];
	unsigned at = 0;

	bench_connect(b);
	for (unsigned i = 0; i < SEND_RUNS; i++) {
		run_make(b, 1 + i % 3, i % 5 ? 0 : 100);
		run[i] = b->run;
	}
	while (at < SEND_RUNS) {
		uint64_t taken = 0;

		ck_assert_int_eq(
		    ops->send(b->state, run + at,
			      at + 60 < SEND_RUNS ? 60 : SEND_RUNS - at,
			      &taken),
		    0);
		if (!taken)
			bench_wait(b);
		for (; taken; at += !run[at].packets) {
			uint64_t n =
			    taken < run[at].packets ? taken : run[at].packets;

			b->run = run[at];
			run_took(b, n);
			run[at] = b->run;
			taken -= n;
		}
		peer->serve();
		release(b);
	}
	b->run.packets = 0;
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

/* Gives to a peer that does not read until nothing is taken any more. */
static void
stall(struct bench *b)
{
	unsigned refused = 0;

	bench_connect(b);
	while (b->made < STALLED && refused < 20) {
		if (!b->run.packets)
			run_make(b, 1 + dice_roll(&b->dice, 40), 0);
		if (give(b))
			refused = 0;
		else
			refused++;
		release(b);
	}
	ck_assert_uint_ge(refused, 20);
	ck_assert_uint_gt(b->taken, 0);
}

static void
a_peer_that_does_not_read(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b;

	if (!peer->holds)
		return;
	b = bench_open(ops, peer, 0);
	stall(b);
	give_all(b);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

/* The memory of all that was taken is spoiled at once. */
static void
memory_that_is_wanted_back(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b;

	/* What the kernel keeps, nobody can give back. */
	zerocopy_ok = false;
	b = bench_open(ops, peer, 0);
	zerocopy_ok = true;
	if (peer->holds) {
		stall(b);
	} else {
		run_make(b, 100, 0);
		while (!give(b))
			bench_wait(b);
	}
	ops->detach(b->state);
	ck_assert_uint_eq(ops->release(b->state), b->taken);
	for (unsigned i = 0; i < 2; i++) {
		release(b);
		/* The run of which only some was taken is still ours. */
		ops->detach(b->state);
	}
	for (unsigned i = 0; i + b->run.packets > 0 && i < 5; i++) {
		give_all(b);
		run_make(b, 30, 0);
	}
	give_all(b);
	bench_finish(b);
	bench_heard(b, b->made);
	bench_close(b);
}

static void
a_close_in_the_middle(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);

	bench_close(b);
	b = bench_open(ops, peer, 0);
	bench_connect(b);
	bench_close(b);
	b = bench_open(ops, peer, 0);
	if (peer->holds)
		stall(b);
	else
		runs_give(b, 3);
	bench_close(b);
}

/* Facts only grow, and looking at them changes nothing. */
static void
facts_that_grow(const struct send_ops *ops, const struct peer *peer)
{
	struct bench *b = bench_open(ops, peer, 0);
	struct send_facts was = { 0 };

	bench_connect(b);
	for (unsigned i = 0; i < 50; i++) {
		struct send_facts f;

		runs_give(b, 1);
		ops->facts(b->state, &f);
		ck_assert_uint_ge(f.packets, was.packets);
		ck_assert_uint_ge(f.bytes, was.bytes);
		ck_assert_uint_le(f.packets, b->taken);
		ck_assert_uint_ge(f.connections, 1);
		ck_assert_str_eq(f.why, "");
		was = f;
	}
	bench_finish(b);
	bench_close(b);
}

/* A URL that is none of its own is refused with a sentence. */
static void
other_addresses(const struct send_ops *ops, const struct peer *peer)
{
	static const char *const urls[] = {
		"",	"nonsense", "gopher://127.0.0.1:70",
		"://:", "udp://",   "tcp://:::::9"
	};
	struct bench *b = &bench;

	(void)peer;
	memset(b, 0, sizeof *b);
	b->ops = ops;
	options_fill(b);
	b->host = log_host("test");
	for (unsigned i = 0; i < sizeof urls / sizeof *urls; i++) {
		struct send_args args = { .host = &b->host,
					  .options = b->options,
					  .to = urls[i],
					  .subs = 1,
					  .data_bytes = DATA,
					  .transfer = 1,
					  .why = b->why,
					  .why_bytes = sizeof b->why };

		b->why[0] = '\0';
		ck_assert_msg(ops->check(&args) == -EINVAL, "%s takes \"%s\"",
			      ops->head.name, urls[i]);
		ck_assert_str_ne(b->why, "");
	}
	options_free(b);
}

/* All that the core calls is there. */
static void
whole(const struct send_ops *ops, const struct peer *peer)
{
	(void)peer;
	ck_assert_uint_eq(ops->head.abi, SPATE_ABI);
	ck_assert_ptr_nonnull(ops->head.help);
	ck_assert(ops->check && ops->open && ops->send && ops->poll);
	ck_assert(ops->release && ops->detach && ops->finish && ops->facts);
	ck_assert_ptr_nonnull(ops->close);
	ck_assert(!(ops->head.flags & SEND_TIMED) || ops->timed);
}

CONTRACT(whole)
CONTRACT(all_arrives)
CONTRACT(nothing_is_connected)
CONTRACT(an_end_without_packets)
CONTRACT(many_runs_in_a_call)
CONTRACT(a_peer_that_does_not_read)
CONTRACT(memory_that_is_wanted_back)
CONTRACT(a_close_in_the_middle)
CONTRACT(facts_that_grow)
CONTRACT(other_addresses)

SUITE("send", plugin_whole, plugin_all_arrives, plugin_nothing_is_connected,
      plugin_an_end_without_packets, plugin_many_runs_in_a_call,
      plugin_a_peer_that_does_not_read, plugin_memory_that_is_wanted_back,
      plugin_a_close_in_the_middle, plugin_facts_that_grow,
      plugin_other_addresses)
