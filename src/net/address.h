/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ADDRESS_H
#define SPATE_NET_ADDRESS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"
#include "net/endpoint.h"

/*
 * An address is one entry of `listen`: where packets come in.
 *
 *   [INTERFACE@][SENDER>]HOST[+GROUPS]:PORT[-LAST]
 *
 *   0.0.0.0:46227                 every IPv4 address of this machine
 *   [::]:46227                    and every IPv6 one
 *   eth2@0.0.0.0:46227            only what comes through eth2
 *   [fe80::1%eth2]:46227          the same, as IPv6 writes it
 *   0.0.0.0:41000-41431           432 ports, each a substream
 *   eth2@239.1.2.3:7148           a group, joined on eth2
 *   10.0.0.7>239.1.2.3:7148       only what 10.0.0.7 sends to the group
 *   239.2.1.150+7:7148            8 groups in a row, each a substream
 */
struct address {
	const char *text;	  /* text as configured; points into the
				   * configuration */
	char device[IF_NAMESIZE]; /* "": any interface */
	char name[256];		  /* host name that must be looked up; "" if
				   * `first` is complete */
	union endpoint first;	  /* endpoint of the first substream */
	union endpoint sender;	  /* the only sender that the group is joined
				   * for (source-specific multicast); all
				   * zero: any sender */
	uint32_t groups, ports;	  /* number of groups and of ports; one of
				   * the two is 1 */
};

/*
 * Parses one entry of `listen` without looking names up.  0, or -EINVAL with a
 * sentence in `why`.
 */
int address_parse(struct address *a, const char *text, char *why,
		  uint32_t why_bytes);

/*
 * A plugin's own check of entry a[i]; all entries before it have passed.  0, or
 * -EINVAL with a sentence in `why`.
 */
typedef int address_check(const struct address *a, unsigned i, char *why,
			  uint32_t why_bytes);

/*
 * Parses all entries of `listen`, at least one, into an array that the caller
 * frees.  0, -ENOMEM, or -EINVAL with a sentence in `why`.
 */
int addresses_make(struct address **address, const struct option_texts *listen,
		   address_check *check, char *why, uint32_t why_bytes);

/*
 * Tells whether some packets would come in at both addresses.  Port 0 never
 * overlaps: the kernel picks another free port each time.
 */
bool address_overlaps(const struct address *a, const struct address *b);

/*
 * Looks up the host name, if the address has one; may wait for a name server.
 * 0, or -EINVAL with a sentence in `why`.
 */
int address_resolve(struct address *a, char *why, uint32_t why_bytes);

static inline uint32_t
address_subs(const struct address *a)
{
	return a->groups * a->ports;
}

/* Returns the endpoint at which substream `sub` comes in. */
union endpoint address_at(const struct address *a, uint32_t sub);

#endif
