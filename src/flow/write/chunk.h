/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_WRITE_CHUNK_H
#define SPATE_FLOW_WRITE_CHUNK_H

#include <stdint.h>

#include "store/record/block.h"
#include "flow/write/disk_recording.h"
#include "flow/write/disk_writes.h"
#include "store/disk/disk.h"
#include "store/write/folder.h"

/*
 * A chunk is one sealed block on its way to one disk: a file of its own, or a
 * stretch of a file that all blocks share.
 *
 *   chunk_begin --> (its data is written) --> chunk_end --> chunk_keep
 *        |                                        |
 *        +-- -errno: nothing is there             +-------> chunk_remove
 *
 * Only the disk's thread calls these functions.  The data is
 * written by writes_in_flight.h.
 */
struct chunk {
	struct disk_recording *rec;
	const struct block *b;
	const atomic_bool *away; /* see file_write::away */

	/* Set by chunk_begin. */
	struct open_plugin *plugin; /* opened for the disk */
	struct folder_target target;
	bool nowhere; /* the plugin stores nothing: no file is made */
	struct file_write file;
};

/* Makes the target of a block on the disk, and adds its data to the writes in
 * flight.  0; -ENOSPC when the block would touch the reserve; or -errno.
 * Nothing is left on the disk after an error. */
int chunk_begin(struct chunk *c, struct disk_writes *plugins,
		const struct disk *disk);

/* Ends a chunk whose write is done: cuts padding off and writes
 * its notes.  0 or -errno; either way the file stays until chunk_keep or
 * chunk_remove. */
int chunk_end(struct chunk *c);

/* Hands the chunk to the disk recording, for the next sync.  Asks nothing of
 * the disk. */
void chunk_keep(struct chunk *c);

/* Removes the chunk.  0; -errno: some of it may be left on the disk. */
int chunk_remove(struct chunk *c);

/* Returns the chunk that a write of writes_done belongs to. */
struct chunk *chunk_of(struct file_write *file);

#endif
