/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPEN_RECORDINGS_PRIV_H
#define SPATE_STORE_READ_OPEN_RECORDINGS_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/read/open_recordings.h"
#include "store/read/pool.h"
#include "store/view/view.h"

/*
 * Declarations shared by open recordings and cursors.
 *
 *   open_recordings.c  the set, each recording's thread and its jobs
 *   cursor.c           bytes at an offset
 *
 * A recording that grows is held twice: `rec`, which everyone reads, and
 * `fresh`, which its thread refreshes from disk.  Afterwards the two structs
 * exchange their contents, which takes as long as copying a struct, under the
 * recording's lock and the pool's; readers look at `rec` under either.  So
 * readers never wait for a refresh, nor a refresh for readers.
 *
 * Order of locks: open_recordings::lock, open_recording::lock, the pool's lock.
 * No thread waits for a disk while it holds one of them.
 */
struct open_recording_job;
struct cursor;

struct open_recordings {
	struct pool *pool;
	uint64_t cache; /* bytes of the pool's buffers */
	int64_t patience;
	bool verify, once; /* as in struct open_recordings_args */
	struct open_recordings_hooks hooks;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* signalled when a recording was freed */
	/* ---- under the lock */
	/*
	 * Paths only; nothing of it is open.  The last ones are spare: their
	 * paths are empty until a disk joins.
	 */
	struct disks disks;
	unsigned joined;     /* disks that joined */
	int64_t complete_ns; /* see open_recordings_complete() */
	unsigned refs;	     /* one per recording, and one of the maker */
	bool closed;
	struct open_recording *op;
	unsigned open, idle;
	bool *hangs; /* by disk: a thread that opens a recording hangs there */
	struct disk_lines *lines; /* log lines by disk */
};

/* How many log lines were written about a disk lately.  Many recordings may lie
 * on a disk that fails. */
struct disk_lines {
	int64_t since; /* steady ns */
	unsigned lines;
};

/* The counts of a recording, added to by any thread.  Relaxed: they order
 * nothing. */
struct open_recording_sums {
	atomic_uint_fast64_t bytes, unreadable, filled;
};

struct open_recording {
	struct open_recordings *set;
	char name[256];
	struct disks disks; /* copy of the set's disks, opened by its thread */

	/*
	 * ---- owned by its thread; others use `rec` under the lock below or
	 *  the pool's, and only what needs no disk
	 */
	struct recording *rec, *fresh;
	uint64_t turn;	  /* counts refreshes; written under the lock */
	unsigned joined;  /* open_recordings::joined, as of its own disks */
	int64_t disks_ns; /* open_recordings::complete_ns, likewise */
	int64_t ended_ns; /* steady ns: it was first seen not to grow any more;
			     0: it grows */

	/*
	 * Set once by the job that opens the recording, before others use it.
	 */
	struct pool_reader *reader;
	bool partial; /* opened without a disk that hangs or refuses */

	atomic_int trying; /* disk that the thread waits for now; -1: none.
			      Relaxed: read only to name the disk after a
			      timeout */

	/* ---- under the set's lock */
	struct open_recording *next; /* open_recordings::op */
	unsigned users;
	bool linked;
	int64_t idle_since; /* steady ns; 0: close it now */

	struct open_recording_sums sums;

	pthread_mutex_t lock;
	pthread_cond_t done; /* signalled when a job is done or a view was
				refreshed */
	pthread_cond_t work;
	/* ---- under its lock */
	unsigned refs; /* users, cursors, and its thread */
	bool wake;     /* asks its thread to check whether to close */
	struct open_recording_job *job, **tail;
	int64_t busy; /* steady ns when the running job began; 0: none */
	struct cursor *cursor; /* list of its cursors */
	struct open_recording_facts facts;
	int64_t looked, cost; /* steady ns when the last refresh began; ns it
				 took */
	bool *told;	      /* by disk: trouble was logged */
};

/* ---- jobs of a recording's thread ---------------------------------------- */

/* A job belongs to the caller and to the thread; the last one frees it. */
struct open_recording_job {
	struct open_recording_job *next; /* open_recording::job */
	int (*run)(struct open_recording *op, struct open_recording_job *job);
	void (*clear)(
	    struct open_recording_job *job); /* frees the job too; NULL:
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
int open_recording_do(struct open_recording *op,
		      struct open_recording_job *job);
/*
 * Has the thread run a job, and waits, as open_recording_do(); but the caller
 * keeps its reference: it sets refs to 1 before, and calls
 * open_recording_job_put() afterwards.
 */
int open_recording_await(struct open_recording *op,
			 struct open_recording_job *job);
void open_recording_job_put(struct open_recording *op,
			    struct open_recording_job *job);

/* ---- called by its thread ------------------------------------------------ */

/* Refreshes the views of all cursors. */
void cursors_refresh(struct open_recording *op);

/* ---- any thread ---------------------------------------------------------- */

/* Logs that a disk is in trouble, once for each recording. */
void open_recording_log(struct open_recording *op, int disk, int err);
void open_recording_drop(struct open_recording *op);

#endif
