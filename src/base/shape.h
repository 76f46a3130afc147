/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SHAPE_H
#define SPATE_BASE_SHAPE_H

#include <jansson.h>

#include "contract/format.h"

/*
 * Converts a format shape to text and JSON: the configuration writes a sequence
 * as "le64@0", and a recording's metadata carries the shape it was made with.
 */

/*
 * Parses "arrival", "le32@4", "le64@0", "be32@0", "be64@0", "edv2", "time" or
 * "default"; sets sequence and sequence_at.  0, or -EINVAL.
 */
int shape_sequence_parse(struct format_shape *shape, const char *text);

enum { SHAPE_SEQUENCE_TEXT = 32 };
const char *shape_sequence_show(const struct format_shape *shape,
				char text[SHAPE_SEQUENCE_TEXT]);

/* Parses "heap" or "cube".  0, or -EINVAL. */
int shape_store_parse(enum heap_store *store, const char *text);
const char *shape_store_show(enum heap_store store);

/*
 * Returns a new object {prefix, payload, sequence, bits, parts, header, fps,
 * threads, rate, around} and, for heaps, store and those of item, time_item and
 * time_step that are not 0.  NULL without memory.
 */
json_t *shape_to_json(const struct format_shape *shape);

/*
 * Reads it back.  `threads` is malloc'ed: free it with shape_clear().
 * `options` is left alone.  0, -EINVAL or -ENOMEM.
 */
int shape_from_json(struct format_shape *shape, const json_t *json);
void shape_clear(struct format_shape *shape);

/*
 * Adds what was learned after the shape was written: fps and threads from a
 * line of the metadata, if the line has them and the shape has not.  `threads`
 * is malloc'ed here too.  0, -EINVAL or -ENOMEM.
 */
int shape_learned(struct format_shape *shape, const json_t *line);

#endif
