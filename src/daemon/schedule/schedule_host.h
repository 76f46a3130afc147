/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H

#include "daemon/main/daemon.h"
#include "daemon/schedule/schedule.h"

/*
 * The schedule's hooks in the daemon: they turn scans into orders (requests to
 * record) and sessions.  Only the event loop's thread uses it.
 */

/*
 * Returns both clocks for the same moment, by reading them until no
 * interruption lies between.
 */
struct schedule_now schedule_host_now(void);

/*
 * Opens d->schedule, and adds its folder and a clock watch to the event loop.
 * 0, or -errno with a fault.
 */
int schedule_host_open(struct daemon *d, struct fault *fault);
void schedule_host_close(struct daemon *d);

/*
 * Called in each turn of the event loop; and returns when the loop must turn
 * next (steady ns).
 */
void schedule_host_step(struct daemon *d);
int64_t schedule_host_next(const struct daemon *d);

/*
 * Called when a session of a scan has begun; and when it has ended, while it is
 * still in d->sessions.
 */
void schedule_host_began(struct daemon *d, const struct session *s);
void schedule_host_ended(struct daemon *d, const struct session *s);

#endif
