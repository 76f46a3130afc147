/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READAHEAD_H
#define SPATE_STORE_READ_READAHEAD_H

#include <stdint.h>

/*
 * Readahead of one open file: tells sequential readers from random ones, by
 * the requests alone, whichever threads they come from.  A stretch is a part of
 * the file that requests fill almost completely, in roughly ascending order.  A
 * file has several, because a program may read at several places in turn.
 */
enum {
	READAHEAD_STRETCHES = 4,
	READAHEAD_SLACK = 4 << 20,
	READAHEAD_MEMORY = 256 << 20
};

struct readahead_stretch {
	uint64_t low, high;	   /* beginning and end of the stretch */
	uint64_t got;		   /* bytes requested in it */
	unsigned requests, onward; /* requests in it; those that went beyond
				      all before */
	uint64_t used;
};

struct readahead {
	struct readahead_stretch stretch[READAHEAD_STRETCHES];
	uint64_t turn;
};

/* Returns the stretch that a request belongs to.  A new one replaces the one
 * used longest ago. */
unsigned readahead_step(struct readahead *t, uint64_t offset, uint64_t bytes);

/* Returns how many bytes to read ahead of a stretch; 0 while it may be only
 * some jumps. */
uint64_t readahead_bytes(const struct readahead_stretch *t);

#endif
