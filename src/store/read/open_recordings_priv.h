/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPEN_RECORDINGS_PRIV_H
#define SPATE_STORE_READ_OPEN_RECORDINGS_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/read/open_recordings.h"
#include "store/read/reader.h"
#include "store/view/view.h"

/*
 * Declarations shared by open recordings and the files read from them.
 *
 *   open_recordings.c          the set, each recording's thread, get and put
 *   open_recordings_refresh.c  jobs of that thread: open, refresh
 *   open_file.c                files read from them
 *
 * A recording that grows is held twice: `rec`, which everyone reads, and
 * `fresh`, which its thread refreshes from disk.  Afterwards the two structs
 * exchange their contents, which takes as long as copying a struct.  So readers
 * never wait for a refresh, nor a refresh for readers.
 *
 * Order of locks: opened_set::lock, opened::lock, the pool's lock.  No thread
 * waits for a disk while it holds one of them.
 */
struct opened_job;
struct reading;

struct opened_set {
	struct disks disks; /* paths only; nothing of it is open */
	struct reader_pool *pool;
	int64_t patience;
	bool verify;
	struct opened_hooks hooks;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* signalled when a recording was freed */
	/* ---- under the lock */
	unsigned refs; /* one per recording, and one of the maker */
	bool closed;
	struct opened *op;
	unsigned open, idle;
	bool *hangs; /* by disk: a thread that opens a recording hangs there */
	struct opened_said *said; /* log lines by disk */
};

/* How many log lines were written about a disk lately.  Many recordings may lie
 * on a disk that fails. */
struct opened_said {
	int64_t since; /* steady ns */
	unsigned lines;
};

struct opened {
	struct opened_set *set;
	char name[256];
	struct disks disks; /* copy of the set's disks, opened by its thread */

	/*
	 * ---- owned by its thread; others use `rec` while they are counted in
	 *  `lookers`, and only what needs no disk
	 */
	struct recording *rec, *fresh;
	uint64_t turn; /* counts refreshes */

	/*
	 * Set once by the job that opens the recording, before others use it.
	 */
	struct reader *reader;
	bool lame; /* opened without a disk that hangs or refuses */

	atomic_int trying; /* disk that the thread waits for now; -1: none.
			      Relaxed: read only to name the disk after a
			      timeout */

	/* ---- under the set's lock */
	struct opened *next; /* opened_set::op */
	unsigned users;
	bool linked;
	int64_t idle_since; /* steady ns; 0: close it now */

	pthread_mutex_t lock;
	pthread_cond_t done; /* signalled when a job is done, a looker left or
				a view is free */
	pthread_cond_t work;
	/* ---- under its lock */
	unsigned refs; /* users, open files, and its thread */
	bool stir;     /* asks its thread to check whether to close */
	struct opened_job *job, **tail;
	int64_t busy; /* steady ns when the running job began; 0: none */
	unsigned lookers;
	bool exchanging;
	struct reading *reading; /* list of its open files */
	struct opened_facts facts;
	struct opened_counts counts;
	int64_t looked, cost; /* steady ns when the last refresh began; ns it
				 took */
	bool *told;	      /* by disk: trouble was logged */
};

/* ---- jobs of a recording's thread ---------------------------------------- */

/* A job belongs to the caller and to the thread; the last one frees it. */
struct opened_job {
	struct opened_job *next; /* opened::job */
	int (*run)(struct opened *op, struct opened_job *job);
	void (*clear)(struct opened_job *job); /* frees the job too; NULL:
						  free() */
	unsigned refs;
	bool done;
	int err;
};

/*
 * Has the thread run a job.  Waits at most `patience`.  Returns what the job
 * returned; or -ETIMEDOUT, and the job may still be run.  Takes over the
 * caller's reference.
 */
int opened_do(struct opened *op, struct opened_job *job);
/*
 * Has the thread run a job, and waits, as opened_do(); but the caller keeps its
 * reference: it sets refs to 1 before, and calls opened_job_put() afterwards.
 */
int opened_await(struct opened *op, struct opened_job *job);
void opened_job_put(struct opened *op, struct opened_job *job);

/* ---- called by its thread ------------------------------------------------ */

/*
 * Opens the recording, or checks that an open one is still current; holds it
 * against removal.  Returns -ESTALE if the caller shall open it anew: its name
 * is gone or is another recording now; or nobody else uses it and it was opened
 * without a disk, or is another recorder's and was opened some time ago.
 */
int opened_enter(struct opened *op, struct fault *fault);
int opened_look(struct opened *op);
/* Releases the hold that opened_enter() took, once nobody uses the recording: a
 * removal need not wait. */
void opened_leave(struct opened *op);
/* Closes the reader and both copies of the recording. */
void opened_finish(struct opened *op);
/* Refreshes the views of all open files. */
void reading_refresh(struct opened *op);

/* ---- any thread ---------------------------------------------------------- */

/* Logs that a disk is in trouble, once for each recording. */
void opened_tell(struct opened *op, int disk, int err);
void opened_drop(struct opened *op);

#endif
