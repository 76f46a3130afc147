/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_STREAM_H
#define SPATE_TESTS_FAKE_STREAM_H

#include "store/record/fill.h"
#include "lib/fake_format.h"
#include "lib/suite.h"

/* A stream of fake packets of which every byte is known. */

enum { PAYLOAD = 40, SLOTS = 64 };

/* The stream: threads in turn, `fps` frames of each in a second. */
struct stream {
	uint32_t threads[8], threads_n, fps, start, parts;
};

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

static inline void
pattern_from(const uint8_t *payload, uint32_t from)
{
	for (uint32_t i = from; i + 4 <= PAYLOAD; i += 4)
		ck_assert_uint_eq(read_le32(payload + i), FILL_PATTERN);
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
