/* SPDX-License-Identifier: MIT */
#ifndef SPATE_UCX_WAY_H
#define SPATE_UCX_WAY_H

#include "channel/channel.h"
#include "worker.h"

/*
 * A way sends the payloads of a channel's frames by UCX.  Each payload is one
 * active message, one stretch of memory, which the receiver fetches when it has
 * room (rendezvous).
 *
 *   A message is FREE -> FILLS -> GOES -> FREE; they are used in turn.
 */
enum { WAY_MESSAGES = 16 };

enum way_state { WAY_FREE, WAY_FILLS, WAY_GOES };

struct way_message {
	enum way_state state;
	struct ucx_worker *worker;
	bool in_place;	/* `data` is where the packets lie, not `stage` */
	uint64_t taken; /* packets that were taken before its first one */
	uint32_t packets;
	const uint8_t *data;
	uint8_t *stage; /* memory of its own, args->most bytes */
	uint8_t header[UCX_HEADER];
};

struct way {
	struct ucx_worker worker;
	uint64_t token;	 /* the receiver's, for every message */
	uint64_t number; /* number of the next message */
	struct way_message message[WAY_MESSAGES];
	uint8_t *memory;
	int64_t since; /* steady ns: when it began to connect; 0: not yet */
};

/* Arguments that all ways of a transfer share. */
struct way_args {
	struct ucx_library library;
	/* messages on their way at a time, at most WAY_MESSAGES */
	unsigned depth;
	bool checked; /* messages have checksums */
	/*
	 * the memory of packets may be used for as long as the receiver takes
	 */
	bool in_place_ok;
};

extern const struct channel_beside ucx_way;

/* Returns the message that is to be filled next. */
static inline struct way_message *
way_next(const struct channel *c)
{
	struct way *w = c->way;
	const struct way_args *a = c->a->beside_args;

	return &w->message[w->number % a->depth];
}

/* Sends a message whose frame header is c->frame.  Returns 0 or -errno. */
int way_send(struct channel *c, struct way_message *m);

#endif
