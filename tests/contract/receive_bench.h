/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_RECEIVE_BENCH_H
#define SPATE_TESTS_RECEIVE_BENCH_H

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/crc32c.h"
#include "base/secret.h"
#include "contract/format.h"
#include "contract/receive.h"
#include "lib/noise.h"
#include "lib/suite.h"

/*
 * A bench is a receive plugin, open, and what stands around it: pairs that
 * lie in memory with guards between them, and a socket that sends to it.
 *
 * Each datagram that was sent has to be told once, in order, whole, and from
 * where its bytes are; pairs hold nothing but what was told to be there,
 * guards nothing at all.
 */
enum {
	GUARD = 16,
	SENT = 4096,	 /* most datagrams of a test */
	PATIENCE = 5000, /* ms, when nothing comes */
	SECOND = 1000000000,
};

struct sent {
	uint32_t bytes, seed; /* of its noise */
	bool foreign;
};

struct bench {
	const struct receive_ops *ops;
	struct receive_state *state;
	struct conf *conf;
	void *options;
	struct host host;
	uint32_t prefix, payload, longest;
	bool senders, stamps;
	/* The pairs' lengths; NULL: all have prefix and payload. */
	void (*lengths)(const struct bench *b, unsigned i,
			struct receive_pair *pair);
	uint8_t *memory; /* RECEIVE_BATCH pairs with guards, */
	uint8_t *before; /* and what is in it before a call */
	size_t step;
	struct receive_pair pair[RECEIVE_BATCH];
	struct receive_batch batch;
	unsigned want[2];
	char why[512];
	char log[512];	/* the last line */
	unsigned lines; /* of log */

	int from; /* the sender's socket */
	struct sent sent[SENT];
	unsigned sents, told;
	uint64_t calls;
};

/* What receive_args has beside the sizes, for the next bench_try. */
extern struct receive_args wish;
extern int64_t now_ns;

int64_t fake_now(void *ctx);
void __attribute__((format(printf, 3, 4)))
keep_log(void *ctx, enum log_level level, const char *format, ...);

/* ---- the plugin ------------------------------------------------------ */

const struct receive_ops *plugin(const char *name);
void options_fill(struct bench *b, const char *text);

/* Everything but open(). */
void bench_make(struct bench *b, const char *name, const char *options,
		uint32_t prefix, uint32_t payload);
int bench_try(struct bench *b, const char *name, const char *options,
	      const struct format_ops *format, struct format_shape *shape);
void bench_free(struct bench *b);
void bench_close(struct bench *b);

/* ---- a call ---------------------------------------------------------- */

void pairs_make(struct bench *b, unsigned pairs);

/* Nothing was written outside of pairs, nor into one beyond those given. */
void guards_check(const struct bench *b);

/* A packet never lies in another packet's pair. */
void pair_check(const struct bench *b, unsigned i);

/* One call; -errno, or how many packets there were. */
int receive(struct bench *b, unsigned source);

/* ---- datagrams ------------------------------------------------------- */

/* Where the plugin listens: it was asked for any free port. */
void connect_to(struct bench *b, unsigned source);
void udp_open(struct bench *b, const char *options, uint32_t prefix,
	      uint32_t payload);

#define V4 "listen = [ \"127.0.0.1:0\" ];"

void send_one(struct bench *b, uint32_t bytes);

/* n segments of this size, and a last one of `tail` bytes. */
void send_train(struct bench *b, uint32_t segment, unsigned n, uint32_t tail);
int receive_told(struct bench *b, unsigned source);

/* Takes what was sent, all of it, and then there is nothing. */
void take_all(struct bench *b);

/* ---- modes ----------------------------------------------------------- */

bool gro_is_on(struct bench *b);

/* Packets one by one, until it thinks nothing of trains any more. */
void singles(struct bench *b, unsigned n);

#endif
