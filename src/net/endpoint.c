/* SPDX-License-Identifier: MIT */
#include "endpoint.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "contract/bytes.h"

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

void
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
