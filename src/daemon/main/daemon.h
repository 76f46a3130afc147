/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_MAIN_DAEMON_H
#define SPATE_DAEMON_MAIN_DAEMON_H

#include <stdbool.h>

#include "daemon/disks/chores.h"
#include "daemon/sessions/crew.h"
#include "daemon/loop/fds.h"
#include "daemon/disks/fleet.h"
#include "daemon/transfers/inbox.h"
#include "daemon/disks/keeper.h"
#include "daemon/sessions/mapping.h"
#include "daemon/sessions/probe.h"
#include "daemon/schedule/schedule.h"
#include "daemon/disks/seek.h"
#include "daemon/conf/setup.h"
#include "daemon/loop/server.h"
#include "daemon/requests/service.h"
#include "daemon/sessions/session.h"
#include "daemon/transfers/transfer.h"

/*
 * The daemon: the configuration and everything that was made of it.  All fields
 * belong to the event loop's thread; daemon.c lists the other threads.
 */

/* ended recordings that `info` still knows, at most */
enum { DAEMON_ENDED = 64 };

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

/* Facts that the schedule's scans were last admitted by (admission.c).
 * Admission runs again when one of the counts differs, and every ten seconds.
 * `typed`: sum of the IDs of recordings that no scan of the schedule made. */
struct daemon_seen {
	int64_t looked, told; /* ns, steady */
	unsigned disks, untried, typed;
};

struct daemon {
	struct setup setup;
	struct pool *pool;
	struct queue *queue;
	struct fleet fleet; /* the disks */
	struct crew crew;   /* the receivers */
	struct chores *chores;
	struct keeper *keeper; /* thread that keeps the catalogue */
	struct seek *seek;     /* looks up names on disks */
	struct seek *folder;   /* looks whether the schedule's folder answers */
	struct session_host host;
	struct inbox *inbox; /* NULL: not configured */
	struct server *server;
	struct schedule *schedule;
	struct daemon_seen seen;
	struct vsi_daemon *vsi; /* NULL: not configured */
	struct service service; /* state told to systemd */

	struct daemon_fds fds; /* descriptors that the loop polls */
	int wake, signals;     /* eventfd, signalfd */
	int clock;	       /* timerfd that fires when UTC is set */
	bool stopping;
	int64_t started;    /* ns, steady */
	int64_t started_ns; /* ns, UTC */

	struct session *sessions; /* sessions that run */
	unsigned last_id;
	json_t *ended; /* `info` of ended recordings, oldest first */
	struct waiter *waiters;
	struct disk_waiter *disk_waiters;
	struct probe *probes;
	struct transfers transfers;
	struct mappings mappings;
};

/* Starts everything that the file `conf` asks for.  Returns 0, or -errno with a
 * fault.  The caller calls daemon_finish in either case. */
int daemon_start(struct daemon *d, const char *conf, struct fault *fault);

/* Runs the event loop until a signal has ended it and every recording is
 * durable.  Returns 0, or -errno when the loop cannot wait. */
int daemon_run(struct daemon *d);
/* Stops all threads and frees what `d` holds, not `d`.  Returns false if a disk
 * does not answer: its thread still uses memory, so only _exit may end the
 * process. */
bool daemon_finish(struct daemon *d);

/* Answers one request of a client, now or later (verbs.c). */
void daemon_ask(void *arg, struct server_ticket ticket, const char *verb,
		const json_t *request);

/* Reads the configuration again (reload.c).  Returns 0, and in *result (unless
 * NULL) the changes as verbs.h describes them; or -errno with a fault, and
 * nothing has changed. */
int daemon_reload(struct daemon *d, json_t **result, struct fault *fault);

/* Answers clients whose probe is over (verbs_probe.c).  Ends a probe early if
 * its client has left, or if its stream is `wanted` (may be NULL) for a
 * recording. */
void daemon_probes(struct daemon *d, const struct stream *wanted);

/* Answers clients whose disk has been tried or has left (verbs_disks.c). */
void daemon_disks(struct daemon *d, int64_t now);

/* Answers clients whose chore is done (verbs_chores.c). */
void daemon_chores(struct daemon *d);

/* Answers clients that wait for recordings of `group` when their condition
 * holds (verbs.c). */
void daemon_tell(struct daemon *d, const char *group);

/* Adds a recording that has just begun to the catalogue, logs it, and starts
 * its transfer if it has one. */
void daemon_began(struct daemon *d, struct session *s);

/* Removes recordings of this name from daemon::ended, because a new recording
 * has the name now, or the old one was removed. */
void daemon_forget(struct daemon *d, const char *name);

#endif
