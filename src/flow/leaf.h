/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_LEAF_H
#define SPATE_FLOW_LEAF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "contract/block.h"
#include "flow/output.h"
#include "store/disk.h"
#include "store/folder.h"

/*
 * A leaf is one recording on one disk while it is written: its folder, and
 * the chunks that are written but not yet durable.  The writer's thread only.
 */
enum { LEAF_ROUND = 128 }; /* chunks that may wait for a round */

struct leaf {
	struct output *output; /* held */
	struct folder *folder;
	struct leaf *next; /* writer::leaves */

	int fd[LEAF_ROUND];
	struct index_record record[2 * LEAF_ROUND]; /* gaps beside blocks */
	unsigned fds, records;
	int64_t since; /* the first of the round; steady */

	bool unnoted;  /* a line of the metadata was lost, and told */
	bool unsummed; /* the same of checksums */
	/* Of each substream: one more than the last run whose line is in the
	 * metadata. */
	uint64_t *told;
};

int leaf_open(struct leaf **leaf, const struct disk *disk, struct output *o);

/*
 * Notes what a block is of, before its chunk is written: after a crash the
 * chunk alone would not tell its substream, nor a cube its place.  Only where
 * that is so, and where all blocks share a file.
 */
void leaf_announce(struct leaf *leaf, const struct block *b);

/*
 * Takes a written chunk's descriptor over (-1: nothing is stored) and makes
 * the block's records part of the next round.
 */
void leaf_add(struct leaf *leaf, const struct block *b, int fd);

/* When the next round is due, steady; INT64_MAX: nothing waits. */
int64_t leaf_due(const struct leaf *leaf);

/* The round.  0 or -errno; what could not be made durable is counted. */
int leaf_sync(struct leaf *leaf);

/* A last round, the end record, the metadata's last line.  Frees it. */
int leaf_close(struct leaf *leaf, const struct index_record *end,
	       const json_t *tail);

#endif
