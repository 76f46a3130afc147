/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_LIVE_H
#define SPATE_FLOW_SOURCE_SOURCE_LIVE_H

#include <stdint.h>

#include "base/fault.h"
#include "flow/output/output.h"
#include "flow/memory/block_pool.h"
#include "flow/source/source.h"

/*
 * A source that gives a recording while this daemon makes it, from its first
 * block to its last: each block from memory where the tap (tap.h) has it, else
 * from disk.  A transfer that lags or starts late reads from disk until it has
 * caught up, and then from memory.  A block given from memory before it is
 * durable may still be lost by the recorder; a block that was lost before it
 * was given is a parcel with -ENODATA.
 *
 * It ends when the output has ended (output_end) and everything was given.
 */
struct source_live_args {
	struct output *output; /* held as long as the source exists */
	/* Pool of its blocks; used during the call only. */
	struct block_pool *pool;
	/* Reads the same recording from disks, and has source_ops::settled
	 * (source_disk.h, with `follow`).  Taken over, also on an error. */
	struct source *disk;
	int64_t start_ns; /* of the recording, UTC ns */
	int sub;	  /* only this substream; -1: all */
};

/* Makes the source without touching a disk.  0, or -errno with a fault. */
int source_live_make(struct source **source,
		     const struct source_live_args *args, struct fault *fault);

#endif
