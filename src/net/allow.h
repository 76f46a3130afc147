/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ALLOW_H
#define SPATE_NET_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"
#include "endpoint.h"

/*
 * An allow list is the networks whose packets a stream takes: "10.0.0.0/8",
 * "fd00::/8", or single addresses.  An empty one lets everybody in.
 */
struct allow_network {
	uint8_t address[16]; /* IPv4 is mapped into IPv6 */
	unsigned bits;
};

struct allow {
	struct allow_network *network;
	unsigned n;
};

/* 0, -ENOMEM, or -EINVAL with a sentence in `why`. */
int allow_parse(struct allow *allow, const struct option_texts *texts,
		char *why, uint32_t why_bytes);
void allow_clear(struct allow *allow);

/* Only of an endpoint that is one. */
bool allow_has(const struct allow *allow, const union endpoint *from);

#endif
