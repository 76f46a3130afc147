/* SPDX-License-Identifier: MIT */
/*
 * Parses from both ends: the interface and the sender are cut off at the front,
 * the ports and the number of groups at the back.  The rest is a number or a
 * name; its characters decide which, so that 10.0.0.256 is an error and not a
 * host name to look up.
 */
#include "net/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBS_MAX = 65535 };

static const char *const letters = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_";

/* State of the parser: the text that is left, and where errors are written. */
struct address_parser {
	const char *text;
	char left[384];
	char *why;
	uint32_t why_bytes;
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct address_parser *r, const char *what, ...)
{
	char text[256];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof text, what, args);
	va_end(args);
	snprintf(r->why, r->why_bytes,
		 "listen: '%s' is no address to receive on: %s; write it as "
		 "0.0.0.0:46227, [::]:46227, eth2@0.0.0.0:46227 or "
		 "0.0.0.0:41000-41431",
		 r->text, text);
	return -EINVAL;
}

/*
 * Cuts everything up to `mark` off `left` and copies it to `front`, without the
 * mark.  NULL if there is no mark or no room.
 */
static char *
front_cut(char *left, char mark, char *front, size_t front_bytes)
{
	char *at = strchr(left, mark);

	if (!at || (size_t)(at - left) >= front_bytes)
		return NULL;
	memcpy(front, left, (size_t)(at - left));
	front[at - left] = 0;
	memmove(left, at + 1, strlen(at + 1) + 1);
	return front;
}

/* Removes an enclosing pair of "[" and "]". */
static void
brackets_drop(char *text)
{
	size_t n = strlen(text);

	if (n < 2 || text[0] != '[' || text[n - 1] != ']')
		return;
	memmove(text, text + 1, n - 2);
	text[n - 2] = 0;
}

/* ---- the parts of the text ------------------------------------------ */

static int
device_read(struct address *a, struct address_parser *r)
{
	char name[sizeof r->left];

	if (!front_cut(r->left, '@', name, sizeof name))
		return 0;
	if (!name[0] || strlen(name) >= sizeof a->device ||
	    strpbrk(name, "/: \t[]>"))
		return refuse(r, "'%.40s' is no name of an interface", name);
	strcpy(a->device, name);
	return 0;
}

static int
sender_read(struct address *a, struct address_parser *r)
{
	char name[sizeof r->left];

	if (!front_cut(r->left, '>', name, sizeof name))
		return 0;
	brackets_drop(name);
	if (!endpoint_host(&a->sender, name) || endpoint_is_group(&a->sender))
		return refuse(
		    r, "'%.60s' before the '>' is no sender's address", name);
	return 0;
}

static int
ports_read(struct address *a, struct address_parser *r, uint16_t *port)
{
	char *colon = strrchr(r->left, ':');
	uint32_t first, last;

	if (!colon || strchr(colon, ']'))
		return refuse(r, "it has no port");
	*colon++ = 0;
	if (!endpoint_ports(colon, &first, &last))
		return refuse(r, "'%.40s' is no port", colon);
	if (last < first || (strchr(colon, '-') && !first))
		return refuse(r, "ports %u to %u are no range", first, last);
	*port = (uint16_t)first;
	a->ports = last - first + 1;
	return 0;
}

static int
groups_read(struct address *a, struct address_parser *r)
{
	char *plus = strchr(r->left, '+');
	uint32_t more = 0;

	a->groups = 1;
	if (!plus)
		return 0;
	*plus = 0;
	if (!endpoint_number(plus + 1, SUBS_MAX - 1, &more))
		return refuse(r, "'+%.40s' is no number of further groups",
			      plus + 1);
	if (a->ports > 1)
		return refuse(r, "groups or ports make substreams, not both");
	a->groups += more;
	return 0;
}

/* Reads the interface as IPv6 writes it: "fe80::1%eth2". */
static int
scope_read(struct address *a, struct address_parser *r)
{
	char *scope = strchr(r->left, '%');

	if (!scope)
		return 0;
	*scope++ = 0;
	if (!scope[0] || strlen(scope) >= sizeof a->device ||
	    strpbrk(scope, "/: \t"))
		return refuse(r, "'%.40s' is no name of an interface", scope);
	if (a->device[0] && strcmp(a->device, scope))
		return refuse(r, "it names both %s and %s", a->device, scope);
	strcpy(a->device, scope);
	return 0;
}

