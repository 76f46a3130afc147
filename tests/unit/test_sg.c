/* SPDX-License-Identifier: MIT */
/* Headers of Mark6 files and blocks, to the byte, and what is none. */
#include <errno.h>
#include <string.h>

#include "contract/bytes.h"
#include "store/sg.h"
#include "unit/suite.h"

static const uint8_t file_raw[SG_HEADER] = { 0x66, 0x66, 0xed, 0xfe, 2, 0, 0,
					     0,	   0x58, 0x78, 0x98, 0, 0, 0,
					     0,	   0,	 0x20, 0x20, 0, 0 };

START_TEST(file_header)
{
	const struct sg_header h = { .version = 2,
				     .block_bytes = 9992280,
				     .packets = SG_VDIF,
				     .packet_bytes = 8224 };
	struct sg_header back;
	uint8_t raw[SG_HEADER];

	sg_pack(raw, &h);
	ck_assert_mem_eq(raw, file_raw, sizeof raw);
	ck_assert_int_eq(sg_parse(&back, raw), 0);
	ck_assert_mem_eq(&back, &h, sizeof h);
}
END_TEST

/* Each 32-bit number in turn. */
static void
refused(unsigned at, uint32_t value, int err)
{
	uint8_t raw[SG_HEADER];
	struct sg_header h;

	memcpy(raw, file_raw, sizeof raw);
	write_le32(raw + at, value);
	ck_assert_int_eq(sg_parse(&h, raw), err);
}

START_TEST(no_files)
{
	refused(0, 0xfeed6667, -EBADMSG);
	refused(4, 0, -EINVAL);
	refused(4, 3, -EINVAL);
	refused(8, 8, -EINVAL);
	refused(8, 0x80000000, -EINVAL);
	refused(16, 0xffffffff, -EINVAL);
	refused(16, 9992280, -EINVAL);
	refused(12, 77, 0);
	refused(16, 0, 0);
}
END_TEST

START_TEST(blocks)
{
	const struct sg_header h = { .version = 2, .block_bytes = 1008 };
	const struct sg_header old = { .version = 1, .block_bytes = 1008 };
	const uint8_t want[SG_BLOCK] = { 7, 1, 0, 0, 0xf0, 3, 0, 0 };
	struct sg_block b = { .number = 263, .bytes = 1000 };
	uint8_t raw[SG_BLOCK];

	sg_block_pack(raw, &b);
	ck_assert_mem_eq(raw, want, sizeof raw);
	b = (struct sg_block){ 0 };
	ck_assert_int_eq(sg_block_parse(&h, &b, raw), 0);
	ck_assert_uint_eq(b.number, 263);
	ck_assert_uint_eq(b.bytes, 1000);
	ck_assert_uint_eq(sg_block_header(&old), 4);
	ck_assert_int_eq(sg_block_parse(&old, &b, raw), 0);
	ck_assert_uint_eq(b.bytes, 1004);
	write_le32(raw + 4, 1009);
	ck_assert_int_eq(sg_block_parse(&h, &b, raw), -EBADMSG);
	write_le32(raw + 4, 8);
	ck_assert_int_eq(sg_block_parse(&h, &b, raw), -EBADMSG);
	write_le32(raw + 4, 9);
	ck_assert_int_eq(sg_block_parse(&h, &b, raw), 0);
	write_le32(raw, 0x80000000);
	ck_assert_int_eq(sg_block_parse(&h, &b, raw), -EBADMSG);
}
END_TEST

SUITE("sg", file_header, no_files, blocks)
