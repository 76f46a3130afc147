/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_REQUESTS_DAEMON_H
#define SPATE_DAEMON_REQUESTS_DAEMON_H

#include "daemon/disks/housekeeping.h"
#include "daemon/requests/service.h"
#include "daemon/schedule/schedule_host.h"
#include "daemon/health/kernel.h"
#include "daemon/sessions/recorder.h"
#include "daemon/transfers/inbox.h"
#include "daemon/transfers/transfer.h"

/*
 * The daemon: the recorder, and all that gives it orders.  All fields belong to
 * the event loop's thread; main/daemon.c lists the other threads.
 */

/* A client that waits for a recording to begin or to end. */
struct waiter {
	struct server_ticket ticket;
	char group[80];	     /* name of the recordings */
	bool stop;	     /* true: waits for the end */
	struct waiter *next; /* daemon::waiters */
};

/* A client that waits until a disk has been tried, or has left. */
struct disk_waiter {
	struct server_ticket ticket;
	unsigned number;
	bool drop;
	int64_t until;		  /* ns, steady: when it is told anyway */
	struct disk_waiter *next; /* daemon::disk_waiters */
};

struct daemon {
	struct recorder r;
	struct transfers transfers;
	struct inbox *inbox; /* NULL: not configured */
	struct schedule_host host;
	struct housekeeping *housekeeping;
	/* looks whether a disk that is to be added answers */
	struct name_lookup *added;
	struct service service; /* state told to systemd */

	int signals;	      /* signalfd */
	int64_t started;      /* ns, steady */
	int64_t started_ns;   /* ns, UTC */
	struct kernel kernel; /* its counters, as of then */

	/* users of spate-vsi and spate-web, who may not use every verb, whether
	 * these are configured or not; 0: there is none */
	uid_t vsi_user, web_user;
	json_t *kept; /* values of clients, by name (`keep`) */
	struct waiter *waiters;
	struct disk_waiter *disk_waiters;
};

/* Answers one request of a client, now or later (verbs.c). */
void daemon_ask(void *arg, struct server_ticket ticket, const char *verb,
		const json_t *request);

/* Opens the control socket to those who may use it by the configuration, and
 * finds the user who may not use all of it (reload.c). */
void daemon_clients(struct daemon *d);

/* Reads the configuration again (reload.c).  Returns 0, and in *result (unless
 * NULL) the changes as verbs.h describes them; or -errno with a fault, and
 * nothing has changed. */
int daemon_reload(struct daemon *d, json_t **result, struct fault *fault);

/* Answers clients whose disk has been tried or has left (verbs_disks.c). */
void daemon_disks(struct daemon *d, int64_t now);

/* Answers clients whose job is done (verbs_disks.c). */
void daemon_housekeeping(struct daemon *d);

/* Answers clients that wait for recordings of `group` when their condition
 * holds (verbs.c). */
void daemon_tell(struct daemon *d, const char *group);

#endif
