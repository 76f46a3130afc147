/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPEN_RECORDINGS_H
#define SPATE_STORE_READ_OPEN_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * The set of open recordings, for any number of threads that read them.  All
 * share one pool of buffers and disk threads (reader.h).
 *
 *    opened_get -> reading_open .. reading_close -> opened_put -> idle, closed
 *                                                   after some seconds
 *
 * Each recording has a thread of its own.  That thread does everything that may
 * wait for a disk, except reading chunks: opening, refreshing, making fill.
 * Callers wait for it, but no longer than `patience`.
 *
 * A recording that is removed, or recorded anew under the same name, stays
 * readable for those who hold it; the next opened_get() of the name gives what
 * is there now.
 *
 * Any thread may call any function, except opened_make() and opened_free().
 */
struct opened_set;
struct opened;

/* Hooks of the daemon, for recordings that are still being written.  Any may be
 * NULL. */
struct opened_hooks {
	void *arg;
	/*
	 * Copies bytes of a block from memory to `to`.  False: they are not in
	 * memory, or not any more.  Called by any thread, with no lock of this
	 * file held.
	 */
	bool (*copy)(void *arg, const char *name, uint64_t number, uint64_t at,
		     uint64_t bytes, void *to);
	/*
	 * Called before a live recording is refreshed; nobody else uses `rec`
	 * yet.  The hook may call recording_settle() and recording_remember().
	 * Two copies of each recording are passed in turns.  Called by the
	 * recording's own thread; may wait briefly for the daemon.  Returns 0
	 * or -errno: then what was seen before stays.
	 */
	int (*look)(void *arg, struct recording *rec);
};

struct opened_args {
	const struct disks *disks; /* copied */
	uint64_t cache;		   /* bytes of buffers; 0: 512 MiB */
	int64_t patience;	   /* ns; 0: ten seconds */
	bool verify;		   /* check checksums of all data read */
	struct opened_hooks hooks;
};

/* Makes a set.  Returns 0 or -errno. */
int opened_make(struct opened_set **set, const struct opened_args *args);
/* Frees the set.  All recordings have been put before.  Never waits for a disk:
 * memory that a stuck thread needs is freed by that thread. */
void opened_free(struct opened_set *set); /* NULL is allowed */

/*
 * Finds an open recording, or opens it.  Returns 0; -ETIMEDOUT if a disk does
 * not answer; or as recording_open() and recording_hold(); with a fault.  The
 * caller calls opened_put() when done.
 */
int opened_get(struct opened_set *set, const char *name, struct opened **op,
	       struct fault *fault);

/* Gives a recording back.  Files opened on it are closed before. */
void opened_put(struct opened *op);

/*
 * Refreshes a recording that is still growing, if its last refresh is older
 * than `max_age_ns`.  Returns 0; -ETIMEDOUT if a disk does not answer: then
 * what was seen before stays.
 */
int opened_refresh(struct opened *op, int64_t max_age_ns);

struct opened_facts {
	const char *name; /* valid until opened_put() */
	char extension[16];
	enum recording_state state;
	enum heap_store store;
	unsigned subs;
	uint32_t payload;
	int64_t begun_ns; /* start time in the metadata's first line, 0 if
			     missing; it tells two recordings of the same name
			     apart */
	int64_t start_ns, end_ns;
	uint64_t bytes; /* size of all substreams' files, to the visible end */
	unsigned chunks;
	bool removed; /* the name is gone, or is another recording now */
};

/* Copies what was known at the last refresh. */
void opened_facts(struct opened *op, struct opened_facts *f);

/*
 * Calls run() on the recording's own thread, where it may wait for disks.
 * Returns what run() returned; or -ETIMEDOUT, and run() may still be called
 * later.  clear() is called with `arg` once the set no longer uses it, before
 * or after this returns, whether or not run() was called.
 */
int opened_run(struct opened *op, int (*run)(void *arg, struct recording *rec),
	       void (*clear)(void *arg), void *arg);

/* Bytes read from a recording by all readers since it was opened. */
struct opened_counts {
	uint64_t bytes;		   /* given to readers */
	uint64_t disk_bytes;	   /* requested from disks */
	uint64_t live_bytes;	   /* from the daemon's memory */
	uint64_t unreadable_bytes; /* answered with -EIO */
	uint64_t filled_bytes;	   /* fill in place of data that should be
				      there */
};
/* Copies the counts of a recording that is open, or idle and not closed yet.
 * False if it is neither. */
bool opened_counts(struct opened_set *set, const char *name,
		   struct opened_counts *c);

/* Open recordings and memory in use. */
struct opened_use {
	unsigned open, idle;
	uint64_t cache_bytes; /* buffers that hold data */
	unsigned hang;	      /* disks that do not answer */
};
void opened_use(struct opened_set *set, struct opened_use *use);

#endif
