/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_H

#include "base/fault.h"
#include "daemon/schedule/scan.h"

/*
 * The schedule holds all scans to come, those of the files in its folder and
 * those entered by command, and what became of past ones.  It arms each scan in
 * time and stops it at its end; whatever really happens is done by its hooks.
 *
 *   folder --> files --> scans --> hooks: arm, stop ...
 *                          ^------ schedule_began, schedule_ended
 *
 * It reads no clock: each call gets UTC and steady time.  A waiting scan
 * follows UTC, a running one keeps its steady end.  Only the event loop's
 * thread uses it.
 */
struct schedule;

/*
 * Times for a hook: steady ns; if `data`, start and stop are UTC ns by the
 * data's own clock.
 */
struct schedule_when {
	int64_t start; /* 0: at once */
	int64_t stop;  /* INT64_MAX: no end of its own */
	bool data;
	int64_t backlog;
};

/*
 * The daemon's side of the schedule.  Hooks borrow `scan`, and call no function
 * of the schedule except where it is said.
 */
struct schedule_hooks {
	/*
	 * Arms a scan: it will begin by itself at its start.  Returns 0, or 1
	 * if it has begun already, and puts the recording's name into
	 * scan->recording; schedule_began() and schedule_ended() are called
	 * later.  Or -errno with a fault; the schedule tries again after errors
	 * that may pass.  With scan->resume set it continues the recording
	 * scan->recording, if that is possible.
	 */
	int (*arm)(void *arg, struct scan *scan,
		   const struct schedule_when *when, struct fault *fault);
	/*
	 * Ends an armed or running scan; schedule_ended() may follow or not.
	 * `why` is static text.
	 */
	void (*stop)(void *arg, struct scan *scan, const char *why);
	/* Changes the steady times of an armed scan. */
	void (*move)(void *arg, struct scan *scan,
		     const struct schedule_when *when);
	/*
	 * Changes the end of an armed or running scan; times as in
	 * schedule_when.
	 */
	void (*stop_at)(void *arg, struct scan *scan, int64_t stop);
	/*
	 * Returns NULL, or a text that says that there is no such stream;
	 * static or borrowed.
	 */
	const char *(*stream_fault)(void *arg, const char *stream);
	/* Checks a URL to send to, or with `relay` to relay to, in the same way.
	 * NULL: all URLs are good. */
	const char *(*url_fault)(void *arg, const char *url, bool relay);
	/*
	 * Called after changes: calls schedule_refuse() or schedule_accept()
	 * for each WAITING or REFUSED scan, and may put off its arm_at up to
	 * its start.  NULL: every scan is accepted.
	 */
	void (*admit)(void *arg, struct schedule *s, int64_t utc);
	/*
	 * Tells whether the folder's file system answers: a system call on one
	 * that does not would block the event loop.  NULL: it always does.
	 */
	bool (*answers)(void *arg, const char *folder);
	void *arg;
};

struct schedule_args {
	const char *folder;  /* folder of schedule files; NULL: none; it may
			     * appear later */
	const char *state;   /* folder of the state file; NULL: no state is
			     * kept */
	const char *station; /* this recorder's; NULL: it does not know */
	const struct schedule_hooks *hooks; /* copied */
};

struct schedule_now {
	int64_t utc, steady;
};

/*
 * Reads the folder and the state; arms nothing before the first step.  0, or
 * -errno with a fault.
 */
int schedule_open(struct schedule **schedule, const struct schedule_args *args,
		  struct schedule_now now, struct fault *fault);
/*
 * Writes the state, so that running scans continue after the next start of the
 * daemon, and frees the schedule.  NULL is allowed.
 */
void schedule_close(struct schedule *s);

/*
 * Returns the inotify descriptor, to poll for reading: then call
 * schedule_look().  -1: there is no folder.
 */
int schedule_fd(const struct schedule *s);
void schedule_look(struct schedule *s, struct schedule_now now);

/*
 * Does everything that is due.  Call it at schedule_next(), and when the clock
 * was stepped; calling it more often costs nothing.
 */
void schedule_step(struct schedule *s, struct schedule_now now);
int64_t schedule_next(const struct schedule *s); /* steady ns */

/*
 * Reports that an armed scan has begun, or has ended.  An unknown `id` is
 * ignored.
 */
void schedule_began(struct schedule *s, unsigned id, struct schedule_now now);
void schedule_ended(struct schedule *s, unsigned id, bool failed,
		    const char *why, struct schedule_now now);

/*
 * Reports that the recording of a scan is not sent as its `send` says, and why.
 * An unknown `id` is ignored.
 */
void schedule_unsent(struct schedule *s, unsigned id, const char *why);

/* ---- for verbs and forecasts ---------------------------------- */

/*
 * Returns all scans, sorted by start; valid until the next call that takes
 * `now`.
 */
const struct scan_list *schedule_scans(const struct schedule *s);
struct scan *schedule_find(const struct schedule *s, unsigned id);
const char *schedule_folder(const struct schedule *s); /* NULL: none */
/* Returns how many entries of the folder's files are other stations'; those of
 * `except`, which may be NULL, do not count. */
unsigned schedule_others(const struct schedule *s, const char *except);

/*
 * Returns {folder, scans:[SCAN...], files:[{file, error, scans_n,
 * others_n}...]}; without `all` only scans to come and those that ended in the
 * last day.
 */
json_t *schedule_json(const struct schedule *s, bool all, int64_t utc);

/*
 * Adds a scan entered by command.  Returns its id and takes it over; or -errno
 * with a fault.
 */
int schedule_add(struct schedule *s, struct scan *scan, struct schedule_now now,
		 struct fault *fault);

/*
 * A file for the folder.  schedule_check_text() only parses it into `list`,
 * which the caller frees; nothing changes.  schedule_add_text() writes it into
 * the folder, over an existing one if `replace`, and acts on it at once.  0, or
 * -errno with a fault.
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
 * Cancels scans by ID or by NAME (all of that name that are to come), and stops
 * them if they run; or removes FILE.conf from the folder, with its scans.  0
 * with [SCAN...] of these, or -errno with a fault.
 */
int schedule_remove(struct schedule *s, const char *which, json_t **removed,
		    struct schedule_now now, struct fault *fault);

/*
 * For `admit`: makes a refused scan WAITING again, or refuses a scan because of
 * `why`.
 */
void schedule_accept(struct schedule *s, struct scan *scan);
void schedule_refuse(struct schedule *s, struct scan *scan, const char *why);

/*
 * Tells the schedule that streams, disks or memory changed: it checks all scans
 * again in its next step.
 */
void schedule_changed(struct schedule *s);

#endif
