/* SPDX-License-Identifier: MIT */
#ifndef SPATE_VSI_VSI_SERVER_H
#define SPATE_VSI_VSI_SERVER_H

#include <stdint.h>

#include "base/fault.h"
#include "contract/option.h"
#include "vsi/vsi_line.h"

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

/*
 * The sockets for commands of VSI-S, and the clients.  It runs on the event
 * loop's thread and never waits for a client.  Each client gets a small share
 * of a step, and bounded memory, whatever it sends:
 *
 *   in    one command of VSI_COMMAND bytes; a longer one is skipped
 *   out   at most VSI_OUT bytes; a client that does not read its replies
 *         is not read from
 *   many  VSI_CLIENTS that have sent a command, VSI_OF_ONE of one address,
 *         and a few that have not: further ones displace others (listener.h)
 *
 * A client whose first word is HTTP is cut off.
 */
struct vsi_server;

enum {
	VSI_CLIENTS = 256,
	VSI_OF_ONE = 64,
};

struct vsi_server_args {
	struct option_texts listen; /* addresses, each already checked */
	struct option_texts allow;  /* networks, each already checked */
	vsi_answer *command;	    /* answers a command; later commands of
				     * that client wait for it */
	/* Called when a client (vsi_command::client) has gone.  May be NULL. */
	void (*gone)(void *arg, uint32_t client);
	void *arg;
};

/*
 * Opens the sockets.  0, or -errno with a fault.  The texts must outlive the
 * server.
 */
int vsi_server_open(struct vsi_server **server,
		    const struct vsi_server_args *args, struct fault *fault);
void vsi_server_close(struct vsi_server *s); /* NULL is allowed */

/*
 * Returns an epoll descriptor: readable when vsi_server_step() has something to
 * do.
 */
int vsi_server_fd(const struct vsi_server *s);
void vsi_server_step(struct vsi_server *s);

#endif
