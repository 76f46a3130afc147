/* SPDX-License-Identifier: MIT */
#ifndef SPATE_NET_ALLOW_H
#define SPATE_NET_ALLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/option.h"
#include "net/endpoint.h"

/* A network: "10.0.0.0/8", "fd00::/8", or a single address. */
struct allow_network {
	uint8_t address[16]; /* an IPv4 address is mapped into IPv6 */
	unsigned bits;
};

/*
 * An allow list names the networks whose packets a stream takes.  An empty list
 * allows every sender.
 */
struct allow {
	struct allow_network *network;
	unsigned n;
};

/* Parses one entry of a list.  0 or -EINVAL. */
int allow_network_read(struct allow_network *n, const char *text);

/* Tells whether an address, which must be IPv4 or IPv6, is in the network. */
bool allow_network_has(const struct allow_network *n,
		       const struct sockaddr *from);

/*
 * Tells whether an address is in one of these networks, each of which was
 * parsed successfully before; none of them: false.  For a connection, which
 * comes rarely.
 */
bool allow_texts_have(const struct option_texts *texts,
		      const struct sockaddr *from);

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
