/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_RECEIVE_FRAMED_H
#define SPATE_PLUGINS_RECEIVE_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "door.h"
#include "inlet.h"
#include "peer.h"
#include "transfer.h"

/*
 * Wire frames over several connections, each at a source of its own: what
 * comes on them is one sequence, and the core is told it nearly in order.
 */
struct framed_line { /* one connection */
	struct inlet inlet;
	uint32_t told; /* packets of the frame that is whole */
	uint64_t next; /* position of the packet after them */
	bool begun;    /* `next` is that of the inlet's frame */
	bool greeted;  /* its HELLO has come */
	int64_t age;   /* ns, until then */
	bool aimed;    /* the core aims at */
	uint64_t aim;  /* that packet */
};

struct framed {
	struct door *door;
	struct peer *peer; /* of each line */
	struct framed_line *line;
	unsigned lines;
	struct transfer transfer;
	uint32_t packet_bytes;
};

int framed_make(struct framed *f, struct door *door, struct peer *peer,
		unsigned lines, const struct receive_args *args);
void framed_free(struct framed *f);

int framed_receive(struct framed *f, unsigned source, struct receive_batch *b);

/* Ends a connection. */
void framed_drop(struct framed *f, unsigned source, enum log_level level,
		 const char *why);

/* So much time has passed. */
void framed_tick(struct framed *f, int64_t ns);

#endif
