/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_READAHEAD_H
#define SPATE_STORE_READ_READAHEAD_H

#include <stdint.h>

/*
 * Trails tell sequential readers from random ones, by the requests of one file
 * alone, whichever threads they come from.  A trail is a stretch of the file
 * that requests fill almost completely, in roughly ascending order.  A file has
 * several, because a program may read at several places in turn.
 */
enum { TRAILS = 4, TRAIL_SLACK = 4 << 20, TRAIL_MEMORY = 256 << 20 };

struct trail {
	uint64_t low, high;	   /* beginning and end of the stretch */
	uint64_t got;		   /* bytes requested in it */
	unsigned requests, onward; /* requests in it; those that went beyond
				      all before */
	uint64_t used;
};

struct trails {
	struct trail trail[TRAILS];
	uint64_t turn;
};

/* Returns the trail that a request belongs to.  A new trail replaces the one
 * used longest ago. */
unsigned trails_step(struct trails *t, uint64_t offset, uint64_t bytes);

/* Returns how many bytes to read ahead on a trail; 0 while it may be only some
 * jumps. */
uint64_t trail_ahead(const struct trail *t);

#endif
