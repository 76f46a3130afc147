/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_BLOCK_RECORD_H
#define SPATE_FLOW_MEMORY_BLOCK_RECORD_H

#include "contract/block.h"
#include "contract/format.h"
#include "store/record/index.h"

/* Makes the index record of a sealed block: number, times, sizes, checksum. */
struct index_record block_record(const struct format_ops *format,
				 const struct format_shape *shape,
				 const struct block *b);

#endif
