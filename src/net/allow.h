/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ALLOW_H
#define SPATE_NET_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"
#include "endpoint.h"

/*
 * An allow list names the networks whose packets a stream takes: "10.0.0.0/8",
 * "fd00::/8", or single addresses.  An empty list allows every sender.
 */
struct allow_network {
	uint8_t address[16]; /* an IPv4 address is mapped into IPv6 */
	unsigned bits;
};

struct allow {
	struct allow_network *network;
	unsigned n;
};

/*
 * Parses the list.  0, -ENOMEM, or -EINVAL with a sentence in `why`; call
 * allow_clear() in either case.
 */
int allow_parse(struct allow *allow, const struct option_texts *texts,
		char *why, uint32_t why_bytes);
void allow_clear(struct allow *allow);

/*
 * Tells whether a sender is allowed.  `from` must be an IPv4 or IPv6 endpoint.
 */
bool allow_has(const struct allow *allow, const union endpoint *from);

#endif
