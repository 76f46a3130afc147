/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_CLIENT_H
#define SPATE_DAEMON_VSI_VSI_CLIENT_H

#include <stdint.h>

#include "daemon/loop/listener.h"
#include "daemon/vsi/vsi_line.h"

/*
 * A client's connection: it sends commands of VSI-S and gets their replies in
 * the same order.  No function blocks; the memory per client is bounded, see
 * vsi_server.h.
 */
enum {
	VSI_OUT = 4 * VSI_REPLY,
	VSI_TURN = 8, /* most commands in one turn */
};

/*
 * Answers a command: fills in the reply, which is begun and not ended.  False:
 * the command is put off, and asked again later with c->tries incremented.
 */
typedef bool vsi_answer(void *arg, const struct vsi_command *c,
			struct vsi_reply *r);

struct vsi_client {
	struct listener_place place; /* proved: it sent a valid command */
	int fd;
	uint32_t number;  /* a different one for each client */
	uint32_t runtime; /* number of its runtime, see vsi_command */
	uint32_t events;  /* epoll events that are waited for */
	bool wants_out;	  /* replies wait, because the client does not read */
	bool again;	  /* sent more than its share of a turn */
	bool later;	  /* a command of it was put off */
	bool begun;	  /* first word was checked for HTTP */
	bool commands;	  /* sent at least one valid command */
	bool http;	  /* speaks HTTP: cut it off */
	struct vsi_lines in;
	struct vsi_command command; /* command whose fields point into `in` */
	char *out;
	size_t bytes; /* bytes in `out` that wait to be sent */
};

/*
 * Takes over the descriptor.  NULL without memory, and the descriptor stays the
 * caller's.
 */
struct vsi_client *vsi_client_make(int fd);
void vsi_client_free(struct vsi_client *c); /* closes the descriptor */

/* Reads once from the socket.  False: the client has gone. */
bool vsi_client_read(struct vsi_client *c);

/*
 * Handles the client's share of commands and sends the replies, using `r` as a
 * buffer.  False: the client has gone, or has to be cut off.
 */
bool vsi_client_turn(struct vsi_client *c, vsi_answer *answer, void *arg,
		     struct vsi_reply *r);

/* Sends waiting replies.  False: the client has gone. */
bool vsi_client_flush(struct vsi_client *c);

#endif
