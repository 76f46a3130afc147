/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_H

#include "base/fault.h"
#include "daemon/schedule/scan.h"

/*
 * The schedule is all scans that are to come, those of the files in its folder
 * and those that were typed, and what became of them.  It arms each in time
 * and tells it to end; everything that really happens is behind the hooks.
 *
 *   folder --> files --> scans --> hooks: arm, stop ...
 *                          ^------ schedule_began, schedule_ended
 *
 * It reads no clock: each call gets UTC and steady time.  What waits follows
 * UTC, what runs keeps its steady end.  The event loop's thread.
 */
struct schedule;

/* Steady ns; with `data` start and stop are UTC ns of the data's clock. */
struct schedule_when {
	int64_t start; /* 0: at once */
	int64_t stop;  /* INT64_MAX: when it is told */
	bool data;
	int64_t backlog;
};

/* `scan` is borrowed; hooks call nothing of the schedule's but what is said. */
struct schedule_hooks {
	/*
	 * Arms it: it begins by itself at its start.  0 (1: it has begun) and
	 * the name that it was given in scan->recording; schedule_began and
	 * schedule_ended follow.
	 * Or -errno with a fault; what may pass is tried again.  With
	 * scan->resume it goes on with scan->recording, where it can.
	 */
	int (*arm)(void *arg, struct scan *scan,
		   const struct schedule_when *when, struct fault *fault);
	/* Ends what is armed or runs; schedule_ended may follow, or not.
	 * `why` is static text. */
	void (*stop)(void *arg, struct scan *scan, const char *why);
	/* Other steady times from here on, of what is armed. */
	void (*move)(void *arg, struct scan *scan,
		     const struct schedule_when *when);
	/* Another end, of what is armed or runs; as in schedule_when. */
	void (*stop_at)(void *arg, struct scan *scan, int64_t stop);
	/* NULL, or static or borrowed text: there is no such stream. */
	const char *(*stream_fault)(void *arg, const char *stream);
	/* The same of a URL to send to.  NULL: all are good. */
	const char *(*url_fault)(void *arg, const char *url);
	/* Something changed: says schedule_refuse or schedule_accept of what
	 * is WAITING or REFUSED, and may put off its arm_at up to its start.  NULL: everything is accepted. */
	void (*admit)(void *arg, struct schedule *s, int64_t utc);
	/* Does the folder answer at all?  A call to one that does not would not
	 * come back for as long as that lasts.  NULL: it does. */
	bool (*answers)(void *arg, const char *folder);
	void *arg;
};

struct schedule_args {
	const char *folder; /* NULL: none; need not be there yet */
	const char *state;  /* folder of the state file; NULL: none is kept */
	const struct schedule_hooks *hooks; /* copied */
};

struct schedule_now {
	int64_t utc, steady;
};

/* 0 or -errno with a fault.  Reads the folder and the state; nothing is armed
 * before the first step. */
int schedule_open(struct schedule **schedule, const struct schedule_args *args,
		  struct schedule_now now, struct fault *fault);
/* Keeps the state: what runs now goes on after the next start.  NULL: ok. */
void schedule_close(struct schedule *s);

/* inotify: readable when the folder has changed; -1: there is no folder. */
int schedule_fd(const struct schedule *s);
void schedule_look(struct schedule *s, struct schedule_now now);

/* Does what is due.  To be called at schedule_next, and when the clock was
 * stepped; more often costs nothing. */
void schedule_step(struct schedule *s, struct schedule_now now);
int64_t schedule_next(const struct schedule *s); /* steady */

/* What became of one that was armed; `id` that is unknown: nothing. */
void schedule_began(struct schedule *s, unsigned id, struct schedule_now now);
void schedule_ended(struct schedule *s, unsigned id, bool failed,
		    const char *why, struct schedule_now now);

/* ---- for verbs, VSI-S and forecasts ---------------------------------- */

/* All of them, by start; good until the next call that takes `now`. */
const struct scan_list *schedule_scans(const struct schedule *s);
struct scan *schedule_find(const struct schedule *s, unsigned id);
const char *schedule_folder(const struct schedule *s); /* NULL: none */

/* {folder, scans:[SCAN...], files:[{file, error, scans_n}...]}; without `all`
 * only what is ahead, and what ended in the last day. */
json_t *schedule_json(const struct schedule *s, bool all, int64_t utc);

/* Another entry, as it was typed.  Its id, and it is taken over; or -errno with
 * a fault. */
int schedule_add(struct schedule *s, struct scan *scan, struct schedule_now now,
		 struct fault *fault);

/*
 * A file of the folder.  check: what its scans would be, into `list`, which is
 * the caller's then; nothing changes.  add: writes it into the folder, with
 * `replace` over one that is there, and acts on it at once; its scans are
 * those whose `file` is its name.  0 or -errno with a fault.
 */
struct schedule_text {
	const char *file; /* "x.conf" */
	const char *text;
	bool replace;
};

int schedule_check_text(const struct schedule *s,
			const struct schedule_text *text,
			struct scan_list *list, struct fault *fault);
int schedule_add_text(struct schedule *s, const struct schedule_text *text,
		      struct schedule_now now, struct fault *fault);

/*
 * Cancels an entry by ID or NAME (all that are ahead of it), which stops it
 * where it runs; or takes a FILE.conf out of the folder, with its scans.
 * 0 and [SCAN...] of those, or -errno with a fault.
 */
int schedule_remove(struct schedule *s, const char *which, json_t **removed,
		    struct schedule_now now, struct fault *fault);

/* For `admit`: waits again, or is refused because of `why`. */
void schedule_accept(struct schedule *s, struct scan *scan);
void schedule_refuse(struct schedule *s, struct scan *scan, const char *why);

/* Streams, disks or memory changed: looks at all of it anew. */
void schedule_changed(struct schedule *s);

#endif
