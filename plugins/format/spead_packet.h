/* SPDX-License-Identifier: MIT */
#ifndef SPATE_FORMAT_SPEAD_PACKET_H
#define SPATE_FORMAT_SPEAD_PACKET_H

#include "contract/format.h"

/*
 * Reads and writes SPEAD packets, SPEAD-64-8 to 64-56.  Each function is the
 * callback of struct format_ops with the same name (contract/format.h).
 */
int spead_piece(const void *head, uint32_t head_bytes, uint32_t bytes,
		struct format_piece *p);
uint32_t spead_items(const void *head, const struct format_piece *p,
		     uint64_t *item, uint32_t most);
uint32_t spead_wrap(const struct format_piece *p, const uint64_t *item,
		    uint32_t items, void *head);
uint32_t spead_wrap_bytes(const struct format_piece *p, uint32_t items);
void spead_item(const struct format_piece *p, const uint64_t *item,
		uint32_t items, uint32_t i, struct format_item *out);

#endif
