/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BROUGHT_H
#define SPATE_FLOW_MEMORY_BROUGHT_H

#include <stdint.h>

#include "contract/block.h"
#include "store/record/index.h"

/*
 * What was brought with a block of a copy: all that its disk is to say of it,
 * as it was said where it comes from.  Such a block has no holes to be filled,
 * no times to be looked up and no number to be given; block::bytes, filled,
 * missing, run, sub, first, gap and base are those of the record, and first_ns
 * is when the first packet of its run came.  Its checksums were taken when it
 * came, and are those of the record.
 *
 * One piece of malloc(3), which goes with the block.
 */
struct brought {
	struct index_record record;
	uint32_t lines_bytes;
	char lines[]; /* of the metadata, each with its newline */
};

#endif
