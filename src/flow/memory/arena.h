/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_ARENA_H
#define SPATE_FLOW_MEMORY_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * An arena is all the memory that packets ever lie in, allocated and touched
 * when the daemon starts, and a hard limit.  A stream that starts recording
 * borrows the memory of its block pool (block_pool.h) from it.
 *
 * Any thread may call; each function takes the arena's lock.
 */
struct arena;

/* Wishes for an arena.  A wish that the system refuses is one line of the log,
 * not an error. */
struct arena_wishes {
	int node;   /* preferred NUMA node; -1: any */
	bool share; /* back it by a memfd, so that live readers can map it, even
		       without reserved huge pages */
};

struct arena_facts {
	uint64_t bytes; /* that can be borrowed at most */
	uint64_t borrowed;
	const char *pages; /* "hugetlb", "transparent" or "small" */
	bool locked;	   /* cannot be swapped out */
	bool shared;	   /* live readers can map it */
};

/* Checks that the machine has that much memory.  Returns 0, or -ENOMEM with a
 * fault. */
int arena_fits(uint64_t bytes, struct fault *fault);

/* Makes an arena; `wishes` NULL: none.  Returns 0, or -errno with a fault.
 * Logs one line about the memory. */
int arena_make(struct arena **arena, uint64_t bytes,
	       const struct arena_wishes *wishes, struct fault *fault);
void arena_free(struct arena *a); /* everything was returned */
struct arena_facts arena_facts(struct arena *a);

/* The address and size of the memory; valid until arena_free. */
const void *arena_memory(const struct arena *a, uint64_t *bytes);

/* Read-only descriptor of the memory (memfile.h), to give to live readers; the
 * arena owns it.  -1: this memory cannot be shared. */
int arena_fd(const struct arena *a);

/* A borrower has pieces of equal size.  It sets all but `next`, which the arena
 * does, and lives until it has returned everything. */
struct arena_borrower {
	struct arena *arena;
	char who[80]; /* for error texts */
	unsigned pieces;
	uint64_t piece; /* bytes of each, a multiple of the page size */
	uint64_t bytes; /* of all that it has, or wants; guarded by the arena */
	unsigned least; /* pieces that would do, for error texts */
	/* Takes in the address of piece i. */
	void (*place)(struct arena_borrower *b, unsigned i, uint8_t *at);
	struct arena_borrower *next; /* arena::borrowers */
};

/* Borrows all pieces.  Returns 0, or -ENOMEM with nothing borrowed, and a fault
 * (NULL: not wanted) that says how much is needed, how much is free, who has
 * the rest, and what would work. */
int arena_borrow(struct arena_borrower *b, struct fault *fault);

/* Checks that an arena that is empty could lend that much.  Returns 0, or
 * -ENOMEM with a fault. */
int arena_could_lend(const struct arena_borrower *b, struct fault *fault);

/* Returns one piece, or all pieces that the borrower has. */
void arena_return_piece(struct arena_borrower *b, const uint8_t *at);
void arena_return(struct arena_borrower *b);

#endif
