/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_OUTPUT_LEAF_H
#define SPATE_FLOW_OUTPUT_LEAF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/memory/beat.h"
#include "flow/output/flight.h"
#include "flow/output/output.h"
#include "store/disk/disk.h"
#include "store/write/folder.h"

/*
 * A leaf is one recording on one disk while it is written: its folder, and
 * the chunks that are written but not yet durable.
 *
 *   leaf_open --> { leaf_announce, leaf_note, leaf_add ... leaf_sync }* --> leaf_close
 *       ^                                      |
 *       +--- leaf_resume <--- leaf_suspend <---+   the disk was away meanwhile
 *
 * The disk's thread only, but for leaf_risk: that is for who watches a disk
 * which does not answer, and so keeps its thread in one of these calls.
 */
enum {
	LEAF_ROUND = 128, /* chunks that are a round */
	/* That may wait for one: between two looks at what is due, all that
	 * are on their way may arrive. */
	LEAF_MOST = LEAF_ROUND + FLIGHT_JOBS - 1,
};

struct leaf {
	struct output *output; /* held */
	struct folder *folder; /* NULL: suspended */
	struct leaf *next;     /* writer::leaves */
	struct beat *beat;     /* of the disk, or NULL */

	int fd[LEAF_MOST];
	unsigned fds;
	int64_t since; /* the first of the round; steady */

	/* Changed by the disk's thread alone, which so may read them without;
	 * `risked` by who watches, too. */
	pthread_mutex_t lock;
	struct index_record record[2 * LEAF_MOST]; /* gaps beside blocks */
	unsigned records;
	unsigned risked; /* of them, from the first on, told as at risk */

	bool unnoted;  /* a line of the metadata was lost, and told */
	bool unsummed; /* the same of checksums */
	/* Of each substream, the last run whose line is in the metadata: twice
	 * one more than its number, plus one if that has frames per second. */
	uint64_t *told;
};

/* Makes the folder.  0 or -errno. */
int leaf_open(struct leaf **leaf, const struct disk *disk, struct output *o,
	      struct beat *beat);

/* The same of a folder that is there; else -ENOENT. */
int leaf_again(struct leaf **leaf, const struct disk *disk, struct output *o,
	       struct beat *beat);

/* Lets go of everything that is open, so that the disk can be unmounted; the
 * folder gets no end.  After a round. */
void leaf_suspend(struct leaf *leaf);

/* Goes on where it ended, or in a new folder where there is none (another
 * disk is mounted there now).  0 or -errno. */
int leaf_resume(struct leaf *leaf, const struct disk *disk);

/*
 * Notes what a block is of, before its chunk is written: after a crash the
 * chunk alone would not tell its substream, nor a cube its place.  Only where
 * that is so, and where all blocks share a file.
 */
void leaf_announce(struct leaf *leaf, const struct block *b);

/* Writes of a chunk that is written what is rare and worth reading, and its
 * checksums. */
void leaf_note(struct leaf *leaf, const struct block *b);

/*
 * Takes a written chunk's descriptor over (-1: it has none of its own) and
 * makes the block's records part of the next round.  Memory only: it never
 * waits for the disk.
 */
void leaf_add(struct leaf *leaf, const struct block *b, int fd);

/* When the next round is due, steady; INT64_MAX: nothing waits. */
int64_t leaf_due(const struct leaf *leaf);

/* The round.  0 or -errno; what could not be made durable is counted. */
int leaf_sync(struct leaf *leaf);

/* The disk does not answer: what waits for a round is told as at risk, until
 * the round is over after all.  Any thread. */
void leaf_risk(struct leaf *leaf);

/* A last round, the end record, the metadata's last line; of a suspended one
 * nothing.  Frees it. */
int leaf_close(struct leaf *leaf, const struct index_record *end,
	       const json_t *tail);

#endif
