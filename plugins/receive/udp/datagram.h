/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_DATAGRAM_H
#define SPATE_RECEIVE_UDP_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"

/*
 * A datagram is what UDP carries in a packet of IPv4 or IPv6, found in the
 * bytes as they came from the network.
 */
struct datagram {
	uint8_t *data;
	uint32_t bytes; /* of it, that are here */
	bool cut;	/* more were sent */
	uint8_t *udp;	/* its UDP header, right before it */
	uint8_t *ip;
};

/*
 * Finds the datagram in a packet of which `here` bytes are at `ip`.  0, or
 * -EBADMSG where there is none, or its lengths contradict each other;
 * -ENOTSUP where it is a fragment, or has IPv6 extension headers.
 */
int datagram_find(struct datagram *d, uint8_t *ip, uint32_t here);

/* Who sent it. */
void datagram_sender(const struct datagram *d, union endpoint *from);

/* Is its checksum what its bytes say?  Of a whole one. */
bool datagram_is_sound(const struct datagram *d);

#endif
