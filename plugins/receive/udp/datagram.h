/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_DATAGRAM_H
#define SPATE_RECEIVE_UDP_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "net/endpoint.h"

/*
 * A datagram is the UDP part of an IPv4 or IPv6 packet.  These functions find
 * it in the bytes of the packet as they came from the network.
 */
struct datagram {
	uint8_t *data;
	uint32_t bytes; /* bytes of data that are here */
	bool cut;	/* the sender sent more than is here */
	uint8_t *udp;	/* the UDP header, right before `data` */
	uint8_t *ip;
};

/*
 * Finds the datagram in a packet of which `here` bytes are at `ip`.  Returns 0;
 * -EBADMSG if the packet is no UDP or its lengths contradict each other;
 * -ENOTSUP for a fragment or an IPv6 fragment header.  `d` points into the
 * packet.
 */
int datagram_find(struct datagram *d, uint8_t *ip, uint32_t here);

/* Sets `from` to the sender's address and port. */
void datagram_sender(const struct datagram *d, union endpoint *from);

/*
 * Tells whether the UDP checksum agrees with the bytes.  The datagram must not
 * be cut.
 */
bool datagram_is_sound(const struct datagram *d);

#endif
