/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_RECEIVE_PACKET_H
#define SPATE_PLUGINS_RECEIVE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "contract/receive.h"

/* Facts about a packet besides its place in memory. */
struct packet_mark {
	uint32_t flags; /* RECEIVE_ bits */
	uint32_t sender;
	int64_t arrived; /* UTC ns; 0: unknown */
};

/* Returns the length of the datagram that a pair is made for. */
static inline uint32_t
pair_bytes(const struct receive_pair *p)
{
	return p->prefix_bytes + p->payload_bytes;
}

/* Adds one packet to a batch that has room for it; `at` is where it lies. */
static inline void
packet_tell(struct receive_batch *b, const struct receive_pair *at,
	    size_t bytes, struct packet_mark mark)
{
	struct receive_packet *k = &b->packet[b->packets++];

	k->prefix = at->prefix;
	k->payload = at->payload;
	k->prefix_bytes = at->prefix_bytes;
	k->bytes = (uint32_t)bytes;
	k->flags = mark.flags;
	k->sender = mark.sender;
	k->arrived = mark.arrived;
}

/*
 * Adds one packet that lies in one piece at `row`; its first `prefix` bytes are
 * the prefix.
 */
static inline void
packet_tell_row(struct receive_batch *b, uint8_t *row, uint32_t prefix,
		size_t bytes, struct packet_mark mark)
{
	struct receive_pair at = { .prefix = row,
				   .payload = row + prefix,
				   .prefix_bytes = prefix };

	packet_tell(b, &at, bytes, mark);
}

#endif
