/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_OPEN_RECORDINGS_H
#define SPATE_STORE_READ_OPEN_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/recording/recording.h"

/*
 * The set of open recordings, for any number of threads that read them.  All
 * share one pool of buffers and disk threads (pool.h).
 *
 *    open_recording_get -> cursor_open .. cursor_close
 *                       -> open_recording_put -> idle for some seconds, closed
 *
 * Each recording has a thread of its own.  That thread does everything that may
 * wait for a disk, except reading chunks: opening, refreshing, making fill.
 * Callers wait for it, but no longer than `patience`.
 *
 * A recording that is removed, or recorded anew under the same name, stays
 * readable for those who hold it; the next open_recording_get() of the name
 * gives what is there now.
 *
 * Any thread may call any function, except open_recordings_make() and
 * open_recordings_free().
 */
struct open_recordings;
struct open_recording;

/* Hooks of the daemon, for recordings that are still being written.  Any may be
 * NULL. */
struct open_recordings_hooks {
	void *arg;
	/* The daemon's memory, as in struct pool_memory. */
	bool (*copy)(void *arg, const char *name, uint64_t number, uint64_t at,
		     uint64_t bytes, void *to);
	/*
	 * Called before a live recording is refreshed; nobody else uses `rec`
	 * yet.  The hook may call recording_settle() and recording_remember().
	 * Two copies of each recording are passed in turns.  Called by the
	 * recording's own thread; may wait briefly for the daemon.  `rec` has
	 * all disks that there were at `disks_ns` (steady ns; INT64_MAX: all
	 * that there will ever be), so what the daemon said by then to be on
	 * none of its disks may be settled, and no more.  Returns 0 or -errno:
	 * then what was seen before stays.
	 */
	int (*look)(void *arg, struct recording *rec, int64_t disks_ns);
};

struct open_recordings_args {
	const struct disks *disks; /* copied */
	unsigned spare;		   /* how many more may join */
	uint64_t cache;		   /* bytes of buffers; 0: 512 MiB */
	int64_t patience;	   /* ns; 0: ten seconds */
	bool verify;		   /* check checksums of all data read */
	/*
	 * For a caller that copies each file once from beginning to end:
	 * recordings are shown as they were when they were opened; read-ahead
	 * may use every free buffer; an answer is one stretch as it lies in
	 * a buffer; and data that cannot be read is filled, except of rows.
	 */
	bool once;
	struct open_recordings_hooks hooks;
};

/* Makes a set.  Returns 0 or -errno. */
int open_recordings_make(struct open_recordings **set,
			 const struct open_recordings_args *args);
/* Frees the set.  All recordings have been put before.  Never waits for a disk:
 * memory that a stuck thread needs is freed by that thread. */
void open_recordings_free(struct open_recordings *set); /* NULL is allowed */

/*
 * Adds a disk; `path` and `mount` as in struct disk.  The next
 * open_recording_get() sees what is on it, and a recording that is open and
 * still growing at its next refresh.  Returns 0, -ENOMEM, or -ENOSPC: all spare
 * places are taken.
 */
int open_recordings_join(struct open_recordings *set, const char *path,
			 bool mount);

/*
 * Says that all disks that there were at this time (steady ns) have joined;
 * INT64_MAX: no further one will.  A set with spare places that was not told so
 * since a live recording ended shows nothing in place of blocks that may be on
 * a disk which is not known yet, for as long as `patience`.
 */
void open_recordings_complete(struct open_recordings *set, int64_t at_ns);

/*
 * Finds an open recording, or opens it.  Returns 0; -ETIMEDOUT if a disk does
 * not answer; or as recording_open() and recording_hold(); with a fault.  The
 * caller calls open_recording_put() when done.
 */
int open_recording_get(struct open_recordings *set, const char *name,
		       struct open_recording **op, struct fault *fault);

/* Gives a recording back.  Files opened on it are closed before. */
void open_recording_put(struct open_recording *op);

/*
 * Refreshes a recording that is still growing, if its last refresh is older
 * than `max_age_ns`; one that was interrupted, once a second at most, since a
 * recorder may go on with it.  Returns 0; -ETIMEDOUT if a disk does not answer:
 * then what was seen before stays.
 */
int open_recording_refresh(struct open_recording *op, int64_t max_age_ns);

struct open_recording_facts {
	const char *name; /* valid until open_recording_put() */
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
void open_recording_facts(struct open_recording *op,
			  struct open_recording_facts *f);

/* Returns the recording itself, for sets with `once`.  The caller uses it on
 * the thread that reads, until open_recording_put(). */
struct recording *open_recording_rec(struct open_recording *op);

/*
 * Calls run() on the recording's own thread, where it may wait for disks.
 * Returns what run() returned; or -ETIMEDOUT, and run() may still be called
 * later.  clear() is called with `arg` once the set no longer uses it, before
 * or after this returns, whether or not run() was called.
 */
int open_recording_run(struct open_recording *op,
		       int (*run)(void *arg, struct recording *rec),
		       void (*clear)(void *arg), void *arg);

/* Bytes read from a recording by all readers since it was opened. */
struct open_recording_counts {
	uint64_t bytes;		   /* given to readers */
	uint64_t disk_bytes;	   /* requested from disks */
	uint64_t live_bytes;	   /* from the daemon's memory */
	uint64_t healed;	   /* blocks that were computed from parity */
	uint64_t unreadable_bytes; /* answered with -EIO */
	uint64_t damaged_bytes;	   /* read although their checksum is wrong and
				      parity does not mend them */
	uint64_t filled_bytes;	   /* fill in place of data that should be
				      there */
};
/* Copies the counts of a recording that is open, or idle and not closed yet.
 * False if it is neither. */
bool open_recording_counts(struct open_recordings *set, const char *name,
			   struct open_recording_counts *c);

/* Open recordings and memory in use. */
struct open_recordings_use {
	unsigned open, idle;
	uint64_t cache_bytes; /* buffers that hold data */
	unsigned hang;	      /* disks that do not answer */
};
void open_recordings_use(struct open_recordings *set,
			 struct open_recordings_use *use);

#endif
