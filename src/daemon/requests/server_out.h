/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_SERVER_OUT_H
#define SPATE_DAEMON_REQUESTS_SERVER_OUT_H

#include <stddef.h>

#include "daemon/requests/server.h"

/*
 * What a client of the control socket has not taken yet: lines, and at most
 * once descriptors, which go with the first byte of the line after them.
 */
struct server_out {
	char *data;
	size_t bytes, sent, room;
	int fd[SERVER_FDS]; /* borrowed */
	unsigned fds;	    /* that are still to go, with */
	size_t fds_at;	    /* this byte */
};

void server_out_init(struct server_out *o);
void server_out_clear(struct server_out *o);

/* Adds a text and a newline.  0; -ENOMEM; -EMSGSIZE: too much waits already, of
 * a client that does not read: a stopped terminal is not to eat the daemon's
 * memory. */
int server_out_line(struct server_out *o, const char *text);

/* They go with the next line that is added. */
void server_out_fds(struct server_out *o, const int *fd, unsigned n);

/* Sends as much as the socket takes: 0, all of it; -EAGAIN; or -errno. */
int server_out_flush(struct server_out *o, int fd);

#endif
