/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_RECOVER_H
#define SPATE_STORE_RECOVER_H

#include <stdint.h>

#include "store/disk.h"

/*
 * Recover makes a recording whole that a crash left behind: it cuts torn
 * index tails, gives chunks that no index names a record made from their own
 * frames, cuts a chunk's torn last packet, and closes the indexes, so that
 * the recording reads as `complete`, and says what it did.  A recording that
 * is being written is refused (-EBUSY).  Run twice, it does nothing more.
 */
struct recover_report {
	unsigned indexed;  /* chunks that an index already named */
	unsigned rebuilt;  /* chunks that got their record back */
	unsigned empty;	   /* chunks without one whole packet: removed */
	unsigned unplaced; /* chunks whose substream nobody knows: left */
	unsigned lost;	   /* named by an index, but not there */
	uint64_t torn;	   /* bytes of torn index tails cut off */
	uint64_t cut;	   /* bytes of torn chunk tails cut off */
	uint64_t packets;  /* in the recording now */
	bool closed;	   /* end records were written */
};

/* 0 or -errno with a fault.  `say` (or NULL) hears each thing done. */
int recover(const struct disks *disks, const char *name,
	    struct recover_report *report,
	    void (*say)(void *arg, const char *sentence), void *arg,
	    struct fault *fault);

#endif
