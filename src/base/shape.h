/* SPDX-License-Identifier: MIT */
#ifndef SPATE_BASE_SHAPE_H
#define SPATE_BASE_SHAPE_H

#include <jansson.h>

#include "contract/format.h"

/*
 * A shape as text and as JSON: the configuration names a sequence as
 * "le64@0", and a recording's metadata carries the shape it was made with.
 */

/* "arrival", "le32@4", "le64@0", "be32@0", "be64@0", "edv2", "time";
 * sets sequence and sequence_at; 0 or -EINVAL. */
int shape_sequence_parse(struct format_shape *shape, const char *text);

enum { SHAPE_SEQUENCE_TEXT = 32 };
const char *shape_sequence_show(const struct format_shape *shape,
				char text[SHAPE_SEQUENCE_TEXT]);

/* "heap" or "cube"; 0 or -EINVAL. */
int shape_store_parse(enum heap_store *store, const char *text);
const char *shape_store_show(enum heap_store store);

/* A new object {prefix, payload, sequence, bits, parts, header, fps,
 * threads, rate, around} and, of heaps, store and those of item, time_item and
 * time_step that are not 0; NULL without memory. */
json_t *shape_to_json(const struct format_shape *shape);

/* Reads it back; `threads` is malloc'ed and the caller's (shape_clear).
 * 0, -EINVAL, -ENOMEM.  `options` is left alone. */
int shape_from_json(struct format_shape *shape, const json_t *json);
void shape_clear(struct format_shape *shape);

/* What was learned after the shape was written, as a line of the metadata says
 * it: fps and threads, where the line has them and the shape has not.  The same
 * errors; `threads` too. */
int shape_learned(struct format_shape *shape, const json_t *line);

#endif
