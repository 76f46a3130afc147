/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_SERVER_SOCKET_H
#define SPATE_DAEMON_LOOP_SERVER_SOCKET_H

#include <sys/un.h>

#include "base/fault.h"

/* The file of the control socket, and the lock that says which daemon owns
 * it. */
struct server_socket {
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	int lock, listen; /* descriptors; -1: none */
};

/* Takes the lock and binds the socket; `group` (NULL: none) may use it.
 * Returns 0, or -errno with a fault and nothing to close; -EADDRINUSE if
 * another daemon has it. */
int server_socket_open(struct server_socket *s, const char *path,
		       const char *group, struct fault *fault);
void server_socket_close(struct server_socket *s);

#endif
