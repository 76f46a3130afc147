/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BROUGHT_H
#define SPATE_FLOW_MEMORY_BROUGHT_H

#include <stdint.h>

#include "contract/block.h"
#include "store/record/index.h"

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
struct brought {
	struct index_record record;
	uint32_t lines_bytes;
	char lines[]; /* metadata lines, each with its newline */
};

#endif
