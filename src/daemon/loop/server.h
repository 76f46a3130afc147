/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_LOOP_SERVER_H
#define SPATE_DAEMON_LOOP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

/*
 * The server is the daemon's end of the control socket: it takes requests from
 * clients and sends the answers, at once or later.  It never waits for a
 * client.  A client that sends anything but JSON objects, or does not read its
 * answers, is disconnected.  Users other than root and the daemon's own have 64
 * connections each; all together have 256 (listener.h).  The event loop's
 * thread.
 */
struct server;

/* Names a request.  It stays valid after the client has left; an answer then
 * goes nowhere. */
struct server_ticket {
	uint64_t client;
	json_int_t id;
};

struct server_hooks {
	/* Called for each request.  It calls server_answer or server_refuse
	 * exactly once, at once or later.  `request` is borrowed. */
	void (*ask)(void *arg, struct server_ticket ticket, const char *verb,
		    const json_t *request);
	void *arg;
	/* closes descriptors that came and were not taken */
	struct closer *closer;
};

/*
 * Listens on the socket `path`, for this user alone.  Returns 0, or -errno with
 * a fault; -EADDRINUSE if another daemon has it.
 */
int server_open(struct server **server, const char *path,
		const struct server_hooks *hooks, struct fault *fault);
/* Opens the socket to the members of `group`; NULL: to nobody else. */
void server_group(struct server *s, const char *group);
/* Disconnects all clients and removes the socket. */
void server_close(struct server *s);

/* An epoll set: when it is readable, call server_step. */
int server_fd(const struct server *s);
void server_step(struct server *s);

/* True if the client is still connected. */
bool server_waits(struct server *s, struct server_ticket t);

/* Returns the user that sent the request; root if it has left. */
uid_t server_user(struct server *s, struct server_ticket t);
/* Returns a descriptor that came with the request, while that is handled; the
 * caller has it closed by a closer.  -1: none came. */
int server_fd_take(struct server *s, struct server_ticket t);

/* Answers with `result`, a reference that is taken over. */
void server_answer(struct server *s, struct server_ticket t, json_t *result);
/* Answers with an object, and sends `n` (at most SERVER_FDS) descriptors with
 * the first such answer of a connection.  They are borrowed and outlive the
 * server.  Sets "fds" in the result: true if they came along. */
enum { SERVER_FDS = 4 };
void server_answer_fds(struct server *s, struct server_ticket t, json_t *result,
		       const int *fd, unsigned n);
/* Answers with a JSON text, which is borrowed; NULL (no memory) disconnects the
 * client. */
void server_answer_text(struct server *s, struct server_ticket t,
			const char *result);
/* Answers with an error. */
void server_refuse(struct server *s, struct server_ticket t,
		   const struct fault *fault);

#endif
