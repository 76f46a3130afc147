/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_RELAY_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_RELAY_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/source/source_relay.h"

/* Shared by source_relay.c, the receivers' end, and source_relay_give.c, the
 * sender's end. */
struct source_relay {
	struct source head;
	struct source_relay_args a;
	atomic_uint holders;
	int fd;

	pthread_mutex_t lock; /* protects the fields down to `lost` */
	struct block *first, **last;
	uint64_t next_number;
	bool ended;   /* source_relay_end was called */
	bool dropped; /* the feeder's hold was given up */
	bool closed;  /* the source was closed */
	bool learning;
	struct format_shape shape;
	uint32_t thread[OUTPUT_THREADS];
	struct source_relay_facts facts;
	uint64_t lost; /* a.dropped's last answer */

	/* Only the sender's thread uses these fields. */
	/* One per substream; NULL: no block was sealed yet. */
	struct fill *fill;
	uint64_t *offset; /* of each substream: bytes given so far */
	/* The block being given; its gap first.  NULL: take the next. */
	struct block *at;
	bool gap_given;
	/* Given last, and held once more so that a seek can return to it. */
	struct block *kept;
	uint64_t kept_offset;
	uint64_t number, bytes;
};

extern const struct source_ops source_relay_ops;

/* Packets dropped so far.  Caller holds the lock: after source_relay_drop the
 * feeder that counts them may be gone. */
uint64_t source_relay_lost(struct source_relay *r);

/* Gives up one of the two holds; the last one frees the relay. */
void source_relay_let_go(struct source_relay *r);

/* Frees a block that is not sent, sealed or not. */
void source_relay_go_home(struct block *b);

#endif
