/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_LEAF_PRIV_H
#define SPATE_FLOW_MEMORY_LEAF_PRIV_H

#include "flow/output/output.h"

/* Make the index record of a sealed block (leaf_record.c), for disk_recording.c, which
 * writes a recording's folder on one disk, and for map.c, which shows blocks to
 * live readers.  block_record() serves blocks without an output, too. */
struct index_record leaf_record(const struct output *o, const struct block *b);
struct index_record block_record(const struct format_ops *format,
				 const struct format_shape *shape,
				 const struct block *b);

#endif
