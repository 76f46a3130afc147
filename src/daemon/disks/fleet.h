/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_FLEET_H
#define SPATE_DAEMON_DISKS_FLEET_H

#include <stdbool.h>

#include "base/fault.h"
#include "daemon/disks/scout.h"
#include "flow/write/writer.h"
#include "store/disk/disk.h"

/*
 * The fleet is all disks, each with its writer thread.  A disk's number belongs
 * to its path for as long as the daemon runs, so that recordings can count per
 * disk by number; hence an array of FLEET_MOST from the start.  The event
 * loop's thread.
 *
 *             fleet_add, or              fleet_drop
 *             the scout saw it   +---------------------------+
 *   no number -----------------> TAKING PART                 v
 *                                    ^                    LEAVING
 *      fleet_add, or the scout saw   |                       |
 *      it go away and come back      +------- DROPPED <------+
 *                                                 its writer ended
 */
enum { FLEET_MOST = 256, FLEET_MINUTE = 60 };

/* Arguments of fleet_start; all that they point to outlives the fleet. */
struct fleet_args {
	struct queue *queue;
	const struct write_plugin *plugin;
	unsigned plugins;
	const void *arena; /* the memory of all blocks, or NULL */
	uint64_t arena_bytes;
	unsigned files; /* chunk files that all disks together may hold open */
	uint64_t reserve; /* bytes kept free per disk; 0: the default */
	const struct option_texts *patterns;
	/* called when a job of a writer is done; any thread */
	void (*changed)(void *arg);
	void *arg;
};

/* One disk; its number is its index in fleet::disk. */
struct fleet_disk {
	struct disk disk;
	struct writer *writer; /* NULL: dropped */
	bool leaving;
	bool there; /* the scout sees the disk */
	/* added by hand: the scout does not bring it back after a drop */
	bool by_hand;
	/* no longer configured: leaves as soon as another disk takes blocks */
	bool unwanted;

	/* Bytes written so far, at each of the last 61 samples; a ring. */
	uint64_t written[FLEET_MINUTE + 1];
	/* bytes per second, over the last second and the last minute */
	double rate, minute;
	/* highest speed ever seen, bytes per second; 0: not known */
	double fastest;
};

struct fleet {
	struct fleet_args a;
	struct fleet_disk disk[FLEET_MOST];
	unsigned n;
	unsigned files; /* chunk files that each disk may hold open */
	struct scout *scout;
	/* next probe and its distance while no disk takes blocks; steady, ns */
	int64_t probe_at, probe_gap;
	/* steady ns of each sample; a ring */
	int64_t sampled[FLEET_MINUTE + 1];
	unsigned samples;
};

/* Starts the scout and a writer for each of `disks`, and closes their
 * descriptors (writers open their own).  Returns 0 or -errno; call fleet_stop
 * in either case. */
int fleet_start(struct fleet *fleet, struct disks *disks,
		const struct fleet_args *args);

/* Stops scout and writers, after every output has ended and the queue was
 * drained.  Returns false if a disk does not answer: its thread uses the queue,
 * the pool and the arguments of its writer for as long as the process lives. */
bool fleet_stop(struct fleet *fleet);

/* Returns how many disks take part. */
unsigned fleet_writers(const struct fleet *fleet);

/* Returns the writer of disk `i`, or NULL if it was dropped or is leaving. */
struct writer *fleet_writer(const struct fleet *fleet, unsigned i);
/* Returns the path of disk `i`, also of a dropped one. */
const char *fleet_path(const struct fleet *fleet, unsigned i);

/* ---- fleet.c: disks that do not answer -------------------------- */

/* Returns how many disks take blocks and answer.  With none, blocks wait in
 * memory. */
unsigned fleet_takers(const struct fleet *fleet);

/* True if a disk that is leaving still answers: it will finish its last sync by
 * itself. */
bool fleet_leaves(const struct fleet *fleet);

/* Fills `disks` with copies of the disks that answer, not opened, for use by
 * another thread.  Returns 0 or -ENOMEM; in either case the caller clears
 * it. */
int fleet_disks(const struct fleet *fleet, struct disks *disks);

/* True if at least one disk works or may work again. */
bool fleet_works(const struct fleet *fleet);

/* Gives up the blocks of an output that is ending while no disk takes any: they
 * count as lost. */
void fleet_abandon(struct fleet *fleet, struct output *output);

/* Takes news from the scout, finishes drops, and once a second samples and
 * watches the disks.  The event loop calls it every turn. */
void fleet_step(struct fleet *fleet, int64_t now);

/* ---- fleet.c --------------------------------------------------- */

/*
 * Adds a disk by hand.  It takes blocks as soon as its writer has tried it.
 * `force` accepts a folder on the system's own file system.  Returns the disk's
 * number, or -errno with a fault.
 */
int fleet_add(struct fleet *fleet, const char *path, bool force,
	      struct fault *fault);

/*
 * Begins to remove a disk; it is done when the writer is NULL.  With
 * `recording`, the last disk that takes blocks is refused.  Returns the disk's
 * number, or -errno with a fault.
 */
int fleet_drop(struct fleet *fleet, const char *path, bool recording,
	       struct fault *fault);

/* True if the configured patterns match `path`, so that a restart finds the
 * disk again. */
bool fleet_configured(const struct fleet *fleet, const char *path);

/*
 * Uses the configuration's new patterns, which stand where the old ones stood
 * (fleet_args::patterns).  Disks that match join by themselves; disks that
 * match no more leave, unless added by hand.  Returns 0 or -ENOMEM.
 */
int fleet_patterns(struct fleet *fleet);

/* Drops unwanted disks where possible.  The event loop calls it every turn. */
void fleet_tidy(struct fleet *fleet, bool recording);

/* Sets the bytes kept free on each disk; used from the next time a disk is
 * opened. */
void fleet_reserve(struct fleet *fleet, uint64_t reserve);

/* ---- fleet.c --------------------------------------------------- */

/* Space of all disks together; a file system that several share counts once. */
struct fleet_space {
	unsigned disks;	  /* disks that take part */
	unsigned untried; /* of these, disks whose space is not known yet */
	uint64_t total, free, written;
	double rate;	 /* bytes per second, over the last minute */
	double forecast; /* seconds until all are full; < 0: not known */
};

void fleet_space(const struct fleet *fleet, struct fleet_space *space);

/*
 * Returns the bytes per second that all disks together can write, by the best
 * that each has shown; 0 if one of them has written less than FLEET_SHOWN
 * bytes.
 */
#define FLEET_SHOWN (UINT64_C(1) << 30)
double fleet_speed(const struct fleet *fleet);

/* Returns the seconds until disk `i` is full, counting all disks that share its
 * space; < 0: nothing was written lately. */
double fleet_forecast(const struct fleet *fleet, unsigned i);

#endif
