/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_CHUNK_H
#define SPATE_FLOW_WRITE_CHUNK_H

#include <stdint.h>

#include "contract/block.h"
#include "flow/output/leaf.h"
#include "flow/output/way.h"
#include "store/disk/disk.h"
#include "store/write/folder.h"

/*
 * A chunk is one sealed block on its way to its place on one disk.
 *
 *   chunk_begin --> (its data flies) --> chunk_end --> chunk_keep
 *        |                                  |
 *        +-- -errno: nothing is there       +--------> chunk_remove
 *
 * The disk's thread only; see flight.h for what flies.
 */
struct chunk {
	struct leaf *leaf;
	const struct block *b;
	const atomic_bool *away; /* as flight_job has it */

	/* Its own. */
	struct way *way;
	struct folder_place place;
	bool nowhere; /* nothing is stored */
	struct flight_job job;
};

/*
 * Makes the place of a block and adds its data to a flight.  0; -ENOSPC when
 * the reserve would be touched; or -errno.  Nothing is there then.
 */
int chunk_begin(struct chunk *c, struct ways *ways, const struct disk *disk);

/* All of its data is written, or job.err is set: 0 or -errno.  What of it is
 * there stays until it is kept or removed. */
int chunk_end(struct chunk *c);

/* Hands it to the leaf.  Asks nothing of the disk. */
void chunk_keep(struct chunk *c);

/* Takes it away again.  0 or -errno: something of it may be left. */
int chunk_remove(struct chunk *c);

/* That whose data flight_done gave back. */
struct chunk *chunk_of(struct flight_job *job);

#endif
