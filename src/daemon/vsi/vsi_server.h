/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_VSI_VSI_SERVER_H
#define SPATE_DAEMON_VSI_VSI_SERVER_H

#include "base/fault.h"
#include "contract/option.h"
#include "daemon/vsi/vsi_client.h"

/*
 * The sockets on which commands of VSI-S come in, and those who send them.
 * One thread: the event loop's.  Nothing it does waits for a client, and each
 * of them gets a small share of a step, whatever it sends:
 *
 *   in    one command of VSI_COMMAND bytes; a longer one is passed over
 *   out   at most VSI_OUT bytes; one that does not read is not read from
 *   many  VSI_CLIENTS that have sent a command, VSI_OF_ONE of one address, and
 *         a few that have not: further ones put others out (listener.h)
 *
 * Whoever begins with a word of HTTP is cut off.
 */
struct vsi_server;

enum {
	VSI_CLIENTS = 256,
	VSI_OF_ONE = 64,
};

struct vsi_server_args {
	struct option_texts listen; /* every one is an address */
	struct option_texts allow;  /* and a network */
	vsi_answer *command; /* everything else of a client waits for it */
	/* This client (vsi_command) has gone.  NULL: nobody wants to know. */
	void (*gone)(void *arg, uint32_t client);
	void *arg;
};

/* 0 or -errno with a fault.  The texts must outlive it. */
int vsi_server_open(struct vsi_server **server,
		    const struct vsi_server_args *args, struct fault *fault);
void vsi_server_close(struct vsi_server *s); /* NULL: nothing */

/* Others than before may come in from here on; they must outlive it. */
void vsi_server_allow(struct vsi_server *s, const struct option_texts *allow);

/* An epoll set: readable when there is something to do. */
int vsi_server_fd(const struct vsi_server *s);
void vsi_server_step(struct vsi_server *s);

#endif
