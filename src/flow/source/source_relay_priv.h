/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_RELAY_PRIV_H
#define SPATE_FLOW_SOURCE_SOURCE_RELAY_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "flow/source/source_relay.h"

/* What the two ends of a relay share: source_relay.c is the receivers',
 * source_relay_give.c the sender's. */
struct source_relay {
	struct source head;
	struct source_relay_args a;
	atomic_uint holders;
	int fd;

	pthread_mutex_t lock; /* over what is below */
	struct block *first, **last;
	uint64_t next_number;
	bool ended;   /* nothing more will be put */
	bool dropped; /* the feeding end is */
	bool closed;  /* nobody takes */
	bool learning;
	struct format_shape shape;
	uint32_t thread[OUTPUT_THREADS];
	struct source_relay_facts facts;
	uint64_t lost; /* as told last */

	/* The sender's thread. */
	struct fill *fill; /* of each substream; NULL: not begun */
	uint64_t *offset;  /* of each */
	struct block *at;  /* sealed, to be given, its gap first */
	bool gap_given;
	struct block *kept; /* given last, and held besides */
	uint64_t kept_offset;
	uint64_t number, bytes;
};

extern const struct source_ops source_relay_ops;

/* Packets that nobody kept; under the lock: who counts may be gone
 * afterwards. */
uint64_t source_relay_lost(struct source_relay *r);

/* A hold. */
void source_relay_let_go(struct source_relay *r);

/* A block that is not sent, sealed or not. */
void source_relay_go_home(struct block *b);

#endif
