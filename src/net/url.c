/* SPDX-License-Identifier: MIT */
/*
 * Parses from both ends: the scheme and the interface at the front, then path,
 * port and groups at the back.
 *
 * Numeric addresses are never looked up: a machine without a name server can
 * send, and a mistyped number is refused at once.  Whether the address can be
 * reached shows when it is connected to.
 */
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/url.h"
#include "wire/frame.h"

enum { GROUPS_MAX = 65535 };

static const char *const letters = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_";

static const struct {
	const char *name, *example;
	uint16_t port;
	bool range; /* several ports or several groups are possible */
	bool path;
} schemes[URL_SCHEMES] = {
	[URL_UDP] = { .name = "udp",
		      .example = "udp://10.0.0.7:46227, udp://[fd00::7]:46227 "
				 "or udp://10.0.0.7:41000-41431",
		      .port = 46227,
		      .range = true },
	[URL_TCP] = { .name = "tcp",
		      .example = "tcp://10.0.0.7:2630 for a stream, "
				 "tcp://[fd00::7]:2631 for an inbox",
		      .port = WIRE_PORT },
	[URL_UCX] = { .name = "ucx",
		      .example = "ucx://10.0.0.7:2632 or ucx://[fd00::7]:2632",
		      .port = 2632 },
	[URL_ETD] = { .name = "etd",
		      .example = "etd://10.0.0.7:4004/data/scan.vdif",
		      .port = 4004,
		      .path = true },
};

/* State of the parser: the text that is left, and where errors are written. */
struct url_parser {
	const char *text;
	char left[1024];
	const char *example;
	char *why;
	uint32_t why_bytes;
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct url_parser *r, const char *what, ...)
{
	char text[192];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof text, what, args);
	va_end(args);
	snprintf(r->why, r->why_bytes,
		 "'%.100s' is nowhere to send to: %s; write it as %s", r->text,
		 text, r->example);
	return -EINVAL;
}

static int
scheme_read(struct url *u, struct url_parser *r)
{
	for (unsigned i = 0; i < URL_SCHEMES; i++) {
		size_t n = strlen(schemes[i].name);

		if (strncmp(r->text, schemes[i].name, n) != 0 ||
		    strncmp(r->text + n, "://", 3) != 0)
			continue;
		u->scheme = (enum url_scheme)i;
		r->example = schemes[i].example;
		if (strlen(r->text + n + 3) >= sizeof r->left)
			return refuse(r, "it is too long");
		strcpy(r->left, r->text + n + 3);
		return 0;
	}
	return refuse(r, "it begins with none of udp://, tcp://, ucx:// and "
			 "etd://");
}

static int
path_read(struct url *u, struct url_parser *r)
{
	char *slash = strchr(r->left, '/');

	if (!slash)
		return 0;
	if (!schemes[u->scheme].path && slash[1])
		return refuse(r, "%s has no path ('%.40s')",
			      schemes[u->scheme].name, slash);
	if (strlen(slash) >= sizeof u->path)
		return refuse(r, "its path is too long");
	if (schemes[u->scheme].path)
		strcpy(u->path, slash);
	*slash = 0;
	return 0;
}

static int
device_read(struct url *u, struct url_parser *r)
{
	char *at = strchr(r->left, '@');

	if (!at)
		return 0;
	*at++ = 0;
	if (!r->left[0] || strlen(r->left) >= sizeof u->device ||
	    strpbrk(r->left, ": \t[]"))
		return refuse(r, "'%.40s' is no name of an interface", r->left);
	strcpy(u->device, r->left);
	memmove(r->left, at, strlen(at) + 1);
	return 0;
}

static int
ports_read(struct url *u, struct url_parser *r)
{
	char *bracket = strrchr(r->left, ']');
	char *colon = strrchr(bracket ? bracket : r->left, ':');
	uint32_t first, last;

	u->first = u->last = schemes[u->scheme].port;
	if (!colon)
		return 0;
	*colon++ = 0;
	if (!endpoint_ports(colon, &first, &last) || !first)
		return refuse(r, "'%.40s' is no port", colon);
	if (last < first)
		return refuse(r, "ports %u to %u are no range", first, last);
	if (last != first && !schemes[u->scheme].range)
		return refuse(r, "%s goes to one port",
			      schemes[u->scheme].name);
	u->first = (uint16_t)first;
	u->last = (uint16_t)last;
	return 0;
}

static int
groups_read(struct url *u, struct url_parser *r)
{
	char *plus = strchr(r->left, '+');
	uint32_t more = 0;

	u->groups = 1;
	if (!plus)
		return 0;
	*plus++ = 0;
	if (!schemes[u->scheme].range ||
	    !endpoint_number(plus, GROUPS_MAX, &more))
		return refuse(r, "'+%.40s' is no number of further groups",
			      plus);
	if (u->first != u->last)
		return refuse(r, "groups or ports are substreams, not both");
	u->groups += more;
	return 0;
}

static int
host_read(struct url *u, struct url_parser *r)
{
	size_t n = strlen(r->left);
	char *host = r->left;
	bool bracketed = host[0] == '[' && n > 2 && host[n - 1] == ']';

	if (bracketed) {
		host[n - 1] = 0;
		host++;
	} else if (strchr(host, ':')) {
		return refuse(r, "an IPv6 address stands in brackets");
	}
	if (!*host)
		return refuse(r, "it names no host");
	if (strlen(host) >= sizeof u->host ||
	    (bracketed ? !strchr(host, ':') || strpbrk(host, "[]@ \t")
		       : host[strspn(host, letters)] != 0))
		return refuse(r,
			      "'%.80s' is neither a number nor a name of a "
			      "host",
			      host);
	strcpy(u->host, host);
	return 0;
}

int
url_read(struct url *u, const char *text, char *why, uint32_t why_bytes)
{
	struct url_parser r = { .text = text,
				.example = "udp://10.0.0.7:46227 or "
					   "tcp://[fd00::7]:2631",
				.why = why,
				.why_bytes = why_bytes };
	int err;

	*u = (struct url){ 0 };
	err = scheme_read(u, &r);
	if (!err)
		err = path_read(u, &r);
	if (!err)
		err = device_read(u, &r);
	if (!err)
		err = ports_read(u, &r);
	if (!err)
		err = groups_read(u, &r);
	return err ? err : host_read(u, &r);
}

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
