/* SPDX-License-Identifier: MIT */
/*
 * Feeds the cut of heaps with a block as a disk may have it.  Each packet is
 * one, no longer than was asked for, out of the block's own data, each byte of
 * it once and in order; what is no packet is counted.
 */
#include "flow/send/cut_heaps.h"

#include <stdlib.h>
#include <string.h>

#include "format/spead.c"
#include "format/spead_packet.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void
must(bool truth)
{
	if (!truth)
		abort();
}

static void
packet_check(const uint8_t *head, uint32_t head_bytes, uint32_t data_bytes,
	     uint32_t most)
{
	struct format_piece p;

	must(head_bytes + data_bytes <= most);
	must(spead_piece(head, head_bytes, head_bytes + data_bytes, &p) == 0);
	must(p.header == head_bytes && p.bytes == data_bytes);
}

static const uint8_t *
run_check(const struct send_run *r, const uint8_t *at, const uint8_t *end,
	  uint32_t most)
{
	must(r->packets > 0);
	for (uint32_t i = 0; i < r->packets; i++) {
		const uint8_t *piece = r->data + (size_t)i * r->data_stride;

		packet_check(r->head + (size_t)i * r->head_stride,
			     r->head_bytes, r->data_bytes, most);
		must(piece >= at && piece + r->data_bytes <= end);
		at = piece + r->data_bytes;
	}
	return at;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const uint32_t sizes[] = { 128, 1472, 8192, CUT_HEAPS_MOST };
	struct format_shape shape = { .store = HEAP_ROW };
	struct send_run run[5];
	struct cut_heaps *c;
	struct parcel p;
	unsigned n;

	for (unsigned s = 0; s < 4; s++) {
		const uint8_t *at = data;

		must(cut_heaps_make(
			 &c, &(struct cut_heaps_args){ &spate_format, &shape,
						       sizes[s] }) == 0);
		p = (struct parcel){ .record.bytes = bytes,
				     .bytes = bytes,
				     .data = data };
		cut_heaps_begin(c, &p);
		while ((n = cut_heaps_next(c, run, 5)))
			for (unsigned i = 0; i < n; i++)
				at = run_check(&run[i], at, data + bytes,
					       sizes[s]);
		must(cut_heaps_bad(c) <= bytes);
		cut_heaps_free(c);
	}
	return 0;
}
