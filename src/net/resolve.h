/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_RESOLVE_H
#define SPATE_NET_RESOLVE_H

#include <stdint.h>

#include "net/endpoint.h"
#include "url.h"

/*
 * Who is meant by a url: the addresses of its host, in the order in which they
 * should be tried, with its first port.
 */
enum { RESOLVED = 16 }; /* more than that nobody tries */

struct resolved {
	union endpoint at[RESOLVED];
	unsigned n; /* at least 1 */
};

/*
 * Looks the host up, which may wait for a name server, and the interface.
 * 0; -EAGAIN: the name server did not answer, later it may; -EHOSTUNREACH:
 * there is no such host; -ENODEV: no such interface; both with a sentence for
 * people.
 */
int resolve(struct resolved *found, const struct url *url, char *why,
	    uint32_t why_bytes);

#endif
