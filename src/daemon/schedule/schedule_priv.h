/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_PRIV_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_PRIV_H

#include <sys/stat.h>

#include "base/clock.h"
#include "daemon/schedule/schedule.h"
#include "daemon/schedule/state_file.h"

/*
 * Structs and functions that the files of the schedule share:
 *
 *   schedule.c         opens, closes, lists; state changes
 *   schedule_step.c    what is due: a scan's states
 *   schedule_step.c     which scans cannot be done
 *   schedule_folder.c   merges a file's new version with known scans
 *   schedule_folder.c  the folder and its files
 *   schedule.c    what is added and removed by hand
 *   schedule_state.c   the state file
 */
enum { SCHEDULE_FAULT = 640, SCHEDULE_TOLD = 5 };

/* A file of the folder, as it was last read. */
struct schedule_file {
	char *name;
	struct timespec mtime;
	off_t bytes;
	ino_t inode;
	bool read;	  /* at least once, or its scans are known from the
			   * state file */
	bool told;	  /* inotify reported that it is completely written */
	bool seen;	  /* present in the current look at the folder */
	bool no_file;	  /* present in it, but not a file: has no scans */
	int64_t modified; /* steady ns of the last write to a file that is
			   * still open; 0: none */
	int64_t missing;  /* steady ns since when it is missing; 0: it is
			   * there; below 0: it lost its scans */
	unsigned others;  /* entries that are other stations' */
	char error[SCHEDULE_FAULT]; /* file:line and what is wrong; empty: it
				     * is good */
};

struct schedule {
	struct schedule_hooks hooks;
	char *folder, *state, *station;
	struct state_file
	    *state_file;    /* writes the state file; NULL: no state is
				* kept */
	int inotify, watch; /* descriptors; -1: none */
	bool no_folder;	    /* the folder is missing, and that is logged */
	struct schedule_file *file;
	unsigned files;
	struct scan_list scans; /* sorted by start if `sorted`; includes
				 * those that are gone */
	unsigned last_id;

	int64_t offset;	 /* UTC - steady, ns, as of the last step */
	int64_t next;	 /* steady ns, when something is due */
	int64_t look_at; /* steady ns of the next look into the folder */
	bool changed;	 /* scans have to be checked again (schedule_vet) */
	bool sorted;
	bool dropped; /* some scans are marked `dropped` */
	bool dirty;   /* the state file is out of date */
	bool many;    /* many changes are going on: log only the first few of
		       * each state */
	unsigned told[SCAN_STATES];
};

/* schedule.c */
struct scan *schedule_enter(struct schedule *s, struct scan *scan);
void schedule_sort(struct schedule *s);
/* Sets a scan's state and reason, and logs them if they are new. */
void schedule_set(struct schedule *s, struct scan *scan, enum scan_state state,
		  const char *why, ...) __attribute__((format(printf, 4, 5)));
/* Logs a scan's state. */
void schedule_tell(struct schedule *s, const struct scan *scan);
/*
 * Brackets changes to many scans: the first SCHEDULE_TOLD of each state are
 * logged, the others as a number, so that a schedule of thousands that finds no
 * room does not flood the log.  Begin returns false if a caller has already
 * begun; pass its result to end.
 */
bool schedule_many_begin(struct schedule *s);
void schedule_many_end(struct schedule *s, bool begun);
/* Stops a scan if it is armed or runs. */
void schedule_halt(struct schedule *s, struct scan *scan, const char *why);

/*
 * schedule_step.c: refuses a scan that cannot be done for reasons of its own;
 * returns true then.
 */
bool schedule_bar(const struct schedule *s, struct scan *scan);

/*
 * Checks the URL `send` of a scan, and notes what is wrong with it.  The
 * recording is made all the same.  True if that is new.
 */
bool schedule_send_check(const struct schedule *s, struct scan *scan);
void schedule_vet(struct schedule *s, int64_t utc);

/* schedule_step.c */
void schedule_due(struct schedule *s, struct schedule_now now);

/*
 * Hands an armed or running scan over to the same entry of another file, which
 * was refused as its duplicate; false if there is none.
 */
bool schedule_inherit(struct schedule *s, struct scan *scan, int64_t utc);

/* Removes from the list all scans marked `dropped`. */
void schedule_dropped(struct schedule *s);

/* schedule_folder.c */
int schedule_folder_open(struct schedule *s, struct schedule_now now);
void schedule_folder_close(struct schedule *s);
void schedule_folder_look(struct schedule *s, struct schedule_now now,
			  bool all);
/*
 * Returns 0, or -ETIMEDOUT: the folder's server does not answer, so do not
 * touch the folder.
 */
int schedule_folder_answers(const struct schedule *s);
/* Reads all inotify events; false if there were none. */
bool schedule_hear(struct schedule *s, struct schedule_now now);
/* Returns NULL if the file is unknown. */
struct schedule_file *schedule_file_find(const struct schedule *s,
					 const char *name);
struct schedule_file *schedule_file_add(struct schedule *s, const char *name);
void schedule_file_drop(struct schedule *s, const char *name);

/* schedule_state.c.  Returns 0 or -errno. */
int schedule_state_read(struct schedule *s, int64_t utc);
void schedule_state_write(struct schedule *s);

#endif
