/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_PARITY_GROUPS_H
#define SPATE_FLOW_OUTPUT_PARITY_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/record/block.h"
#include "store/record/index.h"

/*
 * The parity groups of a recording that is being written.  Placement stays free:
 * a disk takes what it can take, and a group is made of what the disks took.
 *
 *   writer of disk 0 takes block 12 --.
 *   writer of disk 2 takes block 13 ---+--> open group 12: its data is folded in
 *   writer of disk 1 takes block 14 --'         | it ends
 *                                               v
 *                       parity blocks of group 12 --> put() --> other disks
 *
 * A group ends when as many disks are left as it has parity blocks, when it is as
 * old as it may be, and at the end of the recording.  Each disk has one block of
 * a group at most.  Members are folded in while they are in memory; they are held
 * there until the group ends, or their pool needs them.  Nobody waits for a group.
 *
 * Any thread may call, except where noted.
 */
struct parity_groups;
struct block_pool;

struct parity_groups_args {
	unsigned rows;		 /* parity blocks of a group */
	struct block_pool *pool; /* of parity blocks, borrowed until
				  * parity_groups_end() */
	int64_t age;		 /* ns that a group may stay open */
	/* How many disks take blocks now, without slow ones, and which. */
	unsigned (*disks)(void *arg, struct block_bars *disks);
	/* Takes over the SEALED parity blocks of a group, whose
	 * block::parity is set. */
	void (*put)(void *arg, struct block *const *b, unsigned n);
	void *arg;
};

/* Bytes behind the data of a parity block that its tail may take. */
uint32_t parity_groups_extra(void);

/* 0 or -ENOMEM. */
int parity_groups_make(struct parity_groups **groups,
		       const struct parity_groups_args *args);
/* NULL is allowed. */
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

/* Says that a block is written: if blocks are few, it is not held any longer. */
void parity_groups_written(struct parity_groups *g, const struct block *b);

/* Ends groups that are as old as they may be by `now`, steady ns.  `few`: the
 * blocks of data are becoming few, so none is held any longer. */
void parity_groups_look(struct parity_groups *g, int64_t now, bool few);

/* Ends all groups; blocks that are added later are in none.  If parity blocks ran
 * short, some groups wait for those that are being written: call it again.  The
 * event loop, when all blocks are written. */
void parity_groups_end(struct parity_groups *g);

struct parity_groups_counts {
	uint64_t groups;  /* that ended */
	uint64_t members; /* blocks in these */
	uint64_t without; /* blocks in no group: too few disks, or no parity
			   * block was free */
};
struct parity_groups_counts parity_groups_counts(const struct parity_groups *g);

#endif
