/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ADDRESS_H
#define SPATE_NET_ADDRESS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"
#include "endpoint.h"

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
	const char *text;	  /* as configured; not a copy */
	char device[IF_NAMESIZE]; /* "": any interface */
	char name[256];		  /* a host that has to be looked up; "" where
				     `first` is complete */
	union endpoint first;	  /* of the first substream */
	union endpoint sender;	  /* whom alone a group is joined of; or none */
	uint32_t groups, ports;	  /* one of them is 1 */
};

/* Looks nothing up.  0, or -EINVAL with a sentence in `why`. */
int address_parse(struct address *a, const char *text, char *why,
		  uint32_t why_bytes);

/* What a plugin asks of entry i, a[i]; those before it are good.  0, or
 * -EINVAL with a sentence. */
typedef int address_check(const struct address *a, unsigned i, char *why,
			  uint32_t why_bytes);

/* All of `listen`, at least one, in memory that the caller frees.  0, -ENOMEM,
 * or -EINVAL with a sentence. */
int addresses_make(struct address **address, const struct option_texts *listen,
		   address_check *check, char *why, uint32_t why_bytes);

/* Would packets come in at both?  Port 0 is any free one, each time another. */
bool address_overlaps(const struct address *a, const struct address *b);

/* Looks its name up, where it has one.  0, or -EINVAL with a sentence. */
int address_resolve(struct address *a, char *why, uint32_t why_bytes);

static inline uint32_t
address_subs(const struct address *a)
{
	return a->groups * a->ports;
}

/* Where substream `sub` of it comes in. */
union endpoint address_at(const struct address *a, uint32_t sub);

#endif
