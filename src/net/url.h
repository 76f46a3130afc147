/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_URL_H
#define SPATE_NET_URL_H

#include <net/if.h>
#include <stdint.h>

#include "net/endpoint.h"

/*
 * A URL says where something is sent to:
 *
 *   SCHEME://[INTERFACE@]HOST[+GROUPS][:PORT[-LAST]][/PATH]
 *
 *   udp://10.0.0.7:46227              an IPv4 address
 *   udp://[fd00::7]:46227             an IPv6 address, in brackets
 *   udp://corr.example                a name, and the scheme's own port
 *   udp://10.0.0.7:41000-41431        432 ports, one per substream
 *   udp://eth2@239.1.2.3:7148         a multicast group, through eth2
 *   udp://eth2@239.2.1.150+7:7148     8 groups in a row, one per substream
 *   etd://jive.example:4004/data/f    a path, for schemes that have one
 */
enum url_scheme { URL_UDP, URL_TCP, URL_UCX, URL_ETD };
enum { URL_SCHEMES = URL_ETD + 1 };

struct url {
	enum url_scheme scheme;
	char device[IF_NAMESIZE]; /* "": any interface */
	char host[256];		  /* name or number, without brackets */
	uint16_t first, last;	  /* first and last port; the same unless a
				   * range is given */
	uint32_t groups;	  /* number of consecutive multicast groups;
				   * 1: just the host */
	char path[512];		  /* begins with '/'; "": none */
};

/*
 * Parses a URL without looking names up.  0, or -EINVAL with a sentence that
 * says what is wrong and how to write it.
 */
int url_read(struct url *url, const char *text, char *why, uint32_t why_bytes);

static inline uint32_t
url_ports(const struct url *url)
{
	return url->last - url->first + 1u;
}

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
