/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_SESSION_H
#define SPATE_DAEMON_SESSIONS_SESSION_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/fault.h"
#include "daemon/disks/disk_set.h"
#include "daemon/health/clock_watch.h"
#include "daemon/health/health.h"
#include "daemon/health/kernel.h"
#include "daemon/health/loss_strip.h"
#include "daemon/health/no_buffer_cause.h"
#include "daemon/health/overrun_cause.h"
#include "daemon/sessions/recording_input.h"
#include "daemon/sessions/signal_thread.h"
#include "flow/output/output.h"
#include "flow/write/writer.h"

/*
 * A session is a recording being made: of a stream, or of one part of a split
 * stream.  It owns everything for that except its input, which the parts share,
 * and moves the recording through its states.
 *
 *   ARMED --> BEGINNING --> RECORDING --> STOPPING --> WRITING
 *     |           |                         ^             |
 *     |           +- a client's, no disk ---+          SYNCING
 *     |                                                   |
 *     +- cancelled ------------------------> ENDED <-- CLOSING
 *
 *   ARMED      sockets are open and memory is borrowed; the start is ahead,
 *              and nothing is on any disk
 *   BEGINNING  writers make folders; packets are received already
 *   RECORDING  disks take blocks.  While none does, blocks wait in memory;
 *              when that is full, packets are dropped
 *   STOPPING   the receivers take what has arrived, and close its blocks
 *   WRITING    blocks are on their way to disks; those that no disk takes
 *              for SESSION_PATIENCE are lost
 *   SYNCING    writers sync a last time; then the fate of every block, and
 *              so the totals, are known.  Blocks that a disk could not make
 *              durable, and that were held, are on their way again: WRITING
 *   CLOSING    writers put the totals at the end of their indexes
 *   ENDED      everything is durable; session_free may be called
 *
 * The event loop's thread owns it.  Receivers and writers use parts of their
 * inputs and output, as those headers say.
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

/* Parts of the daemon that a session uses; they outlive it. */
struct session_host {
	struct arena *arena;
	struct receivers *receivers;
	struct queue *queue;
	struct disk_set *disks;
	struct signal_thread *signal;
	struct overrun_reading *overruns;
	int64_t durable;
	void (*wake)(void *arg); /* wakes the event loop; any thread */
	void *arg;
};

/* Start and stop of a recording: times of the steady clock, or with `data` UTC
 * times of the data. */
struct session_when {
	int64_t start;	 /* ns; 0: now */
	int64_t stop;	 /* ns; 0: none, until an order */
	int64_t backlog; /* ns of data to keep from before the start */
	bool data;
};

/* Totals of a recording, or of all recordings of a stream. */
struct session_totals {
	struct counts c;
	uint64_t recordings, packets, lost, risk, bytes, overruns;
	uint64_t causes[OVERRUN_CAUSES]; /* overruns that have one by now */
	uint64_t clock_steps;
};

/* A substream, sampled once a second. */
struct session_sub {
	uint64_t datagrams;
	int64_t last; /* ns, steady: when the count last grew; 0: never */
};

enum { SESSION_NAME = 160, SESSION_BY = 96 };
#define SESSION_PATIENCE (10 * NS_SECOND) /* ns */

struct session {
	const struct session_host *host;
	struct stream *stream;	 /* borrowed from `in` */
	struct stream_input *in; /* borrowed from `input` */
	struct recording_input *input;
	unsigned part; /* number of the part of a split stream */
	unsigned id;
	unsigned scan; /* number of the schedule's scan; 0: a client's order */
	char name[SESSION_NAME]; /* name of the recording and of its folder */
	char group[80];		 /* name of the order, for all its recordings */
	char *send; /* URL it is sent to while it is recorded, or NULL */
	char by[SESSION_BY]; /* the client that ordered it; "": not told */
	enum session_state state;
	bool taken; /* another recorder has the name on a disk that both use */
	const char *reason; /* why it stopped; static text */
	bool failed;
	bool cancelled;	    /* stopped while ARMED: left nothing */
	bool diskless;	    /* no disk takes blocks now */
	unsigned again;	    /* times that it went from SYNCING to WRITING */
	bool unprotected;   /* blocks have no parity, and that was logged */
	unsigned left;	    /* WRITING: blocks in flight at the last look */
	int64_t left_since; /* ns, steady: when `left` last changed */

	struct format_shape *shape; /* owned by the stream input */
	json_t *head;
	/* counted reference; writers may hold it longer */
	struct output *output;

	struct session_when when; /* as ordered */
	int64_t start_ns, end_ns; /* UTC ns; end_ns 0: still runs */
	/* ns, steady; stop_at 0: no end by this clock */
	int64_t started, stop_at;

	/* Samples once a second, for the rate. */
	int64_t sampled;
	uint64_t sampled_bytes;
	double rate; /* bits per second */
	struct no_buffer_watch no_buffer;
	const struct no_buffer_account *no_buffer_last; /* that grew */
	uint64_t no_buffer_told; /* DROP_NO_BUFFER packets when last logged */
	int64_t no_buffer_at;	 /* ns, steady, of that log line */
	struct health health;	 /* while RECORDING */
	struct clock_watch clock;
	struct loss_strip strip;
	/* one per substream; NULL: there is only one */
	struct session_sub *sub;
	/* what a resumed recording had already; see report_began */
	struct session_totals before;
	struct kernel kernel; /* the kernel's counters at the start */
	struct overrun_watch overruns;
	/* growth of the kernel's counters; NULL until it has ended */
	json_t *kernel_lost;

	struct session *next; /* daemon::sessions */
};

/* Writes the name of a part's recording: <base>, or <base>_ds<key> of a split
 * stream.  Returns `name`. */
const char *session_name(char name[SESSION_NAME], const char *base,
			 const struct stream *stream, unsigned part);

/*
 * Borrows memory and opens the stream's sockets.  Returns 0 and a list of
 * sessions, one per part; or -errno with a fault, and nothing left behind.
 */
struct session_args {
	struct stream *stream;
	const char *name;
	struct session_when when;
	unsigned scan;
	bool later; /* see recording_input_open */
	/* an interrupted recording of the name goes on; parts that are on no
	 * disk begin anew */
	bool resume;
};
int session_open(struct session **list, const struct session_host *host,
		 const struct session_args *args, struct fault *fault);

/* Frees a list that was opened and shall not begin; NULL: does nothing. */
void session_drop(struct session *list);

/* Starts all parts of one stream, which are neighbours in the list: packets are
 * taken in from now on, and folders are made when the start is due.  Allocates
 * a few bytes; if that fails the daemon aborts. */
void session_begin(struct session *list);

/* Stops the recording and the other parts of its stream; `reason` is static
 * text.  An armed recording is cancelled and leaves nothing.  A second call
 * does nothing. */
void session_stop(struct session *s, const char *reason);

/* Moves the end, for all parts, to `at` (as session_when::stop).  Does nothing
 * if it has ended. */
void session_stop_at(struct session *s, int64_t at);

/* Moves the start of an armed session that goes by the clock. */
void session_start_at(struct session *s, int64_t at);

/* Moves the session through its states as far as possible; call it when the
 * event loop wakes, and every second. */
void session_step(struct session *s, int64_t now);

/* Notes which substreams received packets; session_step calls it every
 * second. */
void session_subs_sample(struct session *s, int64_t now);

/* Frees a session that is ENDED or never began. */
void session_free(struct session *s);

#endif
