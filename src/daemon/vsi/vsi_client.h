/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_CLIENT_H
#define SPATE_DAEMON_VSI_VSI_CLIENT_H

#include <stdint.h>

#include "daemon/main/listener.h"
#include "daemon/vsi/vsi_line.h"

/*
 * One who sends commands of VSI-S, and is told what became of them, in their
 * order.  Nothing here waits; what it holds is bounded, see vsi_server.h.
 */
enum {
	VSI_OUT = 4 * VSI_REPLY,
	VSI_TURN = 8, /* commands in one turn */
};

/* The reply to a command, begun and not ended.  False: not yet; then it is
 * asked again later, with one more in c->tries. */
typedef bool vsi_answer(void *arg, const struct vsi_command *c,
			struct vsi_reply *r);

struct vsi_client {
	struct listener_place place; /* proved: it sent a command */
	int fd;
	uint32_t number;  /* another one for every client */
	uint32_t runtime; /* see vsi_command */
	uint32_t events;  /* that are waited for */
	bool wants_out;	  /* it does not read */
	bool again;	  /* it sent more than its share */
	bool later;	  /* its command was put off */
	bool begun;	  /* its first word was looked at */
	bool commands;	  /* it sent one that can be read */
	bool http;	  /* it speaks that: it is to be cut off */
	struct vsi_lines in;
	struct vsi_command command; /* its fields are in `in` */
	char *out;
	size_t bytes; /* that wait in it */
};

/* Takes the descriptor over; NULL without memory, then it does not. */
struct vsi_client *vsi_client_make(int fd);
void vsi_client_free(struct vsi_client *c); /* closes it */

/* Reads once.  False: it has gone. */
bool vsi_client_read(struct vsi_client *c);

/* Takes its share of what was read, and sends the replies (which are made in
 * `r`).  False: it has gone. */
bool vsi_client_turn(struct vsi_client *c, vsi_answer *answer, void *arg,
		     struct vsi_reply *r);

/* Sends what waits.  False: it has gone. */
bool vsi_client_flush(struct vsi_client *c);

#endif
