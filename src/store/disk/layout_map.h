/* SPDX-License-Identifier: MIT */
#ifndef SPATE_STORE_DISK_LAYOUT_MAP_H
#define SPATE_STORE_DISK_LAYOUT_MAP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/disk/layout.h"
#include "store/disk/sg.h"

/*
 * A layout map says where on a disk each block of a recording is, and which
 * block it is that lies somewhere.  It is arithmetic alone: who writes and who
 * reads asks the same map, which is made of the first line of the metadata.
 *
 *   vbs    every block begins its own file
 *   mark6  block after block, each with a header and as long as the others;
 *          one that has less data is filled up, but for the last of a file
 *   file   block after block, with as many bytes as they have
 *
 * A place in a file follows from the blocks before it on that disk, in the
 * order of its index.
 */
enum { LAYOUT_SG_MOST = 10000000 }; /* a block, with its header: mark6 */

struct layout_map {
	enum layout layout;
	char name[LAYOUT_FILE]; /* the recording's */
	char extension[LAYOUT_EXTENSION];
	struct sg_header sg; /* mark6: of every file */
	uint32_t cfg_packet; /* vbs: bytes of a packet, where NAME.cfg is
				written at the end; else 0 */
};

/* A block on a disk. */
struct layout_spot {
	char file[LAYOUT_FILE]; /* seen from the recording's folder */
	uint64_t start;		/* of all that is the block's, in the file */
	uint64_t offset;	/* of its data */
	uint64_t room;		/* that its data take, from offset */
	uint64_t end;		/* where the disk's next block starts */
	uint8_t prefix[SG_BLOCK];
	unsigned prefix_bytes; /* from start to offset */
};

/* 0; -EBADMSG: what the metadata say cannot be. */
int layout_map_make(struct layout_map *map, const char *name,
		    const json_t *head);

/* Do all blocks of a disk share one file? */
bool layout_map_shared(const struct layout_map *map);

/* What a file begins with, before its first block: its length, at most
 * SG_HEADER; raw may be NULL. */
unsigned layout_map_begin(const struct layout_map *map, uint8_t *raw);

/* Where a block with so many bytes of data is, that starts at `start`: the
 * end of the one before it on that disk, or layout_map_begin(). */
void layout_map_spot(const struct layout_map *map, uint64_t start,
		     uint64_t number, uint64_t bytes, struct layout_spot *spot);

/*
 * The other way, where a block tells: SG_BLOCK bytes at `start` of a file that
 * has `left` more from there.  0: its number, and how much data there is in
 * *bytes; -ENODATA at the end, -EBADMSG where there is no block, -ENOTSUP
 * where blocks do not tell (only the index does).
 */
int layout_map_back(const struct layout_map *map, const uint8_t *raw,
		    uint64_t left, uint64_t *number, uint64_t *bytes);

#endif
