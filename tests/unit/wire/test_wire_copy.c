/* SPDX-License-Identifier: MIT */
#include "wire/copy.h"

#include <string.h>

#include "base/crc32c.h"
#include "lib/suite.h"

static uint8_t raw[WIRE_HEADER_MOST];

static const char *
through(struct wire_frame f)
{
	struct wire_frame back;

	wire_pack(&f, raw, crc32c);
	return wire_copy_unpack(&back, raw, crc32c);
}

START_TEST(a_frame_is_the_same_behind_the_wire)
{
	struct wire_frame f = { .type = WIRE_PIECE,
				.payload_bytes = COPY_PIECE,
				.run = 63,
				.first = UINT64_C(99999999),
				.payload_crc = 0x12345678 },
			  back;

	wire_pack(&f, raw, crc32c);
	ck_assert_ptr_null(wire_copy_unpack(&back, raw, crc32c));
	ck_assert_uint_eq(back.type, WIRE_PIECE);
	ck_assert_uint_eq(back.payload_bytes, COPY_PIECE);
	ck_assert_uint_eq(back.run, 63);
	ck_assert_uint_eq(back.first, 99999999);
	ck_assert_uint_eq(back.payload_crc, 0x12345678);
	raw[20] ^= 1;
	ck_assert_ptr_nonnull(wire_copy_unpack(&back, raw, crc32c));
}
END_TEST

START_TEST(lies_about_lengths_are_seen)
{
	const struct wire_frame good[] = {
		{ .type = WIRE_HELLO },
		{ .type = WIRE_HEAD, .payload_bytes = 1 },
		{ .type = WIRE_INDEX,
		  .payload_bytes = 2 * COPY_TOLD_BYTES,
		  .packets = 2 },
		{ .type = WIRE_ASK },
		{ .type = WIRE_WANT },
		{ .type = WIRE_WANT, .payload_bytes = 32, .packets = 2 },
		{ .type = WIRE_LEFT, .first = 7 },
		{ .type = WIRE_AGREE, .payload_bytes = COPY_DIGEST_BYTES },
		{ .type = WIRE_CLOSE },
		{ .type = WIRE_CLOSE, .payload_bytes = 64, .packets = 1 },
		{ .type = WIRE_STATE, .payload_bytes = 2 },
	};
	const struct wire_frame bad[] = {
		{ .type = WIRE_HEAD },
		{ .type = WIRE_HEAD, .payload_bytes = COPY_HEAD_MOST + 1 },
		{ .type = WIRE_INDEX },
		{ .type = WIRE_INDEX,
		  .payload_bytes = 2 * COPY_TOLD_BYTES - 1,
		  .packets = 2 },
		{ .type = WIRE_INDEX,
		  .payload_bytes = COPY_TOLD_BYTES,
		  .packets = UINT32_MAX },
		{ .type = WIRE_ASK, .payload_bytes = 1 },
		{ .type = WIRE_WANT, .payload_bytes = 16 },
		{ .type = WIRE_WANT, .payload_bytes = 17, .packets = 1 },
		{ .type = WIRE_WANT, .packets = UINT32_C(1) << 28 },
		{ .type = WIRE_PIECE },
		{ .type = WIRE_PIECE, .payload_bytes = COPY_PIECE + 1 },
		{ .type = WIRE_PIECE, .payload_bytes = 1, .packets = 1 },
		{ .type = WIRE_PIECE, .payload_bytes = 1, .run = WIRE_RUNS },
		{ .type = WIRE_LEFT, .first = WIRE_SEQUENCES },
		{ .type = WIRE_AGREE, .payload_bytes = COPY_DIGEST_BYTES + 1 },
		{ .type = WIRE_CLOSE, .payload_bytes = 63, .packets = 1 },
		{ .type = WIRE_CLOSE, .payload_bytes = 640, .packets = 2 },
		{ .type = WIRE_STATE, .payload_bytes = COPY_STATE_MOST + 1 },
		{ .type = WIRE_COPY_TYPES },
		{ .type = 0 },
		{ .type = WIRE_ASK, .header_bytes = WIRE_HEADER + 1 },
	};

	for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_msg(!through(good[i]), "good %u", i);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(through(bad[i]), "bad %u", i);
}
END_TEST

START_TEST(what_is_told_comes_back_within_its_room)
{
	uint8_t record[COPY_RECORD], to[256];
	struct copy_told t = { .record = record,
			       .base = UINT64_C(1) << 40,
			       .arrival_ns = -5,
			       .gap = 7,
			       .lines_bytes = 6,
			       .lines = "{\"a\"}\n" },
			 back;
	uint32_t n;

	memset(record, 0x5a, sizeof record);
	n = copy_told_pack(&t, to, sizeof to);
	ck_assert_uint_eq(n, COPY_TOLD_BYTES + 6);
	ck_assert_uint_eq(copy_told_pack(&t, to, n - 1), 0);
	ck_assert_uint_eq(copy_told_unpack(&back, to, sizeof to), n);
	ck_assert_mem_eq(back.record, record, sizeof record);
	ck_assert_uint_eq(back.base, t.base);
	ck_assert_int_eq(back.arrival_ns, -5);
	ck_assert_uint_eq(back.gap, 7);
	ck_assert_mem_eq(back.lines, t.lines, 6);
	for (uint32_t left = 0; left < n; left++)
		ck_assert_uint_eq(copy_told_unpack(&back, to, left), 0);
	write_le32(to + 84, UINT32_MAX);
	ck_assert_uint_eq(copy_told_unpack(&back, to, sizeof to), 0);
}
END_TEST

START_TEST(a_digest_sees_every_number_length_and_checksum)
{
	struct copy_digest a = { 0 }, b, c;
	uint8_t to[COPY_DIGEST_BYTES];

	copy_digest_add(&a, 3, 4096, 0xabc, crc32c);
	b = a;
	copy_digest_add(&a, 4, 4096, 0xdef, crc32c);
	copy_digest_pack(&a, to);
	copy_digest_unpack(&c, to);
	ck_assert(copy_digest_same(&a, &c));
	ck_assert(!copy_digest_same(&a, &b));
	c = b;
	copy_digest_add(&c, 5, 4096, 0xdef, crc32c);
	ck_assert(!copy_digest_same(&a, &c));
	c = b;
	copy_digest_add(&c, 4, 4095, 0xdef, crc32c);
	ck_assert(!copy_digest_same(&a, &c));
	c = b;
	copy_digest_add(&c, 4, 4096, 0xdee, crc32c);
	ck_assert(!copy_digest_same(&a, &c));
}
END_TEST

SUITE("wire_copy", a_frame_is_the_same_behind_the_wire,
      lies_about_lengths_are_seen, what_is_told_comes_back_within_its_room,
      a_digest_sees_every_number_length_and_checksum)
