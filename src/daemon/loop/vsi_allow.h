/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_VSI_ALLOW_H
#define SPATE_DAEMON_LOOP_VSI_ALLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "contract/option.h"

/*
 * Allow lists and addresses of the network: "10.0.0.0/8", "fd00::/8", or single
 * addresses.  Pure.
 */
struct vsi_network {
	uint8_t address[16]; /* an IPv4 address is mapped into IPv6 */
	unsigned bits;
};

/* Parses one entry of a list.  0 or -EINVAL. */
int vsi_network_parse(struct vsi_network *n, const char *text);
bool vsi_network_has(const struct vsi_network *n, const struct sockaddr *from);

/*
 * Tells whether a peer is in one of these networks, each of which was parsed
 * successfully before.
 */
bool vsi_allowed(const struct option_texts *texts, const struct sockaddr *from);

/* Formats a peer as "10.1.2.3:4567" or "[fd00::1]:4567", for the log. */
enum { VSI_PEER = 64 };
const char *vsi_peer(char text[VSI_PEER], const struct sockaddr *from);

/*
 * Parses where to listen: "127.0.0.1:2620", "[::]:2620".  Returns the length of
 * the address, or -EINVAL.
 */
int vsi_address_parse(struct sockaddr_storage *address, const char *text);

#endif
