/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_URL_H
#define SPATE_NET_URL_H

#include <net/if.h>
#include <stdint.h>

/*
 * A url says where something is sent to:
 *
 *   SCHEME://[INTERFACE@]HOST[+GROUPS][:PORT[-LAST]][/PATH]
 *
 *   udp://10.0.0.7:46227              an IPv4 address
 *   udp://[fd00::7]:46227             an IPv6 one, in brackets
 *   udp://corr.example                a name, and the scheme's own port
 *   udp://10.0.0.7:41000-41431        432 ports, one for each substream
 *   udp://eth2@239.1.2.3:7148         a multicast group, by way of eth2
 *   udp://eth2@239.2.1.150+7:7148     8 groups in a row, each a substream
 *   etd://jive.example:4004/data/f    a path, where the scheme has one
 */
enum url_scheme { URL_UDP, URL_TCP, URL_UCX, URL_ETD };
enum { URL_SCHEMES = URL_ETD + 1 };

struct url {
	enum url_scheme scheme;
	char device[IF_NAMESIZE]; /* "": any interface */
	char host[256];		  /* name or number, without brackets */
	uint16_t first, last;	  /* ports; the same but of a range */
	uint32_t groups;	  /* in a row; 1 where there are not more */
	char path[512];		  /* with its '/'; "": none */
};

/* Reads one, and looks nothing up.  0, or -EINVAL with a sentence that says
 * what is wrong with it, and what one looks like. */
int url_read(struct url *url, const char *text, char *why, uint32_t why_bytes);

static inline uint32_t
url_ports(const struct url *url)
{
	return url->last - url->first + 1u;
}

#endif
