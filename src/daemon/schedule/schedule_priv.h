/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_SCHEDULE_SCHEDULE_PRIV_H
#define SPATE_DAEMON_SCHEDULE_SCHEDULE_PRIV_H

#include <sys/stat.h>

#include "daemon/schedule/schedule.h"
#include "daemon/schedule/scribe.h"

/*
 * What the sources of the schedule share:
 *
 *   schedule.c         opens, closes, and is asked
 *   schedule_step.c    what is due: a scan's states
 *   schedule_vet.c     which scans cannot be done
 *   schedule_merge.c   what a file says now, put onto what is known
 *   schedule_folder.c  the folder and its files
 *   schedule_edit.c    what is added and taken out by hand
 *   schedule_state.c   the state file
 */
enum { SCHEDULE_FAULT = 640, SCHEDULE_TOLD = 5 };
#define SCHEDULE_SECOND INT64_C(1000000000)

/* A file of the folder, as it was last read. */
struct schedule_file {
	char *name;
	struct timespec mtime;
	off_t bytes;
	ino_t inode;
	bool read;	  /* once at least; or known by the state */
	bool told;	  /* inotify says that it is written */
	bool seen;	  /* in the look that goes on */
	bool gone;	  /* its scans were taken away */
	int64_t modified; /* steady, while somebody writes it; 0: nobody */
	int64_t missing;  /* steady, since it is not there; 0: it is */
	char error[SCHEDULE_FAULT]; /* file:line ...; empty: it is good */
};

struct schedule {
	struct schedule_hooks hooks;
	char *folder, *state;
	struct scribe *scribe; /* of the state; NULL: none is kept */
	int inotify, watch;    /* -1: none */
	bool no_folder;	       /* which was said */
	struct schedule_file *file;
	unsigned files;
	struct scan_list scans; /* by start; those that are gone, too */
	unsigned last_id;

	int64_t offset;	 /* UTC - steady, as it was last seen */
	int64_t next;	 /* steady; when something is due */
	int64_t look_at; /* steady, of the next look into the folder */
	bool changed;	 /* has to be vetted */
	bool sorted;
	bool dropped; /* some scans are, and have to leave the list */
	bool dirty;   /* the state file is behind */
	bool many;    /* of many at once the log has but the first few */
	unsigned told[SCAN_STATES];
};

/* schedule.c */
struct scan *schedule_enter(struct schedule *s, struct scan *scan);
void schedule_sort(struct schedule *s);
/* Its state and why, with a line in the log where that is news. */
void schedule_set(struct schedule *s, struct scan *scan, enum scan_state state,
		  const char *why, ...) __attribute__((format(printf, 4, 5)));
/* Its state, in the log. */
void schedule_tell(struct schedule *s, const struct scan *scan);
/*
 * What happens to many between the two is told of the first few, and then as
 * a number: a schedule of thousands that finds no room is one line, not
 * thousands.  False: somebody does so already, and ends it.
 */
bool schedule_many_begin(struct schedule *s);
void schedule_many_end(struct schedule *s, bool begun);
/* Ends it where it is armed or runs. */
void schedule_halt(struct schedule *s, struct scan *scan, const char *why);

/* schedule_vet.c: refuses one that cannot be done by itself; true for that. */
bool schedule_bar(const struct schedule *s, struct scan *scan);
void schedule_vet(struct schedule *s, int64_t utc);

/* schedule_step.c */
void schedule_due(struct schedule *s, struct schedule_now now);

/* schedule_merge.c: `list` is what the file says; emptied. */
void schedule_merge(struct schedule *s, const char *file,
		    struct scan_list *list, struct schedule_now now);
/* The file is no more: what waits goes with it, what runs goes on. */
void schedule_lose(struct schedule *s, const char *file, int64_t utc);
/* Gives what is armed or runs to the same entry of another file, which was
 * refused because of it; false: there is none. */
bool schedule_inherit(struct schedule *s, struct scan *scan, int64_t utc);

/* Takes those out of the list that were dropped meanwhile. */
void schedule_dropped(struct schedule *s);

/* schedule_folder.c */
int schedule_folder_open(struct schedule *s, struct schedule_now now);
void schedule_folder_close(struct schedule *s);
void schedule_folder_look(struct schedule *s, struct schedule_now now,
			  bool all);
/* 0 or -ETIMEDOUT: nobody should touch the folder now. */
int schedule_folder_answers(const struct schedule *s);
/* What inotify has to say; false: nothing. */
bool schedule_hear(struct schedule *s, struct schedule_now now);
/* NULL: it is not known. */
struct schedule_file *schedule_file_find(const struct schedule *s,
					 const char *name);
struct schedule_file *schedule_file_add(struct schedule *s, const char *name);
void schedule_file_drop(struct schedule *s, const char *name);

/* schedule_state.c: 0 or -errno. */
int schedule_state_read(struct schedule *s, int64_t utc);
void schedule_state_write(struct schedule *s);

#endif
