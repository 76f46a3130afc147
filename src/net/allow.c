/* SPDX-License-Identifier: MIT */
/*
 * Compares IPv4 addresses as IPv4-mapped IPv6: one comparison serves both
 * families, and ::ffff:10.1.2.3, as a dual-stack socket sees it, is in
 * 10.0.0.0/8.
 */
#include "net/allow.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
map_v4(uint8_t to[16], const struct in_addr *from)
{
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	memcpy(to + 12, from, 4);
}

int
allow_network_read(struct allow_network *n, const char *text)
{
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN], *end = NULL;
	unsigned long bits, most = 128;
	struct in_addr v4;

	if (length >= sizeof address)
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = 0;
	if (inet_pton(AF_INET, address, &v4) == 1) {
		map_v4(n->address, &v4);
		most = 32;
	} else if (inet_pton(AF_INET6, address, n->address) != 1) {
		return -EINVAL;
	}
	bits = slash ? strtoul(slash + 1, &end, 10) : most;
	if (slash && (slash[1] < '0' || slash[1] > '9' || *end || bits > most))
		return -EINVAL;
	n->bits = (unsigned)(bits + 128 - most);
	return 0;
}

int
allow_parse(struct allow *allow, const struct option_texts *texts, char *why,
	    uint32_t why_bytes)
{
	allow->network = calloc(texts->n + 1, sizeof *allow->network);
	if (!allow->network)
		return -ENOMEM;
	for (unsigned i = 0; i < texts->n; i++) {
		if (allow_network_read(&allow->network[i], texts->text[i]) <
		    0) {
			snprintf(why, why_bytes,
				 "allow: '%s' is no network; write it as "
				 "10.0.0.0/8 or fd00::/8",
				 texts->text[i]);
			return -EINVAL;
		}
	}
	allow->n = texts->n;
	return 0;
}

void
allow_clear(struct allow *allow)
{
	free(allow->network);
}

static bool
network_has(const struct allow_network *n, const uint8_t address[16])
{
	unsigned whole = n->bits / 8, rest = n->bits % 8;

	if (memcmp(n->address, address, whole))
		return false;
	return !rest || (n->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}

/* Writes the 16 bytes to compare; false if the address is of no IP family. */
static bool
address_of(const struct sockaddr *from, uint8_t address[16])
{
	if (from->sa_family == AF_INET)
		map_v4(address, &((const struct sockaddr_in *)from)->sin_addr);
	else if (from->sa_family == AF_INET6)
		memcpy(address, &((const struct sockaddr_in6 *)from)->sin6_addr,
		       16);
	else
		return false;
	return true;
}

bool
allow_network_has(const struct allow_network *n, const struct sockaddr *from)
{
	uint8_t address[16];

	return address_of(from, address) && network_has(n, address);
}

bool
allow_texts_have(const struct option_texts *texts, const struct sockaddr *from)
{
	struct allow_network n;

	for (unsigned i = 0; i < texts->n; i++) {
		if (allow_network_read(&n, texts->text[i]) == 0 &&
		    allow_network_has(&n, from))
			return true;
	}
	return false;
}

bool
allow_has(const struct allow *allow, const union endpoint *from)
{
	uint8_t address[16];

	if (!allow->n)
		return true;
	if (!address_of(&from->any, address))
		return false;
	for (unsigned i = 0; i < allow->n; i++) {
		if (network_has(&allow->network[i], address))
			return true;
	}
	return false;
}
