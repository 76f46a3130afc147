/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_STREAM_H
#define SPATE_TESTS_FAKE_STREAM_H

#include "store/record/fill.h"
#include "lib/fake_format.h"
#include "lib/suite.h"

/* A stream of fake packets, cut into blocks of which every byte is known. */

enum { PAYLOAD = 40, SLOTS = 64 };

/* The stream: threads in turn, `fps` frames of each in a second. */
struct stream {
	uint32_t threads[8], threads_n, fps, start, parts;
};

static uint64_t present[SLOTS / 64];
static uint8_t data[SLOTS * PAYLOAD];
static struct block b;

static inline void
ideal(const struct stream *st, uint64_t sequence, uint8_t *payload)
{
	uint64_t frame = sequence / st->parts;
	uint64_t turn = frame / st->threads_n + st->start;

	memset(payload, 0xda, PAYLOAD);
	if (sequence % st->parts)
		return;
	write_le32(payload, FAKE_MAGIC);
	write_le32(payload + 4, (uint32_t)(1000 + turn / st->fps));
	write_le32(payload + 8, (uint32_t)(turn % st->fps));
	write_le16(payload + 12, (uint16_t)st->threads[frame % st->threads_n]);
	write_le16(payload + 14, 0);
	write_le64(payload + 16, 5000 + sequence);
}

/* A block of the stream with all its packets. */
static inline void
make(const struct stream *st, uint64_t first)
{
	b = (struct block){ .data = data,
			    .present = present,
			    .slots = SLOTS,
			    .slot_bytes = PAYLOAD,
			    .used = SLOTS,
			    .filled = SLOTS,
			    .first = first,
			    .base = 5000 };
	memset(present, 0xff, sizeof present);
	for (uint32_t i = 0; i < SLOTS; i++)
		ideal(st, first + i, block_slot(&b, i));
}

static inline void
lose(uint32_t slot)
{
	b.filled -= block_has(&b, slot);
	present[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	memset(block_slot(&b, slot), 0xee, PAYLOAD);
}

static inline void
pattern_from(const uint8_t *payload, uint32_t from)
{
	for (uint32_t i = from; i + 4 <= PAYLOAD; i += 4)
		ck_assert_uint_eq(read_le32(payload + i), FILL_PATTERN);
}

/* Every slot is as sent, or as it would have been, invalid. */
static inline void
check(const struct stream *st)
{
	for (uint32_t i = 0; i < b.used; i++) {
		const uint8_t *is = block_slot(&b, i);
		uint8_t want[PAYLOAD];

		ideal(st, b.first + i, want);
		if (block_has(&b, i)) {
			ck_assert_mem_eq(is, want, PAYLOAD);
		} else if ((b.first + i) % st->parts) {
			pattern_from(is, 0);
		} else {
			write_le16(want + 14, 1);
			ck_assert_mem_eq(is, want, FAKE_HEADER);
			pattern_from(is, FAKE_HEADER);
		}
	}
}

static inline struct format_shape
shape_of(const struct stream *st)
{
	return (struct format_shape){
		.payload = PAYLOAD,
		.header = FAKE_HEADER,
		.parts = st->parts,
		.sequence = SEQUENCE_LE64,
		.prefix = 8,
	};
}

#endif
