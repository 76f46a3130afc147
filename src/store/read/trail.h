/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_READ_TRAIL_H
#define SPATE_STORE_READ_TRAIL_H

#include <stdint.h>

/*
 * Trails tell who reads on from who jumps, by the requests alone: those of one
 * file, from any number of threads.
 *
 * A trail is a stretch of the file that requests fill, without leaving much of
 * it out; they may overtake each other.  A file has some of them, because a
 * program may read at several places in turn.
 */
enum { TRAILS = 4, TRAIL_SLACK = 4 << 20, TRAIL_MEMORY = 256 << 20 };

struct trail {
	uint64_t low, high;	   /* where requests began and ended, at most */
	uint64_t got;		   /* bytes that were asked for in between */
	unsigned requests, onward; /* of these, what went beyond all before */
	uint64_t used;
};

struct trails {
	struct trail trail[TRAILS];
	uint64_t turn;
};

/* Which one a request belongs to; another was forgotten for it, maybe. */
unsigned trails_step(struct trails *t, uint64_t offset, uint64_t bytes);

/* How many bytes are to be read ahead on it: 0 as long as it is no more than
 * some jumps. */
uint64_t trail_ahead(const struct trail *t);

#endif
