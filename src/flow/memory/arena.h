/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_ARENA_H
#define SPATE_FLOW_MEMORY_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/memory/memfile.h"

/* An arena is the memory of a pool: in one piece, touched, and of the largest
 * pages that are to be had. */
struct arena {
	uint8_t *at;
	uint64_t bytes;
	const char *pages;   /* "hugetlb", "transparent" or "small" */
	bool locked;	     /* cannot be swapped out */
	struct memfile file; /* of what it is, where others can be given it:
				then its descriptor is not -1 */
};

/* How it is to be; what cannot be had is one line of the log. */
struct arena_way {
	int node;   /* NUMA node where there is room; -1: on any */
	bool share; /* others can be given it even if there are no reserved
		       huge pages */
};

/* `bytes` is a multiple of ARENA_PAGE.  0 or -errno, and nothing is left; logs
 * one line on what it got. */
enum { ARENA_PAGE = 2 << 20 };
int arena_make(struct arena *a, uint64_t bytes, const struct arena_way *way);
void arena_free(struct arena *a);

#endif
