/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_SESSION_H
#define SPATE_DAEMON_SESSIONS_SESSION_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "daemon/disks/fleet.h"
#include "daemon/disks/kernel.h"
#include "daemon/sessions/supply.h"
#include "flow/output/output.h"
#include "flow/write/writer.h"

/*
 * A session is a recording being made: of a stream, or of one part of a stream
 * that is split.  It owns everything that this takes, but for the reception
 * that feeds it, which the parts share, and sees it through.
 *
 *   ARMED --> BEGINNING --> RECORDING --> STOPPING --> WRITING
 *     |           |                         ^             |
 *     |           +- typed, and no disk ----+          SYNCING
 *     |                                                   |
 *     +- cancelled ------------------------> ENDED <-- CLOSING
 *
 *   ARMED      its sockets are open and its memory is borrowed; its start is
 *              ahead, and nothing of it is on any disk
 *   BEGINNING  writers make their folders; the stream is received already
 *   RECORDING  disks take blocks; where none does, they wait in memory, and
 *              when that is full packets are dropped, until one does
 *   STOPPING   the receivers take what has arrived, and close its blocks
 *   WRITING    blocks are on their way to disks; those that no disk takes for
 *              SESSION_PATIENCE are lost
 *   SYNCING    writers do a last round: then each disk has said what became of
 *              its blocks, and the totals are known
 *   CLOSING    writers put them at the end of their indexes
 *   ENDED      everything is durable; session_free may be called
 *
 * The event loop's thread owns it; what the receivers and the writers have of
 * it is in reception and output, and says so there.
 */
enum session_state {
	SESSION_ARMED,
	SESSION_BEGINNING,
	SESSION_RECORDING,
	SESSION_STOPPING,
	SESSION_WRITING,
	SESSION_SYNCING,
	SESSION_CLOSING,
	SESSION_ENDED,
};

/* What a session needs of the daemon; outlives it. */
struct session_host {
	struct pool *pool;
	struct crew *crew;
	struct queue *queue;
	struct fleet *fleet;
	int64_t durable;
	void (*wake)(void *arg); /* wakes the event loop; any thread */
	void *arg;
};

/* When it begins and ends: by the steady clock, or with `data` by that of the
 * data, UTC. */
struct session_when {
	int64_t start;	 /* ns; 0: at once */
	int64_t stop;	 /* ns; 0: by order */
	int64_t backlog; /* ns that are kept from before the start */
	bool data;
};

/* What is seen of a substream, once a second. */
struct session_sub {
	uint64_t datagrams;
	int64_t last; /* steady, when they last grew; 0: never */
};

enum { SESSION_NAME = 160 };
#define SESSION_PATIENCE INT64_C(10000000000) /* ns */

struct session {
	const struct session_host *host;
	struct stream *stream; /* the reception's, which holds it */
	struct reception *in;  /* the supply's */
	struct supply *supply;
	unsigned part; /* of the stream, where it is split */
	unsigned id;
	unsigned scan;		 /* of the schedule; 0: typed */
	char name[SESSION_NAME]; /* of the recording: its folder */
	char group[80];		 /* as `record` was told */
	char *send;		 /* where it is sent while it is made; NULL */
	enum session_state state;
	const char *reason; /* why it stopped; static text */
	bool failed;
	bool cancelled;	    /* before it began: it left nothing */
	bool diskless;	    /* no disk takes blocks just now */
	unsigned left;	    /* WRITING: blocks in flight, when last looked at */
	int64_t left_since; /* they are as many since then; steady */

	struct format_shape *shape; /* in the reception */
	json_t *head;
	struct output *output; /* held; writers may hold it longer */

	struct session_when when; /* as it was ordered */
	int64_t start_ns, end_ns; /* UTC; end 0: runs */
	int64_t started, stop_at; /* steady; stop_at 0: not by itself, or when
				     the data says so */

	/* The last second, for rates. */
	int64_t sampled;
	uint64_t sampled_bytes;
	double rate;		 /* bits per second */
	uint64_t no_buffer;	 /* dropped so, as the log was told last, */
	int64_t no_buffer_at;	 /* and when; steady */
	struct session_sub *sub; /* NULL: there is one */
	struct kernel kernel;	 /* as it was when this began */
	json_t *kernel_lost;	 /* until it ended; NULL before */

	struct session *next; /* daemon::sessions */
};

/* The name of a part's recording: <base>, or <base>_ds<key>. */
const char *session_name(char name[SESSION_NAME], const char *base,
			 const struct stream *stream, unsigned part);

/*
 * Borrows memory and opens the stream's sockets.  0 and a list of its parts,
 * mostly one; or -errno with a fault, and nothing left behind.
 */
struct session_args {
	struct stream *stream;
	const char *name;
	struct session_when when;
	unsigned scan;
	bool later;  /* see supply_open */
	bool resume; /* an interrupted recording of the name goes on; a part
			that no disk has begins anew */
};
int session_open(struct session **list, const struct session_host *host,
		 const struct session_args *args, struct fault *fault);

/* A list that was opened and is not to begin; NULL: nothing. */
void session_drop(struct session *list);

/* Packets are taken in from here on, and folders made when it is time: of all
 * the parts, which are together in the list.  It cannot fail but for a few
 * bytes of memory, which ends the daemon. */
void session_begin(struct session *list);

/* Orders it to stop, and the other parts with it; `reason` is static text.
 * One that is armed is cancelled, and leaves nothing.  Again: nothing. */
void session_stop(struct session *s, const char *reason);

/* Ends it, and the other parts, then (as in session_when) instead of when it
 * was to end; one that has ended: nothing. */
void session_stop_at(struct session *s, int64_t at);

/* The same with the start of one that is armed, and waits for no data. */
void session_start_at(struct session *s, int64_t at);

/* Moves it on as far as it goes; call when woken, and every second. */
void session_step(struct session *s, int64_t now);

/* Looks which of its substreams brought something; done every second. */
void session_subs_sample(struct session *s, int64_t now);

/* session_open.c, for session_step: makes the folders of one that is not armed
 * any more. */
void session_start(struct session *s);

/*
 * session_resume.c: makes the output of one that goes on with what is on the
 * disks: s->head and s->start_ns become those of that recording.  0; -ENOENT:
 * no disk has it; or -errno; each with a fault.
 */
int session_resume(struct session *s, struct output_args *args,
		   struct fault *fault);

/* ENDED only. */
void session_free(struct session *s);

#endif
