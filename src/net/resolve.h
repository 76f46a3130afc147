/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_RESOLVE_H
#define SPATE_NET_RESOLVE_H

#include <stdint.h>

#include "net/endpoint.h"
#include "url.h"

/*
 * The addresses of a URL's host, in the order in which they should be tried,
 * each with the URL's first port.
 */
enum { RESOLVED = 16 }; /* further addresses are dropped */

struct resolved {
	union endpoint at[RESOLVED];
	unsigned n; /* at least 1 */
};

/*
 * Looks up the host, which may wait for a name server, and the interface.
 * Returns 0; -EAGAIN: no name server answered, try again later; -EHOSTUNREACH:
 * no such host; -ENODEV: no such interface.  Every failure comes with a
 * sentence in `why`.
 */
int resolve(struct resolved *found, const struct url *url, char *why,
	    uint32_t why_bytes);

#endif
