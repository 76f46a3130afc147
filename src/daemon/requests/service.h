/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_SERVICE_H
#define SPATE_DAEMON_REQUESTS_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The daemon as the service manager sees it: ready, reloading or stopping, a
 * status line, and a watchdog message as long as data flow.
 *
 *   service_open ... service_memory ... service_ready
 *       service_step, whenever the loop turns; service_reloading,
 *       service_reloaded
 *   service_stopping ... service_step ...
 *
 * The event loop's thread.
 */
struct daemon;

struct service {
	int64_t look_ns; /* ns between looks at the receivers */
	bool watched;	 /* the manager waits for watchdog messages */
	int64_t looked;	 /* steady ns */
	unsigned still;	 /* looks in a row at which a receiver stood still */
	int64_t said;	 /* steady ns of the last status line */
	bool stopping;
	char line[256]; /* last status line */
};

/* Reads the manager's watchdog period. */
void service_open(struct service *s);

/* Tells the manager that taking `bytes` of memory will take a while. */
void service_memory(const struct service *s, uint64_t bytes);

/* Tell the manager that the daemon is ready, reloads its configuration, has
 * done so, or stops.  Without a manager they do nothing. */
void service_ready(struct daemon *d);
void service_reloading(struct daemon *d);
void service_reloaded(struct daemon *d);
void service_stopping(struct daemon *d);

/* Looks at the receivers and sends what is due: watchdog, status line, a longer
 * timeout while stopping.  Cheap when nothing is due. */
void service_step(struct daemon *d, int64_t now);

#endif
