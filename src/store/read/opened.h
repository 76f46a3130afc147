/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPENED_H
#define SPATE_STORE_READ_OPENED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * Recordings that are open, for any number of threads that read them, and the
 * memory and the threads of disks that all of them share.
 *
 *   opened_get -> reading_open .. reading_close -> opened_put -> idle, closed
 *                                                  after some seconds
 *
 * Whatever of a recording may wait for a disk, but for reading its chunks, is
 * done by a thread that it has for that: opening, looking again, making fill.
 * Whoever wants it waits for that thread, and no longer than `patience`.
 *
 * One that was removed, or recorded anew by the same name, stays what it was
 * for those who have it; who gets the name then gets what is there.
 *
 * Any thread may call anything, but for make and free.
 */
struct opened_set;
struct opened;

/* What the daemon knows of recordings that grow; any may be NULL. */
struct opened_hooks {
	void *arg;
	/* Copies bytes of a block's data from memory; false: it is not there,
	 * or is gone by now.  Of any thread, without a lock of ours. */
	bool (*copy)(void *arg, const char *name, uint64_t number, uint64_t at,
		     uint64_t bytes, void *to);
	/* A live one is about to be looked at: recording_refresh() comes next,
	 * and nobody else sees it yet: here it is settled, and blocks of it
	 * remembered.  There are two of each, which take turns.
	 * Of the recording's own thread; may wait for the daemon, a moment.
	 * 0 or -errno: what was seen before stays. */
	int (*look)(void *arg, struct recording *rec);
};

struct opened_args {
	const struct disks *disks; /* copied */
	uint64_t cache;		   /* bytes of buffers; 0: 512 MiB */
	int64_t patience;	   /* ns; 0: ten seconds */
	bool verify;		   /* checksums */
	struct opened_hooks hooks;
};

int opened_make(struct opened_set **set, const struct opened_args *args);
/* All are put.  Never waits for a disk: what its threads need is left. */
void opened_free(struct opened_set *set); /* NULL: nothing */

/* Finds it, or opens it.  0; -ETIMEDOUT: a disk does not answer; or as
 * recording_open() and recording_hold(); with a fault. */
int opened_get(struct opened_set *set, const char *name, struct opened **op,
	       struct fault *fault);
void opened_put(struct opened *op);

/* Looks again at one that grows, if that was not done for `max_age`.  0;
 * -ETIMEDOUT: a disk does not answer: what was seen before stays. */
int opened_refresh(struct opened *op, int64_t max_age_ns);

struct opened_facts {
	const char *name; /* as long as it is not put */
	char extension[16];
	enum recording_state state;
	enum heap_store store;
	unsigned subs;
	uint32_t payload;
	int64_t begun_ns; /* as its head says, 0: it does not: another by
			     that name began at another time */
	int64_t start_ns, end_ns;
	uint64_t bytes; /* of all files, to the visible end */
	unsigned chunks;
	bool removed; /* there is another by that name now, or none */
};
void opened_facts(struct opened *op, struct opened_facts *f);

/*
 * Has something done with it by its own thread, which may wait for disks: what
 * that returned; or -ETIMEDOUT, and then it may still be done.  clear() gets
 * `arg` once nobody will touch it any more but who gave it, which may be
 * before or after this returns; also where it was not done.
 */
int opened_run(struct opened *op, int (*run)(void *arg, struct recording *rec),
	       void (*clear)(void *arg), void *arg);

/* What became of reading it, since it was opened, of all who did. */
struct opened_counts {
	uint64_t bytes;		   /* given */
	uint64_t disk_bytes;	   /* that disks were asked for */
	uint64_t live_bytes;	   /* from the daemon's memory */
	uint64_t unreadable_bytes; /* -EIO was said in their place */
	uint64_t filled_bytes;	   /* fill in place of what should be there */
};
/* Of one that is open, or was until lately; false: nothing is known. */
bool opened_counts(struct opened_set *set, const char *name,
		   struct opened_counts *c);

/* How much memory is in use for buffers, and how many are open. */
struct opened_use {
	unsigned open, idle;
	uint64_t cache_bytes; /* of buffers that have something */
	unsigned hang;	      /* disks that do not answer */
};
void opened_use(struct opened_set *set, struct opened_use *use);

#endif
