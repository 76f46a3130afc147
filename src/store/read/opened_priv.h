/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPENED_PRIV_H
#define SPATE_STORE_READ_OPENED_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/read/opened.h"
#include "store/read/reader.h"
#include "store/view/view.h"

/*
 * What those share that open recordings and those that read them.
 *
 *   opened.c       the set
 *   opened_get.c   who gets one, and how long it stays
 *   opened_desk.c  its thread, and how others have it do something
 *   opened_look.c  what that thread does: opens it, looks again
 *   reading.c      an open file, and what is asked of it
 *   reading_desk.c its views
 *   reading_give.c what a request gets
 *   reading_answer.c  ... and where that is
 *
 * There are two of each recording that grows: `rec`, which all look at, and
 * `fresh`, which its thread looks at disks with.  When that is done, they
 * exchange what they are, which takes no longer than copying a struct: who
 * reads never waits for who looks, and the other way round.
 *
 * Order of locks: opened_set::lock, opened::lock, that of the pool.  Nobody
 * waits for a disk with any of them.
 */
struct opened_job;
struct reading;

struct opened_set {
	struct disks disks; /* paths; nothing of it is open */
	struct reader_pool *pool;
	int64_t patience;
	bool verify;
	struct opened_hooks hooks;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* a recording */
	/* ---- under the lock */
	unsigned refs; /* recordings, and who made it */
	bool closed;
	struct opened *op;
	unsigned open, idle;
	bool *hangs; /* of each disk: somebody who opens waits for it */
	struct opened_said *said; /* of each disk */
};

/* What was said of a disk lately: many recordings may be on one that fails. */
struct opened_said {
	int64_t since; /* steady ns */
	unsigned lines;
};

struct opened {
	struct opened_set *set;
	char name[256];
	struct disks disks; /* its own */

	/* ---- its thread's; others look at `rec` while they are counted in
	 * `lookers`, and only at what is no matter of disks */
	struct recording *rec, *fresh;
	uint64_t turn; /* looks */

	/* Set once, by the job that opens it, before anyone else looks. */
	struct reader *reader;
	bool lame; /* it was opened without a disk that hangs or refuses */

	atomic_int trying; /* disk that its thread is at; -1: none.  Of no
			      order: who is out of patience asks */

	/* ---- under the set's lock */
	struct opened *next; /* opened_set::op */
	unsigned users;
	bool linked;
	int64_t idle_since; /* steady ns; 0: it is to be closed now */

	pthread_mutex_t lock;
	pthread_cond_t done; /* a job; a looker, a view that was busy */
	pthread_cond_t work;
	/* ---- under its lock */
	unsigned refs; /* users and readings; its thread */
	bool stir;     /* its thread is to see if it is over */
	struct opened_job *job, **tail;
	int64_t busy; /* steady ns since when the thread is at a job; 0 */
	unsigned lookers;
	bool exchanging;
	struct reading *reading; /* all of them */
	struct opened_facts facts;
	struct opened_counts counts;
	int64_t looked, cost; /* steady ns: when it began, ns that it took */
	bool *told;	      /* of each disk: that it is trouble */
};

/* ---- what its thread is to do --------------------------------------------- */

/* Belongs to who asks and to the thread; the last one frees it. */
struct opened_job {
	struct opened_job *next; /* opened::job */
	int (*run)(struct opened *op, struct opened_job *job);
	void (*clear)(struct opened_job *job); /* and frees it; NULL: free() */
	unsigned refs;
	bool done;
	int err;
};

int opened_start(struct opened *op);
/* It is to see whether it is over. */
void opened_stir(struct opened *op);
/* Has it done, and waits as long as the patience: what it returned; or
 * -ETIMEDOUT, and it may still be done.  The caller's job is put. */
int opened_do(struct opened *op, struct opened_job *job);
/* The same, and the caller keeps his job. */
int opened_await(struct opened *op, struct opened_job *job);
void opened_job_put(struct opened *op, struct opened_job *job);

/* ---- its thread ------------------------------------------------------------ */

/* Is there another file system on a disk by now, or one that was not there?  Of
 * the recording's thread; may wait for the disk. */
bool opened_came(const struct opened *op, unsigned disk);

/* Opens it, or finds that it is still the same; holds it.  -ESTALE: there is
 * another by that name now, or none. */
int opened_enter(struct opened *op, struct fault *fault);
int opened_look(struct opened *op);
/* Nobody has it: who removes it need not wait. */
void opened_leave(struct opened *op);
/* What was open is closed. */
void opened_finish(struct opened *op);

/* ---- any thread -------------------------------------------------------------- */

/* A disk is trouble: says so once. */
void opened_tell(struct opened *op, int disk, int err);
void opened_drop(struct opened *op);

/* ---- under the set's lock ------------------------------------------------------ */

/* With two references: of its thread, and the caller; NULL: no memory, or too
 * many are with disks that hang. */
struct opened *opened_create(struct opened_set *set, const char *name);
struct opened *opened_find(struct opened_set *set, const char *name);

/* All views take in what was seen; its thread. */
void reading_refresh(struct opened *op);

#endif
