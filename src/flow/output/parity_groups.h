/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_PARITY_GROUPS_H
#define SPATE_FLOW_OUTPUT_PARITY_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "store/record/index.h"

/*
 * The parity groups of a recording that is being written.  Placement stays
 * free: a disk takes what it can take, and a group is made of what the disks
 * took.
 *
 *   writer of disk 0 takes block 12 --.
 *   writer of disk 2 takes block 13 ---+--> open group 12 holds them
 *   writer of disk 1 takes block 14 --'         | it ends: they are encoded
 *                                               v
 *                       parity blocks of group 12 --> put() --> other disks
 *
 * A group ends when as many disks are left as it has parity blocks, when it is
 * as old as it may be, and at the end of the recording.  Each disk has one
 * block of a group at most.  Members are held in memory until the group ends,
 * or until their pool needs them; then what the group holds is folded into its
 * parity blocks.  Nobody waits for a group.
 *
 * Writers call, except where noted.
 */
struct parity_groups;
struct block_pool;

struct parity_groups_args {
	unsigned rows;		 /* parity blocks of a group */
	struct block_pool *pool; /* of parity blocks, borrowed until
				  * parity_groups_end() is true */
	int64_t age;		 /* ns that a group may stay open */
	/* How many disks take blocks now, without slow ones, and which. */
	unsigned (*disks)(void *arg, struct block_bars *disks);
	/* Takes over the SEALED parity blocks of a group, whose
	 * block::parity is set. */
	void (*put)(void *arg, struct block *const *b, unsigned n);
	/* No group is left, behind parity_groups_end(). */
	void (*ended)(void *arg);
	void *arg;
};

/* Bytes behind the data of a parity block that its tail may take. */
uint32_t parity_groups_extra(void);

/* 0 or -ENOMEM. */
int parity_groups_make(struct parity_groups **groups,
		       const struct parity_groups_args *args);
/* Nobody else calls any more.  NULL is allowed. */
void parity_groups_free(struct parity_groups *g);

/*
 * Adds a SEALED block with data, which the caller holds and which disk number
 * `disk` begins to write, and its lines of metadata (`lines`, each with its
 * newline; NULL: there are none).  A block that is in a group already, because
 * another disk gave it back, only keeps the group's parity away from this disk
 * as well.
 */
void parity_groups_add(struct parity_groups *g, struct block *b,
		       const struct index_record *r, const char *lines,
		       unsigned disk);

/* Frees what is held and written where blocks are few, and lets groups go on
 * that waited for a parity block.  After a block was written; costs nothing
 * else. */
void parity_groups_relieve(struct parity_groups *g);

/* Ends groups that are as old as they may be by `now`, steady ns, or all if
 * parity_groups_end() was called, and relieves. */
void parity_groups_look(struct parity_groups *g, int64_t now);

/* Says that the end has come: blocks that are added later are in no group, and
 * the next parity_groups_look() ends those that there are.  True: none is left,
 * and all their parity blocks were put.  The event loop, when all blocks are
 * written. */
bool parity_groups_end(struct parity_groups *g);

/* Gives up all groups into which no thread folds just now: their blocks have no
 * parity.  Any thread. */
void parity_groups_give_up(struct parity_groups *g);

struct parity_groups_counts {
	uint64_t groups;      /* that ended */
	uint64_t members;     /* blocks in these */
	uint64_t unprotected; /* blocks in no group: too few disks, or no parity
			   * block was free */
};
struct parity_groups_counts parity_groups_counts(const struct parity_groups *g);

#endif
