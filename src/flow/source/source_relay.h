/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_RELAY_H
#define SPATE_FLOW_SOURCE_SOURCE_RELAY_H

#include <stdint.h>

#include "flow/output/output.h"
#include "flow/memory/block_pool.h"
#include "flow/source/source.h"

/*
 * A source for a stream that is passed on without being recorded.  Receivers
 * put CLOSED blocks; the sender's thread takes them in that order and seals
 * them, and each block is free when it was sent.  There is no disk: with a peer
 * that is too slow all blocks are in use, and packets that arrive then are
 * dropped and counted (no_buffer), as in a recording.
 *
 * A relay has two holders, the stream that feeds it and the sender that reads
 * it as a source, and is freed when both have let go.
 */
struct source_relay;

struct source_relay_args {
	const struct format_ops *format;
	/* The receiver may change the shape until it puts the first block; the
	 * relay copies it then. */
	const struct format_shape *shape;
	unsigned subs; /* substreams; 0 is 1 */
	enum fill_kind fill;
	int64_t start_ns; /* UTC ns */
	/* Returns the packets dropped for lack of memory so far, for
	 * source_facts.  Any thread; not called after source_relay_drop.  NULL:
	 * they are not reported. */
	uint64_t (*dropped)(void *arg);
	void *arg;
};

/* Makes a relay; the caller owns both holds.  0 or -ENOMEM. */
int source_relay_make(struct source_relay **relay,
		      const struct source_relay_args *args);

/* The relay as a source; its hold goes to sender_start. */
struct source *source_relay_source(struct source_relay *r);

/* Takes a CLOSED block over.  If the source is closed, the block is freed and
 * its packets count as unsent.  Any receiver; `relay` is a struct source_relay,
 * as place_args::out wants it. */
void source_relay_put(void *relay, struct block *b);

/* Declares that nothing more will be put: the source ends when the waiting
 * blocks are sent. */
void source_relay_end(struct source_relay *r);

/* Gives up the feeder's hold, and ends the relay if source_relay_end was not
 * called. */
void source_relay_drop(struct source_relay *r);

struct source_relay_facts {
	unsigned waits;	 /* blocks put and not yet taken by the sender */
	uint64_t blocks; /* blocks put */
	/* Packets of blocks that were dropped because the source was closed. */
	uint64_t unsent;
};
void source_relay_facts(struct source_relay *r, struct source_relay_facts *f);

#endif
