/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_SERVER_H
#define SPATE_DAEMON_REQUESTS_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * The server is the daemon's end of the control socket: it takes requests
 * from its clients and sends their answers, now or later.  One thread: the
 * event loop's.  Nothing it does waits for a client; one that sends rubbish, or
 * does not read its answers, is told goodbye.  Users other than root and the
 * daemon's own have 64 connections each, and all of them have 256 (listener.h).
 */
struct server;

/* Where an answer goes; stays good when the client has gone. */
struct server_ticket {
	uint64_t client;
	json_int_t id;
};

struct server_hooks {
	/* One request; answered by server_answer or server_refuse, once,
	 * from within or at any later time.  `request` is borrowed. */
	void (*ask)(void *arg, struct server_ticket ticket, const char *verb,
		    const json_t *request);
	void *arg;
};

/*
 * Takes the socket; `group` (NULL: none) may use it.  -EADDRINUSE when
 * another daemon answers there.  0 or -errno with a fault.
 */
int server_open(struct server **server, const char *path, const char *group,
		const struct server_hooks *hooks, struct fault *fault);
void server_close(struct server *s);

/* An epoll set: readable when there is something to do. */
int server_fd(const struct server *s);
void server_step(struct server *s);

/* Is whoever asked still there? */
bool server_waits(struct server *s, struct server_ticket t);

/* `result` is taken over. */
void server_answer(struct server *s, struct server_ticket t, json_t *result);
/* The same of an object, and with it, the first time on a connection, these
 * descriptors, up to SERVER_FDS, which are borrowed and outlive the server;
 * "fds" in the result says whether they came along. */
enum { SERVER_FDS = 4 };
void server_answer_fds(struct server *s, struct server_ticket t, json_t *result,
		       const int *fd, unsigned n);
/* The same of a JSON text, which is borrowed; NULL: there was no memory. */
void server_answer_text(struct server *s, struct server_ticket t,
			const char *result);
void server_refuse(struct server *s, struct server_ticket t,
		   const struct fault *fault);

#endif
