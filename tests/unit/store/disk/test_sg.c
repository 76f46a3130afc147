/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "contract/bytes.h"
#include "store/disk/sg.h"
#include "lib/suite.h"

static const struct sg_header usual = {
	.version = 2,
	.block_bytes = 9992168,
	.format = SG_VDIF,
	.packet_bytes = 8224,
};

/* As jive5ab and dplane write it, byte by byte. */
START_TEST(bytes)
{
	static const uint8_t want[SG_HEADER] = {
		0x66, 0x66, 0xed, 0xfe, 2, 0, 0,    0,	  0xe8, 0x77,
		0x98, 0,    0,	  0,	0, 0, 0x20, 0x20, 0,	0,
	};
	uint8_t raw[SG_HEADER], block[SG_BLOCK];
	struct sg_header h;
	struct sg_block b;

	sg_header_write(raw, &usual);
	ck_assert_mem_eq(raw, want, sizeof raw);
	ck_assert_int_eq(sg_header_read(&h, raw), 0);
	ck_assert_mem_eq(&h, &usual, sizeof h);
	sg_block_write(block, 7, 82240);
	ck_assert_uint_eq(read_le32(block + 4), 82248);
	ck_assert_int_eq(sg_block_read(&h, block, 82248, &b), 0);
	ck_assert_uint_eq(b.number, 7);
	ck_assert_uint_eq(b.header, 8);
	ck_assert_uint_eq(b.bytes, 82240);
	ck_assert_uint_eq(b.cut, 0);
}
END_TEST

START_TEST(no_header)
{
	static const uint32_t wrong[][2] = {
		{ 0, 0xfeed6667 }, { 4, 0 },	    { 4, 3 },
		{ 8, 0 },	   { 8, 8 },	    { 8, UINT32_MAX },
		{ 8, 1u << 31 },   { 16, 9992161 }, { 16, UINT32_MAX },
	};
	uint8_t raw[SG_HEADER];
	struct sg_header h;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		sg_header_write(raw, &usual);
		write_le32(raw + wrong[i][0], wrong[i][1]);
		ck_assert_int_eq(sg_header_read(&h, raw), -EBADMSG);
	}
}
END_TEST

START_TEST(cut_and_damaged)
{
	uint8_t block[SG_BLOCK];
	struct sg_block b;

	sg_block_write(block, 7, 9992160);
	ck_assert_int_eq(sg_block_read(&usual, block, 1008, &b), 0);
	ck_assert_uint_eq(b.bytes, 1000);
	ck_assert_uint_eq(b.cut, 9991160);
	ck_assert_int_eq(sg_block_read(&usual, block, 8, &b), -ENODATA);
	ck_assert_int_eq(sg_block_read(&usual, block, 0, &b), -ENODATA);
	sg_block_write(block, 7, 9992161);
	ck_assert_int_eq(sg_block_read(&usual, block, 1 << 30, &b), -EBADMSG);
	sg_block_write(block, 7, 0);
	ck_assert_int_eq(sg_block_read(&usual, block, 1 << 30, &b), -EBADMSG);
	sg_block_write(block, 1u << 31, 8224);
	ck_assert_int_eq(sg_block_read(&usual, block, 1 << 30, &b), -EBADMSG);
}
END_TEST

START_TEST(version_1)
{
	struct sg_header h = usual;
	uint8_t block[SG_BLOCK_1];
	struct sg_block b;

	h.version = 1;
	h.block_bytes = 1004;
	write_le32(block, 3);
	ck_assert_int_eq(sg_block_read(&h, block, 5000, &b), 0);
	ck_assert_uint_eq(b.number, 3);
	ck_assert_uint_eq(b.header, 4);
	ck_assert_uint_eq(b.bytes, 1000);
	ck_assert_int_eq(sg_block_read(&h, block, 5, &b), 0);
	ck_assert_uint_eq(b.bytes, 1);
	ck_assert_uint_eq(b.cut, 999);
	ck_assert_int_eq(sg_block_read(&h, block, 4, &b), -ENODATA);
}
END_TEST

SUITE("sg", bytes, no_header, cut_and_damaged, version_1)
