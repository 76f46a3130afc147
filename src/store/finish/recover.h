/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_FINISH_RECOVER_H
#define SPATE_STORE_FINISH_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "store/disk/disk.h"

/*
 * Recover repairs a recording after a crash, until it reads as `complete`, and
 * says what it did.  It cuts torn index tails; gives chunks that no index names
 * the record that was noted when they were written, or one made from their own
 * frames; cuts the torn last packet of a chunk; and ends the indexes.  If two disks have a chunk of the same number, the
 * better one stays and the other is renamed.
 *
 * A recording that is being written is refused (-EBUSY).  A second run changes
 * nothing.  A recording of another program gets our index and metadata; its own
 * files stay as they are, except that a second chunk of a number is renamed.
 */
struct recover_report {
	unsigned indexed;  /* chunks that an index already named */
	unsigned rebuilt;  /* chunks that got their record back */
	unsigned empty;	   /* chunks without one whole packet: removed, or
			      renamed if they have data */
	unsigned unplaced; /* chunks of unknown substream: left alone */
	unsigned lost;	   /* named by an index, but missing */
	unsigned aside;	   /* second chunks of a number: renamed */
	unsigned failed;   /* chunks that could not be written again: no index
			      names them, and their parity gives them */
	uint64_t torn;	   /* bytes of torn index and checksum tails cut off */
	uint64_t cut;	   /* bytes of torn chunk tails cut off */
	uint64_t packets;  /* packets in the recording now */
	unsigned parity;   /* parity blocks listed again, or set aside, or whose
			      tail was mended */
	bool closed;	   /* end records were written */
	bool renamed;	   /* something is called .aside now */
	/* disks of the recording that are away, and chunks that parity gives of
	 * theirs, which `packets` does not count */
	unsigned disks_away, computed;
};

struct recover_args {
	bool dry_run; /* write nothing, but report as if it were written */
	/* With dry_run: read no chunk, and count every chunk in no index as
	 * rebuilt; skip other programs' recordings. */
	bool look;
	/* Called for each thing done, and with the bytes looked through so far.
	 * Either may be NULL. */
	void (*say)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t done, uint64_t of);
	void *arg;
};

/*
 * True if recover would change this recording.  It reads everything that
 * recover reads, and writes nothing.  False if the recording is being written.
 */
bool recover_helps(const struct disks *disks, const char *name);

/*
 * True if an index has no end, is torn or missing, or if a chunk is in no
 * index; also if no disk has readable metadata.  It only reads indexes and
 * lists folders.  False if the recording is being written, is another
 * program's, or cannot be read.
 */
bool recover_needed(const struct disks *disks, const char *name);

/* Repairs a recording.  `args` may be NULL.  Returns 0 or -errno with a fault;
 * -EBUSY while it is being written on any disk. */
int recover(const struct disks *disks, const char *name,
	    const struct recover_args *args, struct recover_report *report,
	    struct fault *fault);

#endif
