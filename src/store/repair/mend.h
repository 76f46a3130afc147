/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_MEND_H
#define SPATE_STORE_REPAIR_MEND_H

#include <stdbool.h>
#include <stdint.h>

#include "store/disk/disk.h"

/*
 * Mends by parity the data of a recording that its disks do not give.
 *
 *   scrub    reads all of it back, a thread for each disk, behind everybody
 *            else's I/O; a chunk or parity block whose checksum is wrong, that
 *            cannot be read or is away is computed and written to its place
 *   rebuild  writes the chunks of disks that are away to the others, also to new
 *            ones that are mounted, and parity for all chunks that have none any
 *            more
 *
 * Either may be interrupted and run again: what is done is done.  A file appears
 * under its name when it is durable, and new parity is written and listed before
 * the old one goes.
 *
 * Both hold a lock on the recording's folders, so only one of them works on it at
 * a time; readers go on.  One that is being written is refused (-EBUSY), and so
 * are one that has no end and another program's (-EINVAL).  Chunks in a file that
 * all blocks of a disk share are mended, and not rebuilt.
 */
struct mend_report {
	uint64_t bytes;	 /* read back, by scrub */
	unsigned chunks; /* mended, or put elsewhere */
	unsigned parity; /* parity blocks mended, listed or made */
	unsigned lost;	 /* chunks that nothing gives */
	unsigned
	    failed;	/* chunks and parity blocks that could not be written */
	unsigned left;	/* chunks that are still without parity */
	unsigned away;	/* chunks that were on disks that are away, at first */
	unsigned given; /* of these, those that parity gives */
	bool renamed;	/* something is called .aside now */
	bool few;	/* disks: parity of the others has no place */
};

struct mend_args {
	bool dry_run; /* write nothing */
	/* A disk that is to be emptied and is not among `disks`, as a source for
	 * rebuild; NULL: none. */
	const char *from;
	/* Called for each thing done, and with bytes read or written so far.
	 * Either may be NULL. */
	void (*say)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

/* 0, or -errno with a fault.  What is lost or failed is no error. */
int scrub(const struct disks *disks, const char *name,
	  const struct mend_args *args, struct mend_report *report,
	  struct fault *fault);
int rebuild(const struct disks *disks, const char *name,
	    const struct mend_args *args, struct mend_report *report,
	    struct fault *fault);

#endif
