/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_FORMAT_H
#define SPATE_TESTS_FAKE_FORMAT_H

#include <string.h>

#include "contract/format.h"

/*
 * The smallest format that fill can get wrong, all little-endian:
 *
 *   0 u32 FAKE_MAGIC   4 u32 second   8 u32 frame   12 u16 thread
 *   14 u16 invalid     16 u64 sequence
 */
enum { FAKE_HEADER = 24 };
#define FAKE_MAGIC 0x4b414645u

static inline void
fake_parse(const struct format_shape *s, const void *prefix,
	   const void *payload, struct format_packet *p)
{
	const uint8_t *at = payload;

	(void)s;
	(void)prefix;
	*p = (struct format_packet){ .sequence = read_le64(at + 16) };
	if (read_le32(at) != FAKE_MAGIC)
		return;
	p->has = FORMAT_SEQUENCE | FORMAT_READABLE | FORMAT_TIME;
	if (!read_le16(at + 14))
		p->has |= FORMAT_VALID;
	p->second = read_le32(at + 4);
	p->frame = read_le32(at + 8);
	p->thread = read_le16(at + 12);
}

static inline void
fake_model(const struct format_shape *s, void *payload)
{
	memset(payload, 0, s->header);
	write_le32(payload, FAKE_MAGIC);
}

static inline void
fake_stamp(const struct format_shape *s, const struct format_packet *p,
	   void *prefix, void *payload)
{
	uint8_t *at = payload;

	(void)s;
	(void)prefix;
	write_le16(at + 14, !(p->has & FORMAT_VALID));
	if (p->has & FORMAT_TIME) {
		write_le32(at + 4, (uint32_t)p->second);
		write_le32(at + 8, p->frame);
		write_le16(at + 12, (uint16_t)p->thread);
	}
	if (p->has & FORMAT_SEQUENCE)
		write_le64(at + 16, p->sequence);
}

static const struct format_ops fake_format = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct format_ops),
		  .name = "fake" },
	.extension = "fake",
	.parse = fake_parse,
	.model = fake_model,
	.stamp = fake_stamp,
};

#endif
