/* SPDX-License-Identifier: MIT */
/*
 * Parses from both ends: the scheme and the interface at the front, then path,
 * port and groups at the back.  resolve.c looks up the host.
 */
#include "url.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

enum { PORT_MAX = 65535, GROUPS_MAX = 65535 };

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
struct reading {
	const char *text;
	char left[1024];
	const char *example;
	char *why;
	uint32_t why_bytes;
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct reading *r, const char *what, ...)
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

/*
 * Reads a decimal number of at most 5 digits; false if `text` is none or it is
 * larger than `most`.
 */
static bool
number_read(const char *text, uint32_t most, uint32_t *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 5 || text[digits])
		return false;
	*number = (uint32_t)strtoul(text, NULL, 10);
	return *number <= most;
}

static int
scheme_read(struct url *u, struct reading *r)
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
path_read(struct url *u, struct reading *r)
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
device_read(struct url *u, struct reading *r)
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
ports_read(struct url *u, struct reading *r)
{
	char *bracket = strrchr(r->left, ']');
	char *colon = strrchr(bracket ? bracket : r->left, ':'), *dash;
	uint32_t first, last;
	char text[16];

	u->first = u->last = schemes[u->scheme].port;
	if (!colon)
		return 0;
	*colon++ = 0;
	snprintf(text, sizeof text, "%s", colon);
	dash = strchr(text, '-');
	if (dash)
		*dash++ = 0;
	if (!number_read(text, PORT_MAX, &first) ||
	    !number_read(dash ? dash : text, PORT_MAX, &last) || !first)
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
groups_read(struct url *u, struct reading *r)
{
	char *plus = strchr(r->left, '+');
	uint32_t more = 0;

	u->groups = 1;
	if (!plus)
		return 0;
	*plus++ = 0;
	if (!schemes[u->scheme].range || !number_read(plus, GROUPS_MAX, &more))
		return refuse(r, "'+%.40s' is no number of further groups",
			      plus);
	if (u->first != u->last)
		return refuse(r, "groups or ports are substreams, not both");
	u->groups += more;
	return 0;
}

static int
host_read(struct url *u, struct reading *r)
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
	struct reading r = { .text = text,
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
