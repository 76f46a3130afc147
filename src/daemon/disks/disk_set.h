/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_DISK_SET_H
#define SPATE_DAEMON_DISKS_DISK_SET_H

#include <stdbool.h>

#include "base/fault.h"
#include "daemon/disks/disk_watch.h"
#include "flow/write/writer.h"
#include "store/disk/disk.h"

/*
 * The disk set is all disks, each with its writer thread.  A disk's number
 * belongs to its path for as long as the daemon runs, so that recordings can
 * count per disk by number; hence an array of DISK_SET_MOST from the start.
 * The event loop's thread.
 *
 *             disk_set_add, or          disk_set_drop
 *             the watch saw it   +---------------------------+
 *   no number -----------------> TAKING PART                 v
 *                                    ^                    LEAVING
 *   disk_set_add, or the watch saw   |                       |
 *   it go away and come back         +------- DROPPED <------+
 *                                                 its writer ended
 */
enum { DISK_SET_MOST = DISK_LIST_MOST, DISK_SET_MINUTE = 60 };

/* Arguments of disk_set_start; all that they point to outlives the disk set. */
struct disk_set_args {
	struct queue *queue;
	const struct write_plugin *plugin;
	unsigned plugins;
	const void *arena; /* the memory of all blocks, or NULL */
	uint64_t arena_bytes;
	const _Atomic size_t *arena_ready; /* see write_args */
	unsigned files; /* chunk files that all disks together may hold open */
	uint64_t reserve; /* bytes kept free per disk; 0: the default */
	const struct option_texts *patterns;
	/* called when a job of a writer is done; any thread */
	void (*changed)(void *arg);
	void *arg;
};

/* One disk; its number is its index in disk_set::disk. */
struct disk_set_disk {
	struct disk disk;
	struct writer *writer; /* NULL: dropped */
	bool leaving;
	bool there; /* the disk watch sees the disk */
	/* added by hand: the disk watch does not bring it back after a drop */
	bool by_hand;
	/* no longer configured: leaves as soon as another disk takes blocks */
	bool unwanted;

	/* Counts of the times before the disk came back; they are added to
	 * those of its writer, so that totals never fall. */
	struct disk_set_sums {
		uint64_t written, chunks, errors;
	} before;

	/* Bytes written so far, at each of the last 61 samples; a ring. */
	uint64_t written[DISK_SET_MINUTE + 1];
	/* bytes per second, over the last second and the last minute */
	double rate, minute;
	/* highest speed ever seen, bytes per second; 0: not known */
	double fastest;
};

struct disk_set {
	struct disk_set_args a;
	struct disk_set_disk disk[DISK_SET_MOST];
	unsigned n;
	unsigned files; /* chunk files that each disk may hold open */
	struct disk_watch *watch;
	struct disk_list *list; /* for threads that read recordings */
	/* next probe and its distance while no disk takes blocks; steady, ns */
	int64_t probe_at, probe_gap;
	/* steady ns of each sample; a ring */
	int64_t sampled[DISK_SET_MINUTE + 1];
	unsigned samples;
};

/* Starts the disk watch and a writer for each of `disks`, and closes their
 * descriptors (writers open their own).  Returns 0 or -errno; call
 * disk_set_stop in either case. */
int disk_set_start(struct disk_set *set, struct disks *disks,
		   const struct disk_set_args *args);

/* Stops watch and writers, after every output has ended and the queue was
 * drained.  Returns false if a disk does not answer: its thread uses the queue,
 * the pool and the arguments of its writer for as long as the process lives. */
bool disk_set_stop(struct disk_set *set);

/* Returns how many disks take part. */
unsigned disk_set_writers(const struct disk_set *set);

/* Returns the writer of disk `i`, or NULL if it was dropped or is leaving. */
struct writer *disk_set_writer(const struct disk_set *set, unsigned i);
/* Returns the path of disk `i`, also of a dropped one. */
const char *disk_set_path(const struct disk_set *set, unsigned i);

