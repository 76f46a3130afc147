/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_ARENA_H
#define SPATE_FLOW_MEMORY_ARENA_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * An arena is all the memory that packets ever lie in, mapped when the daemon
 * starts, and a hard limit.  A stream that starts recording borrows the memory
 * of its block pool (block_pool.h) from it.
 *
 * Its first part is touched when it is made, and the rest behind by threads of
 * its own: the daemon is ready at once, however much memory it has, and what is
 * not touched yet is given to nobody.
 *
 * Each borrower has a right to a number of pieces.  What the arena has beyond
 * all rights is lent to whoever needs it, and asked back as soon as somebody
 * lacks what it has a right to.
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
	uint64_t lent;	   /* of these, beyond the rights of their borrowers */
	uint64_t ready;	   /* touched, so that they can be borrowed now */
	const char *pages; /* "hugetlb", "transparent" or "small" */
	bool locked;	   /* cannot be swapped out */
	bool shared;	   /* live readers can map it */
};

/* Bytes of memory that this process may have, with everything else that runs:
 * those of the machine, or what its control group is limited to. */
uint64_t arena_may_have(void);

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

/* Bytes at the beginning of the memory that are touched.  Valid as long. */
const _Atomic size_t *arena_ready(const struct arena *a);

/* Read-only descriptor of the memory (memfile.h), to give to live readers; the
 * arena owns it.  -1: this memory cannot be shared. */
int arena_fd(const struct arena *a);

/* A borrower has pieces of equal size.  It sets the fields before `has`, and
 * lives until it has returned everything. */
struct arena_borrower {
	struct arena *arena;
	char who[80];	/* for error texts */
	unsigned right; /* pieces that it may rely on */
	unsigned most;	/* pieces that it has room for */
	uint64_t piece; /* bytes of each, a multiple of the page size */
	unsigned least; /* pieces that would do, for error texts */
	/* Takes in a piece, under the arena's lock. */
	void (*take)(struct arena_borrower *b, uint8_t *at);

	/* Guarded by the arena. */
	unsigned has;		     /* pieces */
	bool waits;		     /* arena_fill() may leave it with less than
				      * its right for long */
	bool leaves;		     /* it has no right any more */
	bool joined;		     /* it is in arena::borrowers */
	struct arena_borrower *next; /* arena::borrowers */
};

/*
 * Borrows the pieces that it has a right to.  Returns 0; or -ENOMEM with
 * nothing borrowed, and a fault (NULL: not wanted) that says how much is
 * needed, how much is free, who has the rest, and what would work.  With 0 some
 * pieces may be missing, because they are lent or not touched yet; arena_fill()
 * gets them.
 */
int arena_borrow(struct arena_borrower *b, struct fault *fault);

/* Gets what is there of the pieces that a borrower lacks, also of one that has
 * none yet because others have them.  Returns 0: it has its right; -ENOMEM: it
 * lacks some, and what is lent is asked back. */
int arena_fill(struct arena_borrower *b);

/* Lends one piece beyond the right.  False: nothing is left beyond all
 * rights. */
bool arena_grow(struct arena_borrower *b);

/* True if a borrower lacks what it has a right to: who has more than its right
 * should return it.  Costs no lock. */
bool arena_asks_back(const struct arena *a);

/* A number that changes whenever there is more to borrow than before.  Costs no
 * lock. */
unsigned arena_changes(const struct arena *a);

/* Checks that an arena that is empty could lend that much.  Returns 0, or
 * -ENOMEM with a fault. */
int arena_could_lend(const struct arena_borrower *b, struct fault *fault);

/* Gives up the right: the borrower keeps what it has until it returns it. */
void arena_leave(struct arena_borrower *b);

/* Returns one piece, or all pieces that the borrower has. */
void arena_return_piece(struct arena_borrower *b, const uint8_t *at);
void arena_return(struct arena_borrower *b);

/* Makes a lock that a receiver may wait for.  A receiver that has a real-time
 * priority lends it to the thread that has the lock, which may be one that
 * touches memory at the lowest. */
void memory_lock_make(pthread_mutex_t *lock);

#endif
