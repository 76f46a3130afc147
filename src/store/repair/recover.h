/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_REPAIR_RECOVER_H
#define SPATE_STORE_REPAIR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/disk/disk.h"

/*
 * Recover makes a recording whole that a crash left behind: it cuts torn
 * index tails, gives chunks that no index names a record made from their own
 * frames, cuts a chunk's torn last packet, and closes the indexes, so that
 * the recording reads as `complete`, and says what it did.  Of two chunks of
 * a number the better one stays, and the other gets another name.  A recording
 * that is being written is refused (-EBUSY).  Run twice, it does nothing more.
 *
 * One that another program made gets indexes and metadata of ours; its own
 * files stay as they are.
 */
struct recover_report {
	unsigned indexed;  /* chunks that an index already named */
	unsigned rebuilt;  /* chunks that got their record back */
	unsigned empty;	   /* chunks without one whole packet: removed */
	unsigned unplaced; /* chunks whose substream nobody knows: left */
	unsigned lost;	   /* named by an index, but not there */
	unsigned aside;	   /* second chunks of a number: renamed */
	uint64_t torn;	   /* bytes of torn index tails cut off */
	uint64_t cut;	   /* bytes of torn chunk tails cut off */
	uint64_t packets;  /* in the recording now */
	bool closed;	   /* end records were written */
};

struct recover_args {
	bool dry_run; /* nothing is written, and all is told as if it were */
	/* In a dry run: no chunk is read, and each that is in no index counts
	 * as rebuilt; other programs' recordings are passed over. */
	bool look;
	/* Each thing done, and how far the bytes are looked through; or NULL. */
	void (*say)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

/* Would it do anything to this one?  Looks, and writes nothing; of one that
 * is being written, false. */
bool recover_helps(const struct disks *disks, const char *name);

/* Has it an index without an end, torn or missing, or a chunk in no index?
 * Reads indexes and lists folders, and takes no lock.  False of one that is
 * being written, of another program's, and of one that cannot be looked at; but
 * true of one that has no readable metadata. */
bool recover_needed(const struct disks *disks, const char *name);

/* 0 or -errno with a fault; -EBUSY while it is written, on whichever disk. */
int recover(const struct disks *disks, const char *name,
	    const struct recover_args *args, struct recover_report *report,
	    struct fault *fault);

#endif
