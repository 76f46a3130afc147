/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_RECORDER_H
#define SPATE_DAEMON_SESSIONS_RECORDER_H

#include <stdbool.h>

#include "daemon/conf/setup.h"
#include "daemon/disks/disk_set.h"
#include "daemon/disks/catalogue_thread.h"
#include "daemon/disks/name_lookup.h"
#include "daemon/loop/closer.h"
#include "daemon/loop/fds.h"
#include "daemon/loop/server.h"
#include "daemon/sessions/receivers.h"
#include "daemon/sessions/live_tap.h"
#include "daemon/sessions/probe.h"
#include "daemon/sessions/session.h"

/*
 * The recorder is the part of the daemon that records: the configuration,
 * memory, disks, receivers, and the sessions that use them.  Transfers, the
 * schedule and clients' requests stand on it.  All fields belong to the event
 * loop's thread.
 */

/* ended recordings that `info` still knows, at most */
enum { RECORDER_ENDED = 64 };

/* Answers of the parts above to questions of the recorder. */
struct recorder_hooks {
	/* True if a copy of that name is coming in. */
	bool (*comes)(void *arg, const char *name);
	/* Ends relays, because a recording lacks memory; false: there are
	 * none. */
	bool (*yield)(void *arg);
	/* Called when a recording has just begun. */
	void (*began)(void *arg, struct session *s);
	void *arg;
};

struct recorder {
	struct recorder_hooks hooks;
	struct setup setup;
	struct arena *arena;
	struct queue *queue;
	struct disk_set disks;	    /* the disks */
	struct receivers receivers; /* the receivers */
	struct catalogue_thread
	    *catalogue;			 /* thread that keeps the catalogue */
	struct signal_thread *signal;	 /* looks at samples */
	struct name_lookup *lookup;	 /* looks up names on disks */
	struct overrun_reading overruns; /* what receiver threads met with */
	struct session_host host;
	struct server *server; /* control socket */
	struct closer *closer; /* closes files that clients opened */
	struct daemon_fds fds; /* descriptors that the loop polls */
	int wake;	       /* eventfd */
	bool stopping;	       /* the daemon ends */

	struct session *sessions; /* sessions that run */
	unsigned last_id;
	json_t *ended; /* `info` of ended recordings, oldest first */
	/* report.h: of streams since the daemon began, sorted by name */
	struct stream_totals *totals;
	unsigned streams; /* that have totals */
	struct probe *probes;
	struct live_taps live_taps;
};

/* Removes recordings of this name from recorder::ended, because a new recording
 * has the name now, or the old one was removed. */
void recorder_forget(struct recorder *r, const char *name);

#endif
