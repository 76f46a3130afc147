/* SPDX-License-Identifier: MIT */
#ifndef SPATE_DAEMON_DISKS_FLEET_H
#define SPATE_DAEMON_DISKS_FLEET_H

#include <stdbool.h>

#include "base/fault.h"
#include "daemon/disks/scout.h"
#include "flow/write/writer.h"
#include "store/disk/disk.h"

/*
 * The fleet is all disks, each with its writer.  A disk is known by its
 * number, which stays its path's own for as long as the daemon runs, so that
 * what a recording has on it can be counted under that number: there is room
 * for FLEET_MOST from the beginning.  The event loop's thread.
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

struct fleet_args {
	struct queue *queue;
	const struct writer_way *way;
	unsigned ways;
	const void *arena; /* what blocks lie in, or NULL */
	uint64_t arena_bytes;
	unsigned files;	  /* chunks that all may have open together */
	uint64_t reserve; /* as the configuration says; 0: the usual */
	const struct option_texts *patterns;
	void (*changed)(void *arg); /* as writer_args has it */
	void *arg;
};

struct fleet_disk {
	struct disk disk;
	struct writer *writer; /* NULL: it was dropped */
	bool leaving;
	bool there;    /* as the scout saw it */
	bool by_hand;  /* nothing but an order brings it back */
	bool unwanted; /* leaves as soon as others take what is recorded */

	/* Bytes written, second by second. */
	uint64_t written[FLEET_MINUTE + 1];
	double rate, minute; /* bytes per second, of the last one and minute */
	double fastest;	     /* that it ever was; 0: not known */
};

struct fleet {
	struct fleet_args a;
	struct fleet_disk disk[FLEET_MOST];
	unsigned n;
	unsigned files; /* of each */
	struct scout *scout;
	int64_t probe_at, probe_gap; /* while nobody takes blocks; steady, ns */
	int64_t sampled[FLEET_MINUTE + 1]; /* when; steady */
	unsigned samples;
};

/* Starts a writer for each of these, and closes them.  0 or -errno;
 * fleet_stop in either case. */
int fleet_start(struct fleet *fleet, struct disks *disks,
		const struct fleet_args *args);

/* After every output has ended, and the queue was drained.  False: there are
 * disks that do not answer; their threads use the queue, the pool and what
 * the writers were started with for as long as the process lives. */
bool fleet_stop(struct fleet *fleet);

/* How many take part. */
unsigned fleet_writers(const struct fleet *fleet);

/* Of number `i`; NULL: it was dropped, or is about to leave. */
struct writer *fleet_writer(const struct fleet *fleet, unsigned i);
const char *fleet_path(const struct fleet *fleet, unsigned i);

/* ---- fleet_watch.c: disks that do not answer -------------------------- */

/* Looks at all of them; done by fleet_step. */
void fleet_watch(struct fleet *fleet, int64_t now);

/* How many take blocks, and answer.  Without any, blocks wait in memory. */
unsigned fleet_takers(const struct fleet *fleet);

/* Is one being let go of, which answers?  It does its last rounds by itself. */
bool fleet_leaves(const struct fleet *fleet);

/* A copy of those that are there and answer, none of them open, for another
 * thread.  0 or -ENOMEM, and then the caller clears it as well. */
int fleet_disks(const struct fleet *fleet, struct disks *disks);

/* Is there one at least that works, or may answer again? */
bool fleet_works(const struct fleet *fleet);

/* None does, and this output is to end: what waits for them is lost. */
void fleet_abandon(struct fleet *fleet, struct output *output);

/* -1: there is none. */
int fleet_find(const struct fleet *fleet, const char *path);

/* Moves on what is on its way; whenever the event loop is woken. */
void fleet_step(struct fleet *fleet, int64_t now);

/* ---- fleet_order.c --------------------------------------------------- */

/*
 * A disk, by hand: it takes blocks as soon as its writer has tried it.  With
 * `force` also a folder of the system's own file system.  Its number; or
 * -errno with a fault.
 */
int fleet_add(struct fleet *fleet, const char *path, bool force,
	      struct fault *fault);

/*
 * Takes it away: done when its writer is NULL.  `recording`: then the last
 * one that takes blocks has to stay.  Its number; or -errno with a fault.
 */
int fleet_drop(struct fleet *fleet, const char *path, bool recording,
	       struct fault *fault);

/* Is it one that the configuration will find when the daemon starts again? */
bool fleet_configured(const struct fleet *fleet, const char *path);

/*
 * The configuration has other patterns now, at the place where it had the
 * others: what they find joins by itself, and what they do not find any more
 * leaves, but for what was added by hand.  0 or -ENOMEM.
 */
int fleet_patterns(struct fleet *fleet);

/* Lets go of what is unwanted, where it may; whenever the loop turns. */
void fleet_tidy(struct fleet *fleet, bool recording);

/* Of each disk, from the next time that it is opened on. */
void fleet_reserve(struct fleet *fleet, uint64_t reserve);

/* For fleet.c and fleet_order.c: starts the writer of number `i`, or of a new
 * one (fleet->n).  0 or -errno. */
int fleet_enlist(struct fleet *fleet, unsigned i, const struct disk *disk);

/* ---- fleet_space.c --------------------------------------------------- */

/* Of all disks together; what several share is counted once. */
struct fleet_space {
	unsigned disks;	  /* that take part */
	unsigned untried; /* of these: it is not known yet what is free */
	uint64_t total, free, written;
	double rate;	 /* bytes per second, of the last minute */
	double forecast; /* seconds until all are full; < 0: not known */
};

void fleet_space(const struct fleet *fleet, struct fleet_space *space);

/*
 * Bytes per second that all of them take, by the best that each has shown;
 * 0: one of them has not written enough (FLEET_SHOWN) to tell.
 */
#define FLEET_SHOWN (UINT64_C(1) << 30)
double fleet_speed(const struct fleet *fleet);

/* Seconds until this one is full, with all who share its space; < 0: nothing
 * was written of late. */
double fleet_forecast(const struct fleet *fleet, unsigned i);

#endif
