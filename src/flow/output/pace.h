/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_PACE_H
#define SPATE_FLOW_OUTPUT_PACE_H

#include <stdint.h>

/*
 * How fast a disk is of late, by what its blocks took.  The writer's thread.
 */
enum { PACE_BLOCKS = 128 }; /* that the percentile is of */

struct pace {
	double speed;	/* bytes per second; 0: not known */
	uint64_t bytes; /* of the last block, */
	int64_t took;	/* and how long, in ns */
	int64_t recent[PACE_BLOCKS];
	unsigned n; /* of blocks, ever */
};

/* `behind`: since the block before it was written, where that was on its way
 * when this one was taken: the disk had both. */
void pace_add(struct pace *pace, uint64_t bytes, int64_t took, int64_t behind);

/* What 99 of 100 of the last blocks took at most; 0: there were none. */
int64_t pace_p99(const struct pace *pace);

#endif
