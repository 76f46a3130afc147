/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_DISK_SPEED_H
#define SPATE_FLOW_WRITE_DISK_SPEED_H

#include <stdint.h>

/* A pace is a disk's recent speed, computed from the time that its blocks took.
 * Only the writer's thread uses it. */
enum { PACE_BLOCKS = 128 }; /* blocks that the percentile is taken over */

struct pace {
	double speed;	/* bytes per second; 0: not known */
	uint64_t bytes; /* of the last block */
	int64_t took;	/* ns that the last block took */
	int64_t recent[PACE_BLOCKS];
	/* Blocks added, set back before 2 * PACE_BLOCKS is reached; the next
	 * one goes to recent[n % PACE_BLOCKS]. */
	unsigned n;
};

/* Adds a written block that took `took` ns.  `behind`: ns since the block
 * before it was written if the disk had both at once, else equal to `took`; the
 * speed follows from that. */
void pace_add(struct pace *pace, uint64_t bytes, int64_t took, int64_t behind);

/* Returns the ns within which 99 of 100 of the last PACE_BLOCKS blocks were
 * written; 0: there were none. */
int64_t pace_p99(const struct pace *pace);

#endif
