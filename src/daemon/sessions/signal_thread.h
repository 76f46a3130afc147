/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SESSIONS_SIGNAL_THREAD_H
#define SPATE_DAEMON_SESSIONS_SIGNAL_THREAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/conf/stream.h"
#include "flow/memory/frame_ring.h"

/*
 * The signal thread looks at the samples of all recordings that are being made,
 * while packets arrive.  Each recording input has a watch: rings that receivers
 * copy some of their frames into, and what was found in these.
 *
 *   receivers --frame rings--> watch --quality--> findings of the last seconds
 *                                                 log, status, streams,
 *                                                 quality file
 *
 * It needs some milliseconds of a processor each second, by choosing fewer
 * frames, and runs at the lowest priority.  Nobody waits for it: while it does
 * not run, the rings fill, and frames that find no place in them are counted.
 *
 * The event loop's thread calls these functions.
 */
struct signal_thread;
struct signal_watch;

struct signal_hooks {
	/* Wakes the event loop, for signal_thread_step(); any thread. */
	void (*wake)(void *arg);
	/* Gives lines for a recording's quality file away, to be freed with
	 * free(); the event loop. */
	void (*lines)(void *arg, const char *name, char *lines);
	void *arg;
};

/* Starts the thread.  In folder `state`, unless it is NULL, signal.json keeps what
 * the channels of each stream were like.  Returns 0 or -errno. */
int signal_thread_start(struct signal_thread **t,
			const struct signal_hooks *hooks, const char *state);
/* Gives lines to the hook, and frees watches that have ended. */
void signal_thread_step(struct signal_thread *t);
/* Notes that lines of a recording could not be written: it gets no more, and the
 * log says so once. */
void signal_thread_refused(struct signal_thread *t, const char *name,
			   const char *why);
/* Ends the thread, when all watches were ended; NULL is allowed. */
void signal_thread_stop(struct signal_thread *t);

struct signal_watch_args {
	struct stream *stream;
	const struct format_shape *shape; /* of a share; copied */
	const char *name;		  /* of the recording; copied */
	unsigned rings; /* one for each thread that copies frames */
};

/* True if the samples of the stream can be looked at, and shall be. */
bool signal_watch_can(const struct stream *s);

/* Begins a watch.  Returns 0 or -ENOMEM. */
int signal_watch_begin(struct signal_watch **watch, struct signal_thread *t,
		       const struct signal_watch_args *args);

/* Returns a ring, for one receiver thread at a time. */
struct frame_ring *signal_watch_ring(struct signal_watch *w, unsigned ring);

/* Ends a watch whose rings nobody fills any more; it must not be used again. */
void signal_watch_end(struct signal_watch *w);

/* The state of a watch, of the last three to five seconds. */
struct signal_view {
	char text[128]; /* "ok", or findings with their channels; "": nothing
			 * was seen */
	uint64_t frames, missed; /* looked at, and not, since it began */
};

/* Sets the view of a part of a split stream, or of the whole stream. */
void signal_watch_look(struct signal_watch *w, unsigned part,
		       struct signal_view *view);

/* Returns QUALITY_KEYS for each channel of such a part, as a new reference. */
json_t *signal_watch_lines(struct signal_watch *w, unsigned part);

#endif
