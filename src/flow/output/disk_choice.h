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
 *                     DISK_SLOW times as long as on the others goes to the
 *                     bench: it gets a block only when no other disk is idle
 *                     and memory is not short, and is tried again every
 *                     DISK_RETRY
 *
 * A full disk gets a block too when it is its turn: it returns the block at
 * once and reports that it is full.
 *
 * Nothing here takes a lock or reads a clock: the queue does both.
 */
enum { DISK_SLOW = 4 };
#define DISK_RETRY (10 * NS_SECOND)

/* A disk's own figures, reported just before it asks for a block. */
struct disk_figures {
	/* Disks of one device share their space; 0: not known. */
	uint64_t device;
	uint64_t free; /* bytes above the reserve */
	/* Bytes per second over the last blocks; 0: not known. */
	double speed;
	/* The last block's bytes, and the ns that it took; took 0: no block was
	 * written since the last report. */
	uint64_t bytes;
	int64_t took;
	unsigned in_flight; /* blocks that the disk has and has not finished */
};

/* One disk, as the choice sees it.  Protected by the queue's lock. */
struct disk_choice {
	struct disk_figures figures;
	bool known;   /* false: no figures reported yet */
	double spent; /* its account: sum of bytes / free space */
	bool benched;
	int64_t retry;		  /* steady ns: end of its rest on the bench */
	struct disk_choice *next; /* linked in disk_choices::all */
};

struct disk_choices {
	struct disk_choice *all;
	/* Highest account that a block was given at; new disks start there. */
	double most_spent;
};

/* Add a disk to the choice, or remove it. */
void disk_choice_join(struct disk_choices *all, struct disk_choice *c);
void disk_choice_leave(struct disk_choices *all, struct disk_choice *c);

/* Takes a disk's new figures.  `now`: steady ns.  True if that put the disk on
 * the bench or took it from there. */
bool disk_choice_report(struct disk_choices *all, struct disk_choice *c,
			const struct disk_figures *figures, int64_t now);

/* The block that is to be given to a disk. */
struct disk_choice_block {
	uint64_t bytes;
	bool tight;  /* less than a quarter of the blocks is free */
	int64_t now; /* steady ns */
};

/* True if the disk may have this block, unless a better one wants it. */
bool disk_choice_fit(const struct disk_choices *all,
		     const struct disk_choice *c,
		     const struct disk_choice_block *b);

/* True if `a` is the better of two disks that may have the block; false for
 * equals. */
bool disk_choice_better(const struct disk_choice *a,
			const struct disk_choice *b,
			const struct disk_choice_block *block);

/* Charges the disk's account for a block that it gets. */
void disk_choice_serve(struct disk_choices *all, struct disk_choice *c,
		       const struct disk_choice_block *b);

#endif
