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

/*
 * Reads a decimal number of at most 5 digits, such as a port; false if `text`
 * is none or it is larger than `most`.
 */
bool endpoint_number(const char *text, uint32_t most, uint32_t *number);

/*
 * Reads "FIRST" or "FIRST-LAST", each at most 65535; false if `text` is neither.
 * The caller checks the order and whether 0 is allowed.
 */
bool endpoint_ports(const char *text, uint32_t *first, uint32_t *last);

/*
 * Reads an IPv4 or IPv6 address without brackets; the port becomes 0.  False,
 * and an empty endpoint, if `host` is no number.
 */
bool endpoint_host(union endpoint *e, const char *host);

/*
 * Reads "10.0.0.7:2620" or "[fd00::7]:2620", with a port from 1.  0 or -EINVAL.
 */
int endpoint_read(union endpoint *e, const char *text);

/* Tells whether only this machine itself can reach the address. */
bool endpoint_is_loopback(const union endpoint *e);

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
 * IPv6 address is shown as IPv4, an empty endpoint as "".  Returns `text`.
 */
const char *endpoint_show(const union endpoint *e, char text[ENDPOINT_TEXT]);

/* Returns a 32-bit hash of address and port; never 0. */
uint32_t endpoint_mix(const union endpoint *e);

#endif
