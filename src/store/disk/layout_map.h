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
 * block lies at a position.  It is arithmetic alone, made from the first line
 * of the metadata; writers and readers ask the same map.
 *
 *   vbs    every block has a file of its own
 *   mark6  block after block, each with a header, all of one length; a block
 *          with less data is filled up, except for the last one of a file
 *   file   block after block, as many bytes as each has
 *
 * A position in a shared file follows from the blocks before it on that disk,
 * in the order of the disk's index.
 */
/* mark6: most bytes of a block, with its header */
enum { LAYOUT_SG_MOST = 10000000 };

/* The map of one recording, the same for all of its disks. */
struct layout_map {
	enum layout layout;
	char name[LAYOUT_FILE]; /* the recording's name */
	char extension[LAYOUT_EXTENSION];
	struct sg_header sg; /* mark6: the header of every file */
	/* vbs: bytes of a packet if NAME.cfg is written at the end, else 0 */
	uint32_t cfg_packet;
};

/* The position of one block on a disk, in bytes. */
struct layout_spot {
	char file[LAYOUT_FILE]; /* relative to the recording's folder */
	/* offset of the block in the file, its prefix included */
	uint64_t start;
	uint64_t offset; /* offset of its data in the file */
	uint64_t room;	 /* bytes that its data takes, from `offset` */
	uint64_t end;	 /* where the next block of this disk starts */
	uint8_t prefix[SG_BLOCK];
	unsigned prefix_bytes; /* block header, from `start` to `offset` */
};

/* Makes the map from the first line of the metadata.  0; -EBADMSG if that line
 * contradicts itself. */
int layout_map_make(struct layout_map *map, const char *name,
		    const json_t *head);

/* True if all blocks of a disk share one file. */
bool layout_map_shared(const struct layout_map *map);

/* Length of the header of a data file, at most SG_HEADER.  Writes the header to
 * `raw` unless that is NULL. */
unsigned layout_map_begin(const struct layout_map *map, uint8_t *raw);

/* Computes the position of a block with `bytes` of data.  `start` is the
 * `end` of the block before it on that disk, or layout_map_begin() for the
 * first one. */
void layout_map_spot(const struct layout_map *map, uint64_t start,
		     uint64_t number, uint64_t bytes, struct layout_spot *spot);

/*
 * The inverse, for layouts whose blocks have headers: reads the SG_BLOCK bytes
 * `raw` found at the start of a block, with `left` bytes of the file from
 * there.  Returns 0, the block's number and the bytes of its data; -ENODATA at
 * the end of the file; -EBADMSG if it is no block; -ENOTSUP for layouts without
 * block headers, where only the index knows.
 */
int layout_map_back(const struct layout_map *map, const uint8_t *raw,
		    uint64_t left, uint64_t *number, uint64_t *bytes);

#endif
