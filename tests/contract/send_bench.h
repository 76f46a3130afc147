/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_SEND_BENCH_H
#define SPATE_TESTS_SEND_BENCH_H

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "contract/send.h"
#include "contract/send_peers.h"
#include "lib/dice.h"
#include "lib/noise.h"
#include "lib/suite.h"

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

static inline void
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
static inline void
options_free(struct bench *b)
{
	free(b->options);
	if (b->conf)
		conf_close(b->conf);
}

static inline struct bench *
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

static inline void
memory_free(struct bench *b)
{
	while (b->freed < b->memories &&
	       b->memory[b->freed].until <= b->released) {
		struct memory *m = &b->memory[b->freed++];

		memset(m->data, 0xee, m->bytes);
		free(m->data);
	}
}

static inline void
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
static inline void
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

static inline void
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

static inline void
release(struct bench *b)
{
	uint64_t released = b->ops->release(b->state);

	ck_assert_uint_ge(released, b->released);
	ck_assert_uint_le(released, b->taken);
	b->released = released;
	memory_free(b);
}

/* Sleeps as the core does, at most 20 ms. */
static inline void
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
static inline uint64_t
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
static inline void
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
static inline void
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

static inline void
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
static inline void
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

static inline void
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
	ck_assert_msg(found, "%s has no peer in tests/contract/send_peers.h",
		      ops->head.name);
}

static inline void
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

#endif
