/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_DISK_SPEED_H
#define SPATE_FLOW_WRITE_DISK_SPEED_H

#include <stdint.h>

/* The recent speed of a disk, computed from the time that its blocks took.
 * Only the writer's thread uses it. */
enum { DISK_SPEED_BLOCKS = 128 }; /* blocks that the percentile is taken over */

struct disk_speed {
	double speed;	/* bytes per second; 0: not known */
	uint64_t bytes; /* of the last block */
	int64_t took;	/* ns that the last block took */
	int64_t recent[DISK_SPEED_BLOCKS];
	/* Blocks added, set back before 2 * DISK_SPEED_BLOCKS is reached; the next
	 * one goes to recent[n % DISK_SPEED_BLOCKS]. */
	unsigned n;
};

/* Adds a written block that took `took` ns.  `behind`: ns since the block
 * before it was written if the disk had both at once, else equal to `took`; the
 * speed follows from that. */
void disk_speed_add(struct disk_speed *speed, uint64_t bytes, int64_t took,
		    int64_t behind);

/* Returns the ns within which 99 of 100 of the last DISK_SPEED_BLOCKS blocks were
 * written; 0: there were none. */
int64_t disk_speed_p99(const struct disk_speed *speed);

#endif
