/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_MEMORY_LEAF_PRIV_H
#define SPATE_FLOW_MEMORY_LEAF_PRIV_H

#include "flow/output/leaf.h"

/* The index record of a sealed block, made by leaf_record.c for leaf.c (the
 * disk's index) and map.c (live readers). */
struct index_record leaf_record(const struct output *o, const struct block *b);
struct index_record block_record(const struct format_ops *format,
				 const struct format_shape *shape,
				 const struct block *b);

#endif
