/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_CHOICE_H
#define SPATE_FLOW_OUTPUT_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which disk gets the next block.  Each disk has an account of what it was
 * given, in parts of the space that it has left, and the one that is behind
 * is next:
 *
 *   equal disks       take turns
 *   mixed sizes       get blocks in proportion to their free space, so that
 *                     they end full together
 *   one file system   folders on it share its space, each an equal part
 *   a slow disk       one whose block took more than CHOICE_SLOW times as
 *                     long as it does on the others, and a second, goes to
 *                     the bench: it gets a block only when no other disk is
 *                     idle and memory is not short, and is tried again every
 *                     CHOICE_RETRY
 *
 * One that is full gets its block too when it is its turn: it gives it back
 * at once, and says so.
 *
 * No lock, no clock: the queue has both.
 */
enum { CHOICE_SLOW = 4 };
#define CHOICE_RETRY INT64_C(10000000000)

/* What a disk tells of itself before it asks for a block. */
struct choice_rank {
	uint64_t device; /* those with the same share their space; 0: none */
	uint64_t free;	 /* bytes above the reserve */
	double speed;	 /* bytes per second, of late; 0: not known */
	uint64_t bytes;	 /* of the last block, and how long it took, in ns; */
	int64_t took;	 /* 0: none since the last time */
	unsigned flight; /* blocks that it has */
};

/* A disk. */
struct choice {
	struct choice_rank rank;
	bool known;  /* it told its rank */
	double pass; /* its account */
	bool benched;
	int64_t retry;	     /* when it is tried again; steady */
	struct choice *next; /* choices::all */
};

struct choices {
	struct choice *all;
	double now; /* the account of who was served last */
};

void choice_join(struct choices *all, struct choice *c);
void choice_leave(struct choices *all, struct choice *c);

/* True when that put it on the bench, or took it from there. */
bool choice_rank(struct choices *all, struct choice *c,
		 const struct choice_rank *rank, int64_t now);

/* A block that waits to be given to somebody. */
struct choice_block {
	uint64_t bytes;
	bool tight; /* memory is short */
	int64_t now;
};

/* May it have this block, if nobody better wants it? */
bool choice_fit(const struct choices *all, const struct choice *c,
		const struct choice_block *b);

/* Both may: is `a` the better one?  False of equals. */
bool choice_better(const struct choice *a, const struct choice *b,
		   const struct choice_block *block);

/* It got the block. */
void choice_serve(struct choices *all, struct choice *c,
		  const struct choice_block *b);

#endif
