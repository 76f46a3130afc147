/* SPDX-License-Identifier: MIT */
#include "web/web_host.h"

#include <netinet/in.h>
#include <string.h>
#include <strings.h>

/* Splits "HOST", "HOST:PORT" or "[ADDRESS]:PORT"; false if it is none. */
static bool
host_split(const char *text, char *host, size_t room)
{
	bool bracket = *text == '[';
	const char *begin = text + bracket;
	size_t length = strcspn(begin, bracket ? "]" : ":");
	const char *rest = begin + length + bracket;
	uint32_t port;

	if (!length || length >= room || (bracket && begin[length] != ']'))
		return false;
	memcpy(host, begin, length);
	host[length] = 0;
	return !*rest ||
	       (*rest == ':' && endpoint_number(rest + 1, 65535, &port));
}

/* An IPv4 client of an IPv6 socket cannot be: those are IPv6 alone. */
static bool
same_address(const union endpoint *a, const union endpoint *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr);
}

bool
web_host_is_here(const char *text, const union endpoint *here,
		 const struct option_texts *hosts)
{
	union endpoint address;
	char host[256];

	if (!text || !host_split(text, host, sizeof host))
		return false;
	if (endpoint_host(&address, host))
		return endpoint_is_loopback(&address) ||
		       same_address(&address, here);
	if (!strcasecmp(host, "localhost"))
		return true;
	for (unsigned i = 0; i < hosts->n; i++) {
		if (!strcasecmp(host, hosts->text[i]))
			return true;
	}
	return false;
}
