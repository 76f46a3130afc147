/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_DISK_CHOICE_H
#define SPATE_FLOW_OUTPUT_DISK_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/*
 * The choice decides which disk gets the next block.  Each disk has an account
 * of the blocks it was given, each counted as its part of the space that the
 * disk had left, and the disk that has spent least is next:
 *
 *   equal disks       take turns
 *   mixed sizes       get blocks in proportion to their free space, so that
 *                     they end full together
 *   one file system   folders on it share its space, each an equal part
 *   a slow disk       a disk whose block took over a second and more than
 *                     CHOICE_SLOW times as long as on the others goes to the
 *                     bench: it gets a block only when no other disk is idle
 *                     and memory is not short, and is tried again every
 *                     CHOICE_RETRY
 *
 * A full disk gets a block too when it is its turn: it returns the block at
 * once and reports that it is full.
 *
 * Nothing here takes a lock or reads a clock: the queue does both.
 */
enum { CHOICE_SLOW = 4 };
#define CHOICE_RETRY (10 * NS_SECOND)

/* A disk's own figures, reported just before it asks for a block. */
struct choice_rank {
	/* Disks of one device share their space; 0: not known. */
	uint64_t device;
	uint64_t free; /* bytes above the reserve */
	/* Bytes per second over the last blocks; 0: not known. */
	double speed;
	/* The last block's bytes, and the ns that it took; took 0: no block was
	 * written since the last report. */
	uint64_t bytes;
	int64_t took;
	unsigned flight; /* blocks that the disk has and has not finished */
};

/* One disk, as the choice sees it.  Protected by the queue's lock. */
struct choice {
	struct choice_rank rank;
	bool known;  /* false: no figures reported yet */
	double pass; /* its account: sum of bytes / free space */
	bool benched;
	int64_t retry;	     /* steady ns: end of its rest on the bench */
	struct choice *next; /* linked in choices::all */
};

struct choices {
	struct choice *all;
	/* Highest account that a block was given at; new disks start there. */
	double now;
};

/* Add a disk to the choice, or remove it. */
void choice_join(struct choices *all, struct choice *c);
void choice_leave(struct choices *all, struct choice *c);

/* Takes a disk's new figures.  `now`: steady ns.  True if that put the disk on
 * the bench or took it from there. */
bool choice_rank(struct choices *all, struct choice *c,
		 const struct choice_rank *rank, int64_t now);

/* The block that is to be given to a disk. */
struct choice_block {
	uint64_t bytes;
	bool tight;  /* less than a quarter of the blocks is free */
	int64_t now; /* steady ns */
};

/* True if the disk may have this block, unless a better one wants it. */
bool choice_fit(const struct choices *all, const struct choice *c,
		const struct choice_block *b);

/* True if `a` is the better of two disks that may have the block; false for
 * equals. */
bool choice_better(const struct choice *a, const struct choice *b,
		   const struct choice_block *block);

/* Charges the disk's account for a block that it gets. */
void choice_serve(struct choices *all, struct choice *c,
		  const struct choice_block *b);

#endif
