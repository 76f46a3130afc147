/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_SOURCE_SOURCE_LIVE_H
#define SPATE_FLOW_SOURCE_SOURCE_LIVE_H

#include <stdint.h>

#include "base/fault.h"
#include "flow/output/output.h"
#include "flow/memory/pool.h"
#include "flow/source/source.h"

/*
 * A recording that is being made here, from its first block to its last: each
 * from memory where the tap (tap.h) has it, else from disk.  A transfer that
 * lags, or came late, reads from disk until it has caught up, and then from
 * memory again.  What was given from memory and is not yet durable may be
 * lost by the recorder after all; what the recorder lost before it was given
 * is a parcel with -ENODATA.
 *
 * It ends when the output has ended (output_end) and everything was given.
 */
struct source_live_args {
	struct output *output; /* held as long as the source is there */
	struct stock *stock;   /* of its blocks; needed for the call alone */
	struct source *disk;   /* reads the same recording from disks, and
				  knows source_ops::settled (source_disk.h,
				  with `follow`).  Taken over, also on an
				  error */
	int64_t start_ns;      /* of the recording, UTC */
	int sub;	       /* this substream alone; -1: all */
};

/* Touches no disk.  0, or -errno with a fault. */
int source_live_make(struct source **source,
		     const struct source_live_args *args, struct fault *fault);

#endif
