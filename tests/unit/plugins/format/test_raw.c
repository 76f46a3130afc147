/* SPDX-License-Identifier: MIT */
/* Packets of which nothing is known: arrival, or a counter that is told. */
#include "lib/suite.h"

#include "format/raw.c"

static char why[256];

START_TEST(arrival_is_the_default)
{
	struct format_shape s = { .prefix = 3, .payload = 777 };
	struct format_packet p;
	uint8_t prefix[3] = { 0 }, payload[777] = { 0 };

	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_int_eq(s.sequence, SEQUENCE_ARRIVAL);
	ck_assert_uint_eq(s.parts, 1);
	ck_assert_uint_eq(s.header, 0);
	spate_format.parse(&s, prefix, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_VALID);
	ck_assert_uint_eq(p.bytes, 777);
}
END_TEST

START_TEST(counters_of_every_kind)
{
	static const struct {
		enum sequence_kind kind;
		uint32_t bits;
		uint64_t sequence;
	} cases[] = {
		{ SEQUENCE_LE32, 32, 0x04030201 },
		{ SEQUENCE_BE32, 32, 0x01020304 },
		{ SEQUENCE_LE64, 64, 0x0807060504030201 },
		{ SEQUENCE_BE64, 64, 0x0102030405060708 },
	};
	const uint8_t prefix[10] = { 9, 9, 1, 2, 3, 4, 5, 6, 7, 8 };
	const uint8_t payload[16] = { 0 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct format_shape s = { .prefix = 10,
					  .payload = 16,
					  .sequence = cases[i].kind,
					  .sequence_at = 2 };
		struct format_packet p;

		ck_assert_int_eq(shape(&s, why, sizeof why), 0);
		ck_assert_uint_eq(s.sequence_bits, cases[i].bits);
		spate_format.parse(&s, prefix, payload, &p);
		ck_assert_uint_ne(p.has & FORMAT_SEQUENCE, 0);
		ck_assert_uint_eq(p.sequence, cases[i].sequence);
		spate_format.parse(&s, NULL, payload, &p);
		ck_assert_uint_eq(p.has & FORMAT_SEQUENCE, 0);
	}
}
END_TEST

START_TEST(counter_in_the_payload_is_a_header)
{
	struct format_shape s = { .prefix = 2,
				  .payload = 32,
				  .sequence = SEQUENCE_BE32,
				  .sequence_at = 6 };
	struct format_packet p = { .has = FORMAT_SEQUENCE,
				   .sequence = 0xa1b2c3d4 };
	uint8_t payload[32];

	memset(payload, 0xee, sizeof payload);
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.header, 8);
	spate_format.model(&s, payload);
	spate_format.stamp(&s, &p, NULL, payload);
	ck_assert_mem_eq(payload, "\0\0\0\0\xa1\xb2\xc3\xd4\xee", 9);
}
END_TEST

START_TEST(impossible_counters_are_refused)
{
	struct format_shape half = { .prefix = 4,
				     .payload = 100,
				     .sequence = SEQUENCE_LE64 };
	struct format_shape far = { .prefix = 8,
				    .payload = 100,
				    .sequence = SEQUENCE_LE64,
				    .sequence_at = 101 };
	struct format_shape last = far;
	struct format_shape wrap = far;
	struct format_shape timed = { .payload = 100,
				      .sequence = SEQUENCE_TIME };
	struct format_shape nothing = { .prefix = 8 };

	ck_assert_int_eq(shape(&half, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "with prefix = 8 it is whole"));
	ck_assert_int_eq(shape(&far, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "not within the datagram"));
	last.sequence_at = 100;
	ck_assert_int_eq(shape(&last, why, sizeof why), 0);
	wrap.sequence_at = UINT32_MAX;
	ck_assert_int_eq(shape(&wrap, why, sizeof why), -EINVAL);
	ck_assert_int_eq(shape(&timed, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "no header to count by"));
	ck_assert_int_eq(shape(&nothing, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "payload"));
}
END_TEST

START_TEST(rates_count_samples_or_wire)
{
	/* VDIF_8000-512: bits of samples; the same with headers counted. */
	ck_assert_uint_eq(format_fps(512000000, 1, 8000, 8032), 8000);
	ck_assert_uint_eq(format_fps(514048000, 1, 8000, 8032), 8000);
	ck_assert_uint_eq(format_fps(512000000, 4, 8000, 8032), 2000);
	ck_assert_uint_eq(format_fps(512000001, 1, 8000, 8032), 0);
	ck_assert_uint_eq(format_fps(512000000, 0, 8000, 8032), 0);
	ck_assert_uint_eq(format_fps(0, 1, 8000, 8032), 0);
	ck_assert_uint_eq(format_fps(UINT64_MAX - 7, 1, 1, 2), 0);
}
END_TEST

SUITE("raw", arrival_is_the_default, counters_of_every_kind,
      counter_in_the_payload_is_a_header, impossible_counters_are_refused,
      rates_count_samples_or_wire)
