/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BLOCK_RECORD_H
#define SPATE_FLOW_MEMORY_BLOCK_RECORD_H

#include "store/record/block.h"
#include "contract/format.h"
#include "store/record/index.h"

/* Makes the index record of a sealed block: number, times, sizes, checksum. */
struct index_record block_record(const struct format_ops *format,
				 const struct format_shape *shape,
				 const struct block *b);

/*
 * The index record and metadata lines of a block that was copied from another
 * host: everything the disk will say about it, exactly as the origin said it.
 * A block with a record like this gets no fill, no times and no number of its
 * own; block::bytes, filled, missing, run, sub, first, gap and base are those
 * of the record, and first_ns is when the first packet of its run arrived.  Its
 * checksums were computed when it arrived here and agree with the record.
 *
 * One malloc(3) allocation, owned by the block and freed with it.
 */
struct copied_record {
	struct index_record record;
	uint32_t lines_bytes;
	char lines[]; /* metadata lines, each with its newline */
};

#endif