static int
host_read(struct address *a, struct address_parser *r, uint16_t port)
{
	bool bracketed = r->left[0] == '[';
	const char *host = r->left;
	int err;

	brackets_drop(r->left);
	if (!bracketed && strchr(host, ':'))
		return refuse(r, "an IPv6 address stands in brackets");
	err = bracketed ? scope_read(a, r) : 0;
	if (err)
		return err;
	if (!host[0] && !bracketed)
		host = "0.0.0.0";
	if (!endpoint_host(&a->first, host)) {
		if (bracketed || strspn(host, "0123456789.") == strlen(host) ||
		    strspn(host, letters) != strlen(host) ||
		    strlen(host) >= sizeof a->name)
			return refuse(r,
				      "'%.80s' is neither a number nor a "
				      "name of a host",
				      host);
		strcpy(a->name, host);
		a->first.any.sa_family = AF_INET;
	} else if (bracketed != (a->first.any.sa_family == AF_INET6)) {
		return refuse(r, "brackets are for IPv6 alone");
	}
	endpoint_port_set(&a->first, port);
	return 0;
}

/* Checks that the parts agree with each other. */
static int
parts_check(const struct address *a, const struct address_parser *r)
{
	union endpoint last = a->first;
	bool group = !a->name[0] && endpoint_is_group(&a->first);

	endpoint_step(&last, a->groups - 1);
	if (a->groups > 1 && (!group || !endpoint_is_group(&last)))
		return refuse(r,
			      "'+%u' goes behind a multicast group, and "
			      "ends within the groups",
			      a->groups - 1);
	if (a->sender.any.sa_family == AF_UNSPEC)
		return 0;
	if (!group)
		return refuse(r, "only of a multicast group one sender can be "
				 "joined ('allow' is for others)");
	if (a->sender.any.sa_family != a->first.any.sa_family)
		return refuse(r, "sender and group are not both IPv4 or IPv6");
	return 0;
}

int
address_parse(struct address *a, const char *text, char *why,
	      uint32_t why_bytes)
{
	struct address_parser r = { .text = text,
				    .why = why,
				    .why_bytes = why_bytes };
	uint16_t port = 0;
	int err;

	*a = (struct address){ .text = text };
	if (strlen(text) >= sizeof r.left)
		return refuse(&r, "it is too long");
	strcpy(r.left, text);
	err = device_read(a, &r);
	if (!err)
		err = sender_read(a, &r);
	if (!err)
		err = ports_read(a, &r, &port);
	if (!err)
		err = groups_read(a, &r);
	if (!err)
		err = host_read(a, &r, port);
	return err ? err : parts_check(a, &r);
}

int
addresses_make(struct address **address, const struct option_texts *listen,
	       address_check *check, char *why, uint32_t why_bytes)
{
	struct address *a;
	int err = 0;

	if (!listen->n) {
		snprintf(why, why_bytes,
			 "`listen` is missing: where do packets come in? "
			 "listen = [ \"0.0.0.0:46227\" ]");
		return -EINVAL;
	}
	a = calloc(listen->n, sizeof *a);
	if (!a)
		return -ENOMEM;
	for (unsigned i = 0; i < listen->n && !err; i++) {
		err = address_parse(&a[i], listen->text[i], why, why_bytes);
		if (!err)
			err = check(a, i, why, why_bytes);
	}
	if (err) {
		free(a);
		return err;
	}
	*address = a;
	return 0;
}

/* Tells whether the first substream of b is one of the substreams of a. */
static bool
address_has(const struct address *a, const struct address *b)
{
	for (uint32_t sub = 0; sub < address_subs(a); sub++) {
		union endpoint at = address_at(a, sub);

		if (endpoint_same(&at, &b->first))
			return true;
	}
	return false;
}

bool
address_overlaps(const struct address *a, const struct address *b)
{
	if (strcmp(a->device, b->device) || strcmp(a->name, b->name) ||
	    !endpoint_same(&a->sender, &b->sender) || !endpoint_port(&a->first))
		return false;
	return address_has(a, b) || address_has(b, a);
}

int
address_resolve(struct address *a, char *why, uint32_t why_bytes)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	uint16_t port = endpoint_port(&a->first);
	struct addrinfo *list;
	int err;

	if (!a->name[0])
		return 0;
	err = getaddrinfo(a->name, NULL, &hints, &list);
	if (err) {
		snprintf(why, why_bytes,
			 "listen: the host of '%s' is not known (%s); the "
			 "address as a number works without asking anybody",
			 a->text, gai_strerror(err));
		return -EINVAL;
	}
	memcpy(&a->first, list->ai_addr,
	       list->ai_addrlen < sizeof a->first ? list->ai_addrlen
						  : sizeof a->first);
	freeaddrinfo(list);
	endpoint_port_set(&a->first, port);
	return 0;
}

union endpoint
address_at(const struct address *a, uint32_t sub)
{
	union endpoint e = a->first;

	if (a->groups > 1)
		endpoint_step(&e, sub);
	else
		endpoint_port_set(&e, (uint16_t)(endpoint_port(&e) + sub));
	return e;
}
