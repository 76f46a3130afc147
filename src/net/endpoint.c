/* SPDX-License-Identifier: MIT */
#include "net/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/bytes.h"

enum { PORT_MOST = 65535 };

bool
endpoint_number(const char *text, uint32_t most, uint32_t *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 5 || text[digits])
		return false;
	*number = (uint32_t)strtoul(text, NULL, 10);
	return *number <= most;
}

bool
endpoint_ports(const char *text, uint32_t *first, uint32_t *last)
{
	char copy[sizeof "65535-65535"], *dash;

	if (strlen(text) >= sizeof copy)
		return false;
	strcpy(copy, text);
	dash = strchr(copy, '-');
	if (dash)
		*dash++ = 0;
	return endpoint_number(copy, PORT_MOST, first) &&
	       endpoint_number(dash ? dash : copy, PORT_MOST, last);
}

bool
endpoint_host(union endpoint *e, const char *host)
{
	*e = (union endpoint){ 0 };
	if (inet_pton(AF_INET, host, &e->v4.sin_addr) == 1)
		e->any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, host, &e->v6.sin6_addr) == 1)
		e->any.sa_family = AF_INET6;
	return e->any.sa_family != AF_UNSPEC;
}

int
endpoint_read(union endpoint *e, const char *text)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool bracketed = text[0] == '[';
	uint32_t port;

	if (!length || length >= sizeof host)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = 0;
	if (bracketed) {
		if (host[length - 1] != ']')
			return -EINVAL;
		host[length - 1] = 0;
	}
	if (!endpoint_host(e, host + bracketed) ||
	    bracketed != (e->any.sa_family == AF_INET6) ||
	    !endpoint_number(colon + 1, PORT_MOST, &port) || !port)
		return -EINVAL;
	endpoint_port_set(e, (uint16_t)port);
	return 0;
}

bool
endpoint_is_loopback(const union endpoint *e)
{
	if (e->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&e->v6.sin6_addr);
	return e->any.sa_family == AF_INET &&
	       ntohl(e->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool
endpoint_is_group(const union endpoint *e)
{
	if (e->any.sa_family == AF_INET)
		return IN_MULTICAST(ntohl(e->v4.sin_addr.s_addr));
	return e->any.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_MULTICAST(&e->v6.sin6_addr);
}

bool
endpoint_same(const union endpoint *a, const union endpoint *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_port == b->v4.sin_port &&
		       a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return a->any.sa_family != AF_INET6 ||
	       (a->v6.sin6_port == b->v6.sin6_port &&
		a->v6.sin6_scope_id == b->v6.sin6_scope_id &&
		IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr));
}

uint16_t
endpoint_port(const union endpoint *e)
{
	return ntohs(e->any.sa_family == AF_INET ? e->v4.sin_port
						 : e->v6.sin6_port);
}

void
endpoint_port_set(union endpoint *e, uint16_t port)
{
	if (e->any.sa_family == AF_INET)
		e->v4.sin_port = htons(port);
	else
		e->v6.sin6_port = htons(port);
}

void
endpoint_step(union endpoint *e, uint32_t n)
{
	uint8_t *end = e->any.sa_family == AF_INET
			   ? (uint8_t *)&e->v4.sin_addr + sizeof e->v4.sin_addr
			   : e->v6.sin6_addr.s6_addr + 16;
	uint32_t low = read_be32(end - 4) + n;

	end[-4] = (uint8_t)(low >> 24);
	end[-3] = (uint8_t)(low >> 16);
	end[-2] = (uint8_t)(low >> 8);
	end[-1] = (uint8_t)low;
}

const char *
endpoint_show(const union endpoint *e, char text[ENDPOINT_TEXT])
{
	char address[INET6_ADDRSTRLEN], scope[IF_NAMESIZE + 1] = "";
	const struct in6_addr *v6 = &e->v6.sin6_addr;

	text[0] = 0;
	if (e->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &e->v4.sin_addr, address, sizeof address);
		snprintf(text, ENDPOINT_TEXT, "%s:%u", address,
			 endpoint_port(e));
	} else if (e->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6)) {
		inet_ntop(AF_INET, v6->s6_addr + 12, address, sizeof address);
		snprintf(text, ENDPOINT_TEXT, "%s:%u", address,
			 endpoint_port(e));
	} else if (e->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, v6, address, sizeof address);
		if (e->v6.sin6_scope_id &&
		    if_indextoname(e->v6.sin6_scope_id, scope + 1))
			scope[0] = '%';
		/*
		 * Cannot overflow: the longest textual addresses have no scope.
		 */
		snprintf(text, ENDPOINT_TEXT, "[%.39s%.16s]:%u", address, scope,
			 endpoint_port(e));
	}
	return text;
}

/*
 * Two rounds of multiplying and folding, so that neighbouring addresses and
 * ports get very different hashes.
 */
uint32_t
endpoint_mix(const union endpoint *e)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t h = endpoint_port(e);

	if (e->any.sa_family == AF_INET) {
		h = (h << 32 | e->v4.sin_addr.s_addr) * odd;
	} else {
		h = (h ^ read_le64(e->v6.sin6_addr.s6_addr)) * odd;
		h = ((h ^ h >> 29) + read_le64(e->v6.sin6_addr.s6_addr + 8)) *
		    odd;
	}
	h = (h ^ h >> 32) * odd;
	h >>= 32;
	return h ? (uint32_t)h : 1;
}
