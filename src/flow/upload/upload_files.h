/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_UPLOAD_UPLOAD_FILES_H
#define SPATE_FLOW_UPLOAD_UPLOAD_FILES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "store/record/index.h"
#include "store/write/copy_lines.h"

/*
 * The files beside the chunks of an upload, in memory: metadata, checksums and
 * index, as a disk would have them that has all blocks.  They only grow, and
 * are put as a whole, since an object cannot be appended to.
 */
struct upload_file {
	uint8_t *data;
	size_t bytes, room;
};

struct upload_files {
	struct upload_file meta, sums, index;
	uint64_t *told; /* per substream: 1 + the run whose line is there */
	unsigned subs;
};

/* The checksums of a block that was sent: CRC32C of each MiB, the last one
 * shorter.  The index's own, if the block was there before. */
struct upload_sums {
	const uint32_t *crc; /* NULL: they are not known */
	uint32_t n;
};

/* Begins the files with the metadata's first line.  0 or -ENOMEM. */
int upload_files_begin(struct upload_files *f, const json_t *head,
		       unsigned subs);

/* Adds a block, with what belongs to it.  0 or -ENOMEM. */
int upload_files_add(struct upload_files *f, const struct copy_lines_block *b,
		     const struct upload_sums *sums);

/* Ends them with these lines, and a record; NULL: there is none.  0 or
 * -ENOMEM. */
int upload_files_end(struct upload_files *f, const char *lines,
		     const struct index_record *end);

void upload_files_free(struct upload_files *f);

#endif
