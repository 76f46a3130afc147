/* SPDX-License-Identifier: MIT */
#ifndef SPATE_RECEIVE_UDP_SOCKET_H
#define SPATE_RECEIVE_UDP_SOCKET_H

#include <stdint.h>

#include "net/address.h"
#include "contract/receive.h"

/*
 * Opens a UDP socket for substream `sub` of an address, and joins the group if
 * the address is multicast.  The receive buffer is as large as asked for, or as
 * the system allows.  Returns a descriptor that does not block, owned by the
 * caller, or -errno with a sentence in args->why.
 */
int socket_listen(const struct address *a, uint32_t sub, uint64_t buffer_bytes,
		  const struct receive_args *args);

/* Returns the size of the receive buffer that the kernel granted, in bytes. */
uint64_t socket_buffer(int fd);

#endif
