/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_HEALTH_OVERRUN_CAUSE_H
#define SPATE_DAEMON_HEALTH_OVERRUN_CAUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

/*
 * Why the buffers of a recording's sockets ran over: what its receiver threads
 * met with in the two seconds before, as the kernel tells.  The event loop's
 * thread; nothing is asked of a receiver.
 *
 *   throttled  the control group of spated, or one above it, had used up its CPU
 *              time
 *   stolen     the host of this virtual machine gave its CPUs to others
 *   paged      a receiver waited for a page that was read from a disk
 *   waited     a receiver was ready to run, and another thread had its CPU
 *   writeback  a receiver was ready to run, and the kernel used the CPUs to write
 *              to disks what programs had left in its cache
 *   busy       a receiver ran all the time: too much comes for one thread
 *   unknown    none of these: a burst was longer than the buffer
 */
enum overrun_cause {
	OVERRUN_THROTTLED,
	OVERRUN_STOLEN,
	OVERRUN_PAGED,
	OVERRUN_WAITED,
	OVERRUN_WRITEBACK, /* only known a second later */
	OVERRUN_BUSY,
	OVERRUN_UNKNOWN,
	OVERRUN_CAUSES,
};

/* Counters of a receiver thread (the first three) and of the machine; ns, but for
 * `faults`. */
struct overrun_clock {
	uint64_t ran, waited, faults, throttled, stolen;
};

/* The cause, by what was met with in `ns`; the time that it took is in
 * *lost_ns. */
enum overrun_cause overrun_cause_of(const struct overrun_clock *met, int64_t ns,
				    int64_t *lost_ns);
const char *overrun_cause_name(enum overrun_cause cause);

enum { OVERRUN_PROCESS = 80, OVERRUN_LOOKS = 3 };

/* Folders of the kernel with its counters, or those of a test. */
struct overrun_files {
	const char *proc, *groups;
};

/*
 * A reading of the kernel's counters, shared by all recordings that look at nearly
 * the same time: hundreds of recordings would read thousands of files.  It begins
 * as zeros, or with the files of a test.
 */
struct overrun_reading {
	const struct overrun_files *files; /* NULL: the kernel's */
	int64_t at;			   /* steady ns; 0: never read */
	uint64_t throttled, stolen;	   /* ns, of all threads */
	struct overrun_thread *thread;	   /* the threads that are watched */
	unsigned threads;
	struct process_time *process; /* CPU times of all processes, or NULL */
	unsigned processes;
	int64_t processes_at; /* steady ns */
};

void overrun_reading_close(struct overrun_reading *r);

struct overrun_watch {
	struct overrun_reading *reading;
	pid_t *thread; /* of its receivers */
	unsigned threads;
	/* Looks of the last seconds, a ring: one clock for each thread. */
	struct overrun_clock *look[OVERRUN_LOOKS];
	int64_t at[OVERRUN_LOOKS]; /* steady ns; 0: none yet */
	unsigned looks;
	uint64_t overruns; /* of the recording, at the last look */

	struct overrun_account {
		uint64_t overruns;
		int64_t lost_ns;	       /* most of two seconds */
		int64_t last;		       /* UTC ns */
		char process[OVERRUN_PROCESS]; /* that had the CPU; "": nobody
						  knows */
	} account[OVERRUN_CAUSES];

	/* CPU times of all processes when a receiver had waited; the next look
	 * tells who has it.  NULL: nobody asks. */
	struct process_time *before;
	unsigned processes;
	int64_t before_at; /* steady ns */
	uint64_t asked;	   /* overruns since then, of receivers that waited */
	/* The account whose process was named by the last look, or NULL. */
	const struct overrun_account *named;
};

/* Opens a watch over these threads; what it lacks memory for, it does not
 * watch.  The reading outlives the watch. */
void overrun_watch_open(struct overrun_watch *w,
			struct overrun_reading *reading, const pid_t *thread,
			unsigned threads);
void overrun_watch_close(struct overrun_watch *w);

/*
 * Looks every second at how many overruns there were so far.  Returns how many
 * are new; then *cause and *lost_ns say why.
 */
uint64_t overrun_watch_look(struct overrun_watch *w, uint64_t overruns,
			    int64_t now, enum overrun_cause *cause,
			    int64_t *lost_ns);

/* Returns the list of INFO_CAUSE_KEYS, a new reference. */
json_t *overrun_watch_json(const struct overrun_watch *w);

#endif
