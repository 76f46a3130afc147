/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_HOST_H

#include "daemon/disks/name_lookup.h"
#include "daemon/schedule/schedule.h"
#include "daemon/transfers/transfer.h"

/*
 * The host of the schedule turns its scans into orders (requests to record),
 * sessions and transfers, and tells it what became of them.  Only the event
 * loop's thread uses it.
 */

/* Facts that the schedule's scans were last admitted by (admission.c).
 * Admission runs again when one of the counts differs, and every ten seconds.
 * `typed`: sum of the IDs of recordings that no scan of the schedule made. */
struct schedule_seen {
	int64_t looked, told; /* ns, steady */
	unsigned disks, untried, typed;
};

struct schedule_host {
	struct recorder *r;
	struct transfers *transfers;
	struct schedule *schedule;
	struct name_lookup
	    *folder; /* looks whether the schedule's folder answers */
	int clock;   /* timerfd that fires when UTC is set */
	struct schedule_seen seen;
};

/*
 * Returns both clocks for the same moment, by reading them until no
 * interruption lies between.
 */
struct schedule_now schedule_host_now(void);

/*
 * Opens h->schedule, and adds its folder and a clock watch to the event loop.
 * 0, or -errno with a fault.
 */
int schedule_host_open(struct schedule_host *h, struct fault *fault);
void schedule_host_close(struct schedule_host *h);

/*
 * Called in each turn of the event loop; and returns when the loop must turn
 * next (steady ns).
 */
void schedule_host_step(struct schedule_host *h);
int64_t schedule_host_next(const struct schedule_host *h);

/*
 * Called when a session of a scan has begun; and when it has ended, while it is
 * still in h->r->sessions.
 */
void schedule_host_began(struct schedule_host *h, const struct session *s);
void schedule_host_ended(struct schedule_host *h, const struct session *s);

/* Returns the folder of state files: from the configuration, else from systemd,
 * else in the schedule's folder; NULL: there is none.  Free it with free(). */
char *schedule_host_state(const struct recorder *r);

#endif
