/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ENDPOINT_H
#define SPATE_NET_ENDPOINT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * An endpoint is an IP address with a port, of either family.  It is smaller
 * than struct sockaddr_storage, since hundreds of sources keep one each.  All
 * zero means none.
 */
union endpoint {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

enum { ENDPOINT_TEXT = 64 };

/* Returns the address length that bind() and sendto() expect. */
static inline socklen_t
endpoint_bytes(const union endpoint *e)
{
	return e->any.sa_family == AF_INET ? sizeof e->v4 : sizeof e->v6;
}

/* Tells whether the address is a multicast group. */
bool endpoint_is_group(const union endpoint *e);

/*
 * Tells whether family, address and port are the same; two empty endpoints are.
 */
bool endpoint_same(const union endpoint *a, const union endpoint *b);

/* Returns the port in host byte order. */
uint16_t endpoint_port(const union endpoint *e);
void endpoint_port_set(union endpoint *e, uint16_t port);

/* Adds n to the address; the port stays. */
void endpoint_step(union endpoint *e, uint32_t n);

/*
 * Formats an endpoint as "10.0.0.7:46227" or "[fd00::7]:46227".  An IPv4-mapped
 * IPv6 address is shown as IPv4, an empty endpoint as "".
 */
void endpoint_show(const union endpoint *e, char text[ENDPOINT_TEXT]);

/* Returns a 32-bit hash of address and port; never 0. */
uint32_t endpoint_mix(const union endpoint *e);

#endif
