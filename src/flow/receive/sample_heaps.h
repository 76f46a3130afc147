/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_HEAPS_H
#define SPATE_FLOW_RECEIVE_SAMPLE_HEAPS_H

#include <jansson.h>
#include <stdint.h>

#include "contract/format.h"

/* What a sample (sample.h) sees of heaps: how long, of which items, whole or
 * not. */
struct sample_heaps;

int sample_heaps_make(struct sample_heaps **heaps,
		      const struct format_ops *format, unsigned subs);
void sample_heaps_free(struct sample_heaps *h); /* NULL: nothing */

/* A datagram of `bytes`, of which head_bytes are at `head`. */
void sample_heaps_piece(struct sample_heaps *h, unsigned sub,
			const uint8_t *head, uint32_t head_bytes,
			uint32_t bytes);

/* How many bytes an item has in the heaps that came; 0: not seen, or it is
 * immediate. */
uint64_t sample_heaps_item(const struct sample_heaps *h, uint32_t id);

/* Pieces that came, and packets that are none. */
uint64_t sample_heaps_pieces(const struct sample_heaps *h);
uint64_t sample_heaps_malformed(const struct sample_heaps *h);

/* The object; *lost: the bytes that heaps lack that others came after. */
json_t *sample_heaps_json(const struct sample_heaps *h, uint64_t *lost);

#endif
