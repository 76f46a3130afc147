/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_SOCKET_H
#define SPATE_RECEIVE_UDP_SOCKET_H

#include <stdint.h>

#include "net/address.h"
#include "contract/receive.h"

/*
 * A datagram socket that listens where one substream of an address comes in;
 * a multicast group is joined.  Its buffer is as large as asked for, or as
 * the system allows.
 *
 * Returns the descriptor, not blocking, or -errno with a sentence in
 * args->why.
 */
int socket_listen(const struct address *a, uint32_t sub, uint64_t buffer_bytes,
		  const struct receive_args *args);

/* How many bytes its buffer was granted. */
uint64_t socket_buffer(int fd);

#endif
