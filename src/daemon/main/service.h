/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_SERVICE_H
#define SPATE_DAEMON_MAIN_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The service is the daemon as the service manager sees it: that it is ready,
 * reloads or stops, a line of what it does, and a sign of life now and then.
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
	int64_t look_ns; /* between two looks: each may be a sign of life */
	bool watched;	 /* somebody waits for those */
	int64_t looked;	 /* steady */
	unsigned still;	 /* looks in a row at which a receiver hung */
	int64_t said;	 /* steady; when the line was said last */
	bool stopping;
	char line[256]; /* what is known of us */
};

void service_open(struct service *s);

/* So much memory is to be touched: that takes a while. */
void service_memory(const struct service *s, uint64_t bytes);

void service_ready(struct daemon *d);
void service_reloading(struct daemon *d);
void service_reloaded(struct daemon *d);
void service_stopping(struct daemon *d);

/* Says what is to be said by now. */
void service_step(struct daemon *d, int64_t now);

#endif
