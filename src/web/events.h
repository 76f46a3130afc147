/* SPDX-License-Identifier: MIT */
#ifndef SPATE_WEB_EVENTS_H
#define SPATE_WEB_EVENTS_H

#include <microhttpd.h>

#include "web/figures.h"

/*
 * Events are the figures as server-sent events: one to each client once a second,
 * which is its heartbeat, too.  A client that does not take one in time misses
 * those in between, and gets the newest next.
 *
 *   events_answer --> client waits (suspended) --events_step--> sends --> waits
 *                                                  closed by the peer --> gone
 *
 * One thread.
 */
enum { EVENTS_CLIENTS = 32 };

struct events;

/* `figures` must outlive them.  0 or -ENOMEM. */
int events_open(struct events **events, struct figures *figures);

/* Lets all clients go on, so that the server can be stopped. */
void events_stop(struct events *events);
/* Frees, once no client is left.  NULL is allowed. */
void events_close(struct events *events);

/* Answers a request with events from now on; MHD_NO: there is no room. */
enum MHD_Result events_answer(struct events *events, struct MHD_Connection *c);

/* Returns in how many ms events_step() has something to do; -1: never. */
int events_wait(const struct events *events);
/* Asks spated, where somebody listens and it is time, and wakes the clients. */
void events_step(struct events *events);

#endif
