/* SPDX-License-Identifier: MIT */
/*
 * All addresses are compared as IPv6, with IPv4 as ::ffff:a.b.c.d, so that a
 * client that comes in by either family matches the same network.
 */
#include "daemon/loop/vsi_allow.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED = 96 }; /* bits before a mapped IPv4 address */

static void
map(uint8_t to[16], const struct in_addr *from)
{
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	memcpy(to + 12, from, 4);
}

/* Reads a number of digits, at most `most`. */
static bool
bits_read(const char *text, unsigned most, unsigned *bits)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*bits = (unsigned)n;
	return isdigit((unsigned char)*text) && !*end && n <= most;
}

int
vsi_network_parse(struct vsi_network *n, const char *text)
{
	char host[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	struct in_addr four;

	if (length >= sizeof host)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (inet_pton(AF_INET, host, &four) == 1) {
		map(n->address, &four);
		n->bits = 32;
		if (slash && !bits_read(slash + 1, 32, &n->bits))
			return -EINVAL;
		n->bits += MAPPED;
		return 0;
	}
	if (inet_pton(AF_INET6, host, n->address) != 1)
		return -EINVAL;
	n->bits = 128;
	return slash && !bits_read(slash + 1, 128, &n->bits) ? -EINVAL : 0;
}

static bool
address_of(const struct sockaddr *from, uint8_t address[16])
{
	if (from->sa_family == AF_INET)
		map(address, &((const struct sockaddr_in *)from)->sin_addr);
	else if (from->sa_family == AF_INET6)
		memcpy(address, &((const struct sockaddr_in6 *)from)->sin6_addr,
		       16);
	else
		return false;
	return true;
}

bool
vsi_network_has(const struct vsi_network *n, const struct sockaddr *from)
{
	unsigned bytes = n->bits / 8, rest = n->bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest), address[16];

	if (!address_of(from, address) ||
	    memcmp(n->address, address, bytes) != 0)
		return false;
	return !rest || ((n->address[bytes] ^ address[bytes]) & mask) == 0;
}

bool
vsi_allowed(const struct option_texts *texts, const struct sockaddr *from)
{
	struct vsi_network n;

	for (unsigned i = 0; i < texts->n; i++) {
		if (vsi_network_parse(&n, texts->text[i]) == 0 &&
		    vsi_network_has(&n, from))
			return true;
	}
	return false;
}

const char *
vsi_peer(char text[VSI_PEER], const struct sockaddr *from)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
	const struct sockaddr_in *four = (const struct sockaddr_in *)from;
	char host[INET6_ADDRSTRLEN];

	snprintf(text, VSI_PEER, "nobody");
	if (from->sa_family == AF_INET &&
	    inet_ntop(AF_INET, &four->sin_addr, host, sizeof host))
		snprintf(text, VSI_PEER, "%s:%u", host, ntohs(four->sin_port));
	if (from->sa_family == AF_INET6 &&
	    inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host))
		snprintf(text, VSI_PEER, "[%s]:%u", host,
			 ntohs(six->sin6_port));
	return text;
}

static bool
port_read(const char *text, in_port_t *port)
{
	unsigned n;

	*port = bits_read(text, 65535, &n) ? htons((uint16_t)n) : 0;
	return *port;
}

int
vsi_address_parse(struct sockaddr_storage *address, const char *text)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t length = colon ? (size_t)(colon - text) : 0;

	memset(address, 0, sizeof *address);
	if (!length || length >= sizeof host)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (*host == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		six->sin6_family = AF_INET6;
		return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1 &&
			       port_read(colon + 1, &six->sin6_port)
			   ? (int)sizeof *six
			   : -EINVAL;
	}
	four->sin_family = AF_INET;
	return inet_pton(AF_INET, host, &four->sin_addr) == 1 &&
		       port_read(colon + 1, &four->sin_port)
		   ? (int)sizeof *four
		   : -EINVAL;
}
