/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_RELAY_H
#define SPATE_FLOW_SOURCE_SOURCE_RELAY_H

#include <stdint.h>

#include "flow/output/output.h"
#include "flow/memory/pool.h"
#include "flow/source/source.h"

/*
 * A stream that is passed on without being recorded.  Receivers put CLOSED
 * blocks; the sender's thread seals them and has them in the order in which
 * they were put, and each goes home when it was sent.  There is no disk: a
 * peer that is too slow keeps all of the stock, and what comes then finds no
 * room, as in a recording (no_buffer).
 *
 * It is held twice, by who feeds it and as a source, and lives until both
 * have let go.
 */
struct source_relay;

struct source_relay_args {
	const struct format_ops *format;
	/* Its receiver may learn until it puts the first block, which is when
	 * the copy is made. */
	const struct format_shape *shape;
	unsigned subs; /* substreams; 0 is 1 */
	enum fill_kind fill;
	int64_t start_ns; /* UTC */
	/* Packets that nobody kept so far, for source_facts; any thread;
	 * asked until source_relay_drop.  NULL: not told. */
	uint64_t (*dropped)(void *arg);
	void *arg;
};

/* 0 or -ENOMEM; the caller has both holds. */
int source_relay_make(struct source_relay **relay,
		      const struct source_relay_args *args);

/* The other hold, for sender_start. */
struct source *source_relay_source(struct source_relay *r);

/* Takes a CLOSED block over; where the source was closed it goes home.  Any
 * receiver. */
void source_relay_put(struct source_relay *r, struct block *b);

/* Nothing more will be put: the source ends behind what waits. */
void source_relay_end(struct source_relay *r);

/* Lets go of the feeding end, which has ended. */
void source_relay_drop(struct source_relay *r);

struct source_relay_facts {
	unsigned waits;	 /* blocks that were put and are not sent */
	uint64_t blocks; /* that were put */
	uint64_t unsent; /* packets that came when the source was closed */
};
void source_relay_facts(struct source_relay *r, struct source_relay_facts *f);

#endif
