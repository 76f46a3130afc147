/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FLOW_RECEIVE_SAMPLE_HEAPS_H
#define SPATE_FLOW_RECEIVE_SAMPLE_HEAPS_H

#include <jansson.h>
#include <stdint.h>

#include "contract/format.h"

/* The part of a sample (sample.h) that looks at heaps: their lengths and items,
 * and whether they are complete. */
struct sample_heaps;

int sample_heaps_make(struct sample_heaps **heaps,
		      const struct format_ops *format, unsigned subs);
void sample_heaps_free(struct sample_heaps *h); /* NULL is allowed */

/* Takes in a datagram of `bytes` bytes, of which head_bytes are at `head`. */
void sample_heaps_piece(struct sample_heaps *h, unsigned sub,
			const uint8_t *head, uint32_t head_bytes,
			uint32_t bytes);

/* Length of an item, in bytes, in the heaps that came.  0: it was not seen, or
 * is immediate. */
uint64_t sample_heaps_item(const struct sample_heaps *h, uint32_t id);

/* Number of pieces that came, and of packets that are not a piece. */
uint64_t sample_heaps_pieces(const struct sample_heaps *h);
uint64_t sample_heaps_malformed(const struct sample_heaps *h);

/* Makes the JSON object `heaps`.  *lost: bytes missing in heaps that others
 * followed. */
json_t *sample_heaps_json(const struct sample_heaps *h, uint64_t *lost);

#endif
