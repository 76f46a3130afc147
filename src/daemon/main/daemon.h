/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_DAEMON_H
#define SPATE_DAEMON_MAIN_DAEMON_H

#include <stdbool.h>

#include "daemon/disks/chores.h"
#include "daemon/sessions/crew.h"
#include "daemon/main/fds.h"
#include "daemon/disks/fleet.h"
#include "daemon/transfers/inbox.h"
#include "daemon/disks/keeper.h"
#include "daemon/sessions/mapping.h"
#include "daemon/sessions/probe.h"
#include "daemon/schedule/schedule.h"
#include "daemon/disks/seek.h"
#include "daemon/conf/setup.h"
#include "daemon/requests/server.h"
#include "daemon/main/service.h"
#include "daemon/sessions/session.h"
#include "daemon/transfers/transfer.h"

/*
 * The daemon: the configuration and everything that it made of it.  All of
 * it belongs to the event loop's thread; see daemon.c for the other threads.
 */
enum { DAEMON_ENDED = 64 }; /* recordings remembered after their end */

/* Somebody waits: for a recording to have begun, or to have ended. */
struct waiter {
	struct server_ticket ticket;
	char group[80];	     /* whose recordings */
	bool stop;	     /* waits for the end */
	struct waiter *next; /* daemon::waiters */
};

/* Somebody waits for a disk: to have been tried, or to have left. */
struct disk_waiter {
	struct server_ticket ticket;
	unsigned number;
	bool drop;
	int64_t until;		  /* steady */
	struct disk_waiter *next; /* daemon::disk_waiters */
};

/* What the schedule's scans were admitted by, when that was last looked at. */
struct daemon_seen {
	int64_t looked, told; /* steady */
	unsigned disks, untried, typed;
};

struct daemon {
	struct setup setup;
	struct pool *pool;
	struct queue *queue;
	struct fleet fleet; /* the disks */
	struct crew crew;   /* the receivers */
	struct chores *chores;
	struct keeper *keeper; /* of the catalogue */
	struct seek *seek;     /* of names on disks */
	struct seek *folder;   /* of the schedule */
	struct session_host host;
	struct inbox *inbox; /* NULL: not configured */
	struct server *server;
	struct schedule *schedule;
	struct daemon_seen seen;
	struct vsi_daemon *vsi; /* NULL: not configured */
	struct service service; /* as the service manager sees it */

	struct daemon_fds fds; /* what the loop waits for */
	int wake, signals;     /* eventfd, signalfd */
	int clock;	       /* timerfd: says that UTC was set */
	bool stopping;
	int64_t started;    /* steady */
	int64_t started_ns; /* UTC */

	struct session *sessions; /* those that run */
	unsigned last_id;
	json_t *ended; /* INFO of the last, oldest first */
	struct waiter *waiters;
	struct disk_waiter *disk_waiters;
	struct probe *probes;
	struct transfers transfers;
	struct mappings mappings;
};

/* 0 or -errno with a fault; daemon_finish in either case. */
int daemon_start(struct daemon *d, const char *conf, struct fault *fault);

/* Until a signal ends it, and every recording is durable. */
int daemon_run(struct daemon *d);
/* False: a disk does not answer, and its thread uses what is left; then only
 * _exit ends the process. */
bool daemon_finish(struct daemon *d);

/* verbs.c: one request of a client. */
void daemon_ask(void *arg, struct server_ticket ticket, const char *verb,
		const json_t *request);

/* reload.c: reads the configuration again; 0 and, where it is not NULL, what
 * changed (verbs.h), or -errno with a fault, and all is as it was. */
int daemon_reload(struct daemon *d, json_t **result, struct fault *fault);

/* verbs_probe.c: answers those whose probe is over; ends those of a stream
 * that is to be recorded, and of who does not wait any more. */
void daemon_probes(struct daemon *d, const struct stream *wanted);

/* verbs_disks.c: answers those whose disk is where it should be. */
void daemon_disks(struct daemon *d, int64_t now);

/* verbs_chores.c: answers those whose chore is done. */
void daemon_chores(struct daemon *d);

/* verbs.c: tells those who waited for this group, where it is time. */
void daemon_tell(struct daemon *d, const char *group);

/* It is being recorded from here on, and listed. */
void daemon_began(struct daemon *d, struct session *s);

/* Forgets those of this name that have ended. */
void daemon_forget(struct daemon *d, const char *name);

#endif