/* ---- disk_set.c: disks that do not answer -------------------------- */

/* Returns how many disks take blocks and answer.  With none, blocks wait in
 * memory. */
unsigned disk_set_takers(const struct disk_set *set);

/* True if a disk takes blocks of this output: one that recorders share may
 * refuse them, as another recorder ended the recording there. */
bool disk_set_serves(const struct disk_set *set, const struct output *o);

/* True if a disk that is leaving still answers: it will finish its last sync by
 * itself. */
bool disk_set_leaves(const struct disk_set *set);

/* Fills `disks` with copies of the disks that answer, not opened, for use by
 * another thread; number[], unless NULL, are their numbers in the set.  Returns
 * 0 or -ENOMEM; in either case the caller clears it. */
int disk_set_copy(const struct disk_set *set, struct disks *disks,
		  unsigned *number);

/* True if at least one disk works or may work again. */
bool disk_set_works(const struct disk_set *set);

/* Gives up the blocks of an output that is ending while no disk takes any: they
 * count as lost. */
void disk_set_abandon(struct disk_set *set, struct output *output);

/* Takes news from the disk watch, finishes drops, and once a second samples and
 * watches the disks.  The event loop calls it every turn. */
void disk_set_step(struct disk_set *set, int64_t now);

/* ---- disk_set.c --------------------------------------------------- */

/* A disk as disk_look() found it. */
struct disk_looked {
	int err;
	struct disk_id id;
};

/*
 * Adds a disk by hand.  It takes blocks as soon as its writer has tried
 * it.  `force` accepts a folder on the system's own file system.  A remote disk
 * is not asked for anything here: `remote` is what a thread found that may wait
 * for it; NULL for a folder.  Returns the disk's number, or -errno with a
 * fault.
 */
int disk_set_add(struct disk_set *set, const char *path, bool force,
		 const struct disk_looked *remote, struct fault *fault);

/*
 * Begins to remove a disk; it is done when the writer is NULL.  With
 * `recording`, the last disk that takes blocks is refused.  Returns the disk's
 * number, or -errno with a fault.
 */
int disk_set_drop(struct disk_set *set, const char *path, bool recording,
		  struct fault *fault);

/* True if the configured patterns match `path`, so that a restart finds the
 * disk again. */
bool disk_set_configured(const struct disk_set *set, const char *path);

/*
 * Uses the configuration's new patterns, which stand where the old ones stood
 * (disk_set_args::patterns).  Disks that match join by themselves; disks that
 * match no more leave, unless added by hand.  Returns 0 or -ENOMEM.
 */
int disk_set_patterns(struct disk_set *set);

/* Drops unwanted disks where possible.  The event loop calls it every turn. */
void disk_set_tidy(struct disk_set *set, bool recording);

/* Sets the bytes kept free on each disk; used from the next time a disk is
 * opened. */
void disk_set_reserve(struct disk_set *set, uint64_t reserve);

/* ---- disk_set.c --------------------------------------------------- */

/* Space of all disks together; a file system that several share counts once. */
struct disk_set_space {
	unsigned disks;	  /* disks that take part */
	unsigned untried; /* of these, disks whose space is not known yet */
	uint64_t total, free, written;
	double rate;	 /* bytes per second, over the last minute */
	double forecast; /* seconds until all are full; < 0: not known */
};

void disk_set_space(const struct disk_set *set, struct disk_set_space *space);

/*
 * Returns the bytes per second that all disks together can write, by the best
 * that each has shown; 0 if one of them has written less than DISK_SET_SHOWN
 * bytes.
 */
#define DISK_SET_SHOWN (UINT64_C(1) << 30)
double disk_set_speed(const struct disk_set *set);

/* Returns the seconds until disk `i` is full, counting all disks that share its
 * space; < 0: nothing was written lately. */
double disk_set_forecast(const struct disk_set *set, unsigned i);

#endif
