/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ENDPOINT_H
#define SPATE_NET_ENDPOINT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * An endpoint is an address and a port, of either family, no larger than it
 * has to be: hundreds of sources keep one.  All zero: none.
 */
union endpoint {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

enum { ENDPOINT_TEXT = 64 };

/* What bind() and sendto() want to know. */
static inline socklen_t
endpoint_bytes(const union endpoint *e)
{
	return e->any.sa_family == AF_INET ? sizeof e->v4 : sizeof e->v6;
}

/* Is it a multicast group? */
bool endpoint_is_group(const union endpoint *e);

/* The same family, address and port; two that are none, too. */
bool endpoint_same(const union endpoint *a, const union endpoint *b);

/* In host order. */
uint16_t endpoint_port(const union endpoint *e);
void endpoint_port_set(union endpoint *e, uint16_t port);

/* Makes it the n-th address after this one. */
void endpoint_step(union endpoint *e, uint32_t n);

/* "10.0.0.7:46227", "[fd00::7]:46227"; an IPv4 sender that an IPv6 socket saw
 * looks as such; "" for none. */
void endpoint_show(const union endpoint *e, char text[ENDPOINT_TEXT]);

/* A number that differs between endpoints as far as 32 bits can; never 0. */
uint32_t endpoint_mix(const union endpoint *e);

#endif
