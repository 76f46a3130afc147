/* SPDX-License-Identifier: MIT */
#ifndef SPATE_PLUGINS_RECEIVE_SOCKET_H
#define SPATE_PLUGINS_RECEIVE_SOCKET_H

#include <stdint.h>

#include "contract/receive.h"

/*
 * A datagram socket that listens where the configuration says: "host:port",
 * "[v6]:port", ":port"; a multicast group is joined.  Its buffer is as large
 * as asked for, or as the system allows: then one line says what would allow
 * more.
 *
 * Returns the descriptor, not blocking, or -errno with a sentence in
 * args->why.
 */
int socket_listen(const char *address, uint64_t buffer_bytes,
		  const struct receive_args *args);

#endif
