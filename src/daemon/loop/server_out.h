/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_SERVER_OUT_H
#define SPATE_DAEMON_LOOP_SERVER_OUT_H

#include <stddef.h>

#include "daemon/loop/server.h"

/*
 * Output for a client of the control socket that was not sent yet: lines, and
 * at most once descriptors, which go with the first byte of the line after
 * them.
 */
struct server_out {
	char *data;
	size_t bytes, sent, room;
	int fd[SERVER_FDS]; /* borrowed */
	unsigned fds;	    /* number of descriptors to send, */
	size_t fds_at;	    /* with the byte at this offset */
};

void server_out_init(struct server_out *o);
void server_out_clear(struct server_out *o);

/* Appends a text and a newline.  Returns 0; -ENOMEM; or -EMSGSIZE if the client
 * does not read and 16 MiB wait already: a stopped terminal must not use up the
 * daemon's memory. */
int server_out_line(struct server_out *o, const char *text);

/* Sends the descriptors with the next line that is added. */
void server_out_fds(struct server_out *o, const int *fd, unsigned n);

/* Sends as much as the socket takes.  Returns 0 if all is sent, -EAGAIN if not,
 * or -errno. */
int server_out_flush(struct server_out *o, int fd);

#endif
