/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_SERVER_SOCKET_H
#define SPATE_DAEMON_REQUESTS_SERVER_SOCKET_H

#include <sys/un.h>

#include "base/fault.h"

/* The file on which the control socket listens, and the lock that says whose
 * it is. */
struct server_socket {
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	int lock, listen; /* -1 */
};

/* `group` (NULL: none) may use it.  -EADDRINUSE when another daemon answers
 * there.  0 or -errno with a fault, and nothing to close. */
int server_socket_open(struct server_socket *s, const char *path,
		       const char *group, struct fault *fault);
void server_socket_close(struct server_socket *s);

#endif
