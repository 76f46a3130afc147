/* SPDX-License-Identifier: MIT */
/*
 * Numeric addresses are never looked up: a machine without a name server can
 * send, and a mistyped number is refused at once.  Whether the address can be
 * reached shows when it is connected to.
 */
#include "resolve.h"

#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Tells whether the host is numeric: only digits and dots, or with a colon. */
static bool
is_number(const char *host)
{
	return strchr(host, ':') || host[strspn(host, "0123456789.")] == 0;
}

static const char *
what_said(int err)
{
	return err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err);
}

static int
unknown(const struct url *u, int err, char *why, uint32_t why_bytes)
{
	const char *said = what_said(err);

	if (is_number(u->host)) {
		snprintf(why, why_bytes,
			 "'%.80s' is no address (%s): an IPv4 one has four "
			 "numbers up to 255, as 10.0.0.7, an IPv6 one stands "
			 "in brackets, as [fd00::7]",
			 u->host, said);
		return -EHOSTUNREACH;
	}
	if (err == EAI_AGAIN) {
		snprintf(why, why_bytes,
			 "the name '%.80s' cannot be looked up now (%s): no "
			 "name server answers; later it may, and its address "
			 "as a number needs none",
			 u->host, said);
		return -EAGAIN;
	}
	snprintf(why, why_bytes,
		 "no host is known by the name '%.80s' (%s): look how it is "
		 "spelled, or give its address as a number",
		 u->host, said);
	return -EHOSTUNREACH;
}

/*
 * Completes a link-local IPv6 address, which is valid on one interface only,
 * with the number of that interface.
 */
static void
scope_set(union endpoint *e, unsigned device)
{
	const struct in6_addr *v6 = &e->v6.sin6_addr;

	if (e->any.sa_family == AF_INET6 && !e->v6.sin6_scope_id &&
	    (IN6_IS_ADDR_LINKLOCAL(v6) || IN6_IS_ADDR_MC_LINKLOCAL(v6)))
		e->v6.sin6_scope_id = device;
}

static void
keep(struct resolved *found, const struct addrinfo *a, const struct url *u,
     unsigned device)
{
	for (found->n = 0; a && found->n < RESOLVED; a = a->ai_next) {
		union endpoint *e = &found->at[found->n];

		if (a->ai_addrlen > sizeof *e ||
		    (a->ai_family != AF_INET && a->ai_family != AF_INET6))
			continue;
		*e = (union endpoint){ 0 };
		memcpy(e, a->ai_addr, a->ai_addrlen);
		endpoint_port_set(e, u->first);
		scope_set(e, device);
		found->n++;
	}
}

int
resolve(struct resolved *found, const struct url *u, char *why,
	uint32_t why_bytes)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM, /* any type: one answer per
					    * address is enough */
		.ai_flags = is_number(u->host) ? AI_NUMERICHOST : 0,
	};
	unsigned device = 0;
	struct addrinfo *list;
	int err;

	if (u->device[0] && !(device = if_nametoindex(u->device))) {
		snprintf(why, why_bytes,
			 "there is no interface '%s' to send by; `ip link` "
			 "lists those that there are",
			 u->device);
		return -ENODEV;
	}
	err = getaddrinfo(u->host, NULL, &hints, &list);
	if (err)
		return unknown(u, err, why, why_bytes);
	keep(found, list, u, device);
	freeaddrinfo(list);
	return found->n ? 0 : unknown(u, EAI_FAMILY, why, why_bytes);
}
