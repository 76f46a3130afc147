/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_ARENA_H
#define SPATE_FLOW_MEMORY_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/memory/memfile.h"

/* An arena is the memory of a pool: one mapping, touched when it is made, in
 * the largest pages that the system gives. */
struct arena {
	uint8_t *at;
	uint64_t bytes;
	const char *pages;   /* "hugetlb", "transparent" or "small" */
	bool locked;	     /* cannot be swapped out */
	struct memfile file; /* the memfd behind it; file.fd is -1 where the
				arena cannot be shared */
};

/* Wishes for an arena.  A wish that the system refuses is one line of the log,
 * not an error. */
struct arena_way {
	int node;   /* preferred NUMA node; -1: any */
	bool share; /* back it by a memfd, so that live readers can map it, even
		       without reserved huge pages */
};

/* Makes an arena of `bytes`, a multiple of ARENA_PAGE, and logs one line about
 * it.  Returns 0, or -errno with nothing allocated. */
enum { ARENA_PAGE = 2 << 20 };
int arena_make(struct arena *a, uint64_t bytes, const struct arena_way *way);
void arena_free(struct arena *a);

#endif
