/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_CHUNK_H
#define SPATE_FLOW_CHUNK_H

#include <stdint.h>

#include "contract/block.h"
#include "contract/log.h"
#include "contract/write.h"
#include "flow/leaf.h"
#include "store/disk.h"

/*
 * A chunk maker turns blocks into chunk files on one disk, by the first of
 * its ways to write that works there.  The writer's thread only.
 */
struct writer_way;

struct chunk_maker {
	struct host host;
	const struct writer_way *ways, *way; /* way: NULL before a probe */
	unsigned n;
	struct write_state *state;
	uint64_t align; /* of bytes and offsets; 1: none */
};

void chunk_maker_init(struct chunk_maker *m, const char *disk,
		      const struct writer_way *ways, unsigned n);
void chunk_maker_finish(struct chunk_maker *m);

/* Chooses the way, by writing a page to a file that has no name.  Nothing
 * where a way was chosen and still works.  0 or -errno. */
int chunk_maker_probe(struct chunk_maker *m, const struct disk *disk);

/*
 * Writes a sealed block as the chunk of its number, and hands it to the
 * leaf.  0; -ENOSPC when the reserve would be touched; or -errno: then the
 * chunk is gone again.
 */
int chunk_write(struct chunk_maker *m, const struct disk *disk,
		struct leaf *leaf, const struct block *b);

#endif
