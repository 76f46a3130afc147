/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_WRITER_PRIV_H
#define SPATE_FLOW_WRITE_WRITER_PRIV_H

#include <pthread.h>

#include "flow/memory/heartbeat.h"
#include "flow/write/chunk.h"
#include "flow/write/disk_recording.h"
#include "flow/write/disk_speed.h"
#include "flow/write/disk_writes.h"
#include "flow/write/writer.h"

/*
 * The files of a writer:
 *
 *   writer.c       the thread: jobs, blocks that are being written, syncs
 *   writer_disk.c  the disk fails, hangs, leaves and comes back
 *
 * Lock order: writer::lock, disk_recording::lock, output::lock; the queue's and
 * the pool's locks are taken last.  No lock is held during a call that may wait
 * for the disk.
 */

/* A disk without an answer for so many ns hangs; after WRITER_GONE it does not
 * count as working any more. */
#define WRITER_PATIENCE INT64_C(5000000000)
#define WRITER_GONE	INT64_C(60000000000)

enum folder_job_kind { JOB_BEGIN, JOB_SYNC, JOB_END };

struct folder_job {
	struct output *output; /* a reference is held */
	enum folder_job_kind kind;
	/* output->jobs was decremented for it; under writer::lock. */
	bool counted;
	struct index_record record;
	bool endless; /* no end record is to be written */
	json_t *tail;
	struct folder_job *next; /* linked in writer::jobs */
};

/*
 * A load is a block that this disk has taken.  One thread accounts for it, the
 * one that claims it first under the lock: the writer's thread when the block
 * is written or has failed, or the event loop when it gives the block away to
 * another disk, or up as lost.  A block that was given up exists nowhere else,
 * so the thread still counts it as written if it succeeds.
 */
struct load {
	struct output *output; /* a reference is held */
	struct chunk chunk;
	bool begun;    /* chunk_begin succeeded */
	int64_t since; /* steady ns: when it was taken */

	/* Under writer::lock. */
	/* Sealed; the load owns it.  NULL: the load is empty. */
	struct block *b;
	/* The block was given to another disk.  Atomic because
	 * writes_in_flight.c reads it without the lock, to write no more than
	 * it must. */
	atomic_bool away;
	bool given_up;
};

struct stray_chunk;

struct writer {
	struct writer_args a;
	struct queue *queue;
	pthread_t thread;
	struct heartbeat
	    beat; /* when the disk last answered; see heartbeat.h */

	/* Only the writer's thread uses these fields. */
	struct disk disk; /* open while something is recorded, or probed */
	struct disk_writes plugins;
	unsigned loads; /* loads that are not empty */
	bool ended;	/* the queue is closed and has no block left */
	/* The disk has failed or is full; its folders are still open. */
	bool leaving;
	unsigned tries; /* errors and hangs since it last wrote a chunk */
	int64_t try_at; /* steady ns: when it is probed again */
	struct disk_speed speed;
	bool told;	  /* the queue has the figures of the last block */
	int64_t ended_ns; /* steady ns: when the last block was written */
	/* Bytes of the block that found no space; 0: there was none. */
	uint64_t need;
	struct stray_chunk *strays;

	pthread_mutex_t lock; /* protects the fields below */
	/* Waited on while the writer has no place in the queue. */
	pthread_cond_t wake;
	/* NULL: no place in the queue.  Changed by the thread alone, except
	 * that writer_relieve takes it away in state HUNG. */
	struct taker *taker;
	struct disk_recording *recordings; /* changed by the thread alone */
	/* Jobs that wait, and the one being done. */
	struct folder_job *jobs, **jobs_end, *job;
	struct load load[WRITES_FILES];
	/* The thread asks something of the disk that may take long. */
	bool busy;
	bool stop, finished;
	bool retry; /* the disk is to be probed now */
	int64_t hung_since;
	struct writer_facts facts;
};

/* ---- writer.c -------------------------------------------------------- */

bool writer_hangs(struct writer *w);

/* Syncs each recording that is due by `now` (steady ns; INT64_MAX: all).
 * Returns when to call it again, at most a second from now. */
int64_t writer_rounds(struct writer *w, int64_t now);

/* Decrements the outputs' count for all jobs that are posted, so that nobody
 * waits for them.  Caller holds writer::lock. */
void jobs_count(struct writer *w);

/* ---- writer_disk.c --------------------------------------------------- */

/* Looks up the disk's free space for the status.  Done on this thread because a
 * disk that hangs would hang the caller. */
void writer_space_look(struct writer *w);

/* Probes the disk.  0: it may take blocks and has a place in the queue; -errno:
 * it is in state MISSING, FAILED or FULL. */
int writer_disk_try(struct writer *w);

/* Takes the disk out of use after an error: leaves the queue, logs one line,
 * sets when to probe it again.  `doing` completes "cannot ...".  No effect if
 * it is out of use already. */
void writer_disk_leave(struct writer *w, int err, const char *doing);
bool writer_disk_left(struct writer *w);

/*
 * Handles an error of a recording.  If another recorder has it there, or ended
 * it, this disk gets none of its blocks for a while, and goes on with other
 * recordings.  Any other error, and one of a recording that this disk has not
 * opened (NULL): writer_disk_leave().
 */
void writer_recording_fails(struct writer *w, struct disk_recording *rec,
			    int err, const char *doing);
/* The same for one that is closed. */
void writer_close_fails(struct writer *w, const struct output *o, int err);

/* Suspends the recordings that the disk refuses, once none of their blocks is
 * written; the next block resumes them, if it can. */
void writer_refused_suspend(struct writer *w);

/* Takes blocks of a recording again that was refused, if it was. */
void writer_admit(struct writer *w, const struct output *o);

/* Resumes work on the thread after a call into a hung disk has returned and its
 * loads are finished. */
void writer_disk_return(struct writer *w);

/* Gives up the disk's place in the queue, so that it takes no more blocks. */
void writer_queue_leave(struct writer *w);

/* Remembers a chunk that could not be removed although its block is on another
 * disk. */
void stray_add(struct writer *w, const struct chunk *c);
void strays_forget(struct writer *w);

/* Removes the chunks of blocks that went to other disks before they were
 * durable here; what cannot be removed becomes a stray chunk.  The disk's
 * thread, behind each disk_recording_sync. */
void writer_moved(struct writer *w, struct disk_recording *rec);

#endif
