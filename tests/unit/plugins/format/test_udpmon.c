/* SPDX-License-Identifier: MIT */
/* The counter is the first 8 bytes of the datagram, highest byte first. */
#include "lib/suite.h"

#include "format/udpmon.c"

static char why[256];

START_TEST(counter_in_the_prefix)
{
	static const uint8_t prefix[8] = { 0, 0, 0, 1, 0, 0, 0, 2 };
	struct format_shape s = { .prefix = 8, .payload = 1000 };
	uint8_t payload[1000] = { 7 };
	struct format_packet p;

	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.sequence_bits, 64);
	ck_assert_uint_eq(s.header, 0);
	spate_format.parse(&s, prefix, payload, &p);
	ck_assert_uint_eq(p.has,
			  FORMAT_SEQUENCE | FORMAT_READABLE | FORMAT_VALID);
	ck_assert_uint_eq(p.sequence, (1ull << 32) + 2);
}
END_TEST

START_TEST(counter_in_the_payload)
{
	struct format_shape s = { .payload = 64 };
	struct format_packet p = { .has = FORMAT_SEQUENCE,
				   .sequence = 0x0102030405060708 };
	uint8_t payload[64];

	memset(payload, 0xaa, sizeof payload);
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.header, 8);
	spate_format.stamp(&s, &p, NULL, payload);
	ck_assert_mem_eq(payload, "\1\2\3\4\5\6\7\10\xaa", 9);
	spate_format.parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.sequence, 0x0102030405060708);
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
	struct format_shape small = { .payload = 7 };
	struct format_shape half = { .prefix = 4, .payload = 1000 };
	struct format_shape none = { .prefix = 8 };
	struct format_shape edv2 = { .prefix = 8,
				     .payload = 1000,
				     .sequence = SEQUENCE_EDV2 };

	ck_assert_int_eq(shape(&small, why, sizeof why), -EINVAL);
	ck_assert_int_eq(shape(&half, why, sizeof why), -EINVAL);
	ck_assert_int_eq(shape(&none, why, sizeof why), -EINVAL);
	ck_assert_int_eq(shape(&edv2, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "be64@0"));
}
END_TEST

SUITE("udpmon", counter_in_the_prefix, counter_in_the_payload,
      what_cannot_be_is_refused)
