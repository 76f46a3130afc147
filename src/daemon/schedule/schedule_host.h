/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H

#include "daemon/main/daemon.h"
#include "daemon/schedule/schedule.h"

/*
 * What the schedule's hooks are in the daemon: orders and sessions.  The event
 * loop's thread.
 */

/* Both clocks at one moment: one that was stepped in between is read again. */
struct schedule_now schedule_host_now(void);

/* Opens d->schedule, and has the loop look at its folder and at the clock.  0
 * or -errno with a fault. */
int schedule_host_open(struct daemon *d, struct fault *fault);
void schedule_host_close(struct daemon *d);

/* Each turn of the loop, and when it is to turn next (steady). */
void schedule_host_step(struct daemon *d);
int64_t schedule_host_next(const struct daemon *d);

/* A session of it has begun, or ended and is still in d->sessions. */
void schedule_host_began(struct daemon *d, const struct session *s);
void schedule_host_ended(struct daemon *d, const struct session *s);

#endif
