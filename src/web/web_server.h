/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_WEB_SERVER_H
#define SPATE_WEB_WEB_SERVER_H

#include <poll.h>

#include "base/fault.h"
#include "control/web_conf.h"
#include "web/figures.h"

/*
 * The server answers GET and HEAD over HTTP, by libmicrohttpd, on each address of
 * the configuration:
 *
 *   /          a page that shows them (page.html)
 *   /events    the figures once a second, for the page (events.h)
 *   /metrics   the figures for Prometheus (metrics.h)
 *
 * A client that is in no network of `allow` is not accepted.  The others share
 * WEB_CONNECTIONS of each address, and one that neither sends nor takes a byte
 * for WEB_IDLE_S loses its own, so that clients that never read keep nobody out
 * for long.  One thread, whose loop polls what web_server_poll() says.
 */
enum {
	WEB_CONNECTIONS = 64,
	WEB_OF_ONE = 48, /* connections of one address */
	WEB_IDLE_S = 10,
	WEB_SOCKETS = 16, /* addresses, at most */
};

struct web_server;

/* `conf` and `figures` must outlive the server.  0, or -errno with a fault. */
int web_server_open(struct web_server **server, const struct web_conf *conf,
		    struct figures *figures, struct fault *fault);
void web_server_close(struct web_server *server); /* NULL is allowed */

/* Fills at most WEB_SOCKETS entries of `fd`, returns how many, and lowers
 * *wait_ms to when the server has to run in any case. */
unsigned web_server_poll(struct web_server *server, struct pollfd *fd,
			 int *wait_ms);

/* Does what there is to do, without waiting for a client. */
void web_server_run(struct web_server *server);

#endif
