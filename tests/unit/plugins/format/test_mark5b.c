/* SPDX-License-Identifier: MIT */
/* Mark5B headers, byte by byte: made by hand from the manual. */
#include "lib/suite.h"

#include "format/mark5b.c"

static char why[256];

/* 2026-11-20T10:00:00Z is MJD 61364, second 36000. */
#define NOON INT64_C(1795168800)

/* Frame 12345 of 25600 is at .4822 s; its CRC is the one that baseband, a
 * reader of others, gives these words. */
static const uint8_t header_2026[HEADER] = {
	0xed, 0xde, 0xad, 0xab, 0x39, 0x30, 0x00, 0x00,
	0x00, 0x60, 0x43, 0x36, 0x65, 0x3e, 0x22, 0x48,
};

static uint8_t payload[FRAME];

static struct format_shape
shaped(uint32_t prefix, uint32_t bytes)
{
	struct format_shape s = {
		.prefix = prefix, .payload = bytes, .fps = 25600, .around = NOON
	};

	ck_assert_msg(shape(&s, why, sizeof why) == 0, "%s", why);
	return s;
}

static void
header_put(void)
{
	memset(payload, 0x5a, sizeof payload);
	memcpy(payload, header_2026, HEADER);
}

START_TEST(reads_the_first_half)
{
	static const uint8_t prefix[8] = { 1, 1, 1, 1, 0x78, 0x56, 0x34, 0x12 };
	struct format_shape s = shaped(8, HALF);
	struct format_packet p;

	ck_assert_uint_eq(s.parts, 2);
	ck_assert_uint_eq(s.header, 16);
	ck_assert_int_eq(s.sequence, SEQUENCE_LE32);
	ck_assert_uint_eq(s.sequence_at, 4);
	ck_assert_uint_eq(s.sequence_bits, 32);
	header_put();
	parse(&s, prefix, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_SEQUENCE | FORMAT_READABLE |
				     FORMAT_TIME | FORMAT_VALID | FORMAT_PART);
	ck_assert_uint_eq(p.sequence, 0x12345678);
	ck_assert_uint_eq(p.part, 0);
	ck_assert_int_eq(p.second, NOON);
	ck_assert_uint_eq(p.frame, 12345);
	ck_assert_uint_eq(p.bytes, 10016);
}
END_TEST

START_TEST(reads_the_second_half)
{
	static const uint8_t prefix[8] = { 0, 0, 0, 0, 1, 0, 0, 0x80 };
	struct format_shape s = shaped(8, HALF);
	struct format_packet p;

	memset(payload, 0x5a, sizeof payload);
	parse(&s, prefix, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_SEQUENCE | FORMAT_READABLE |
				     FORMAT_VALID | FORMAT_PART);
	ck_assert_uint_eq(p.sequence, 0x80000001);
	ck_assert_uint_eq(p.part, 1);
}
END_TEST

START_TEST(reads_a_whole_frame_and_counts_by_time)
{
	struct format_shape s = shaped(0, FRAME);
	struct format_packet p;

	ck_assert_uint_eq(s.parts, 1);
	ck_assert_int_eq(s.sequence, SEQUENCE_TIME);
	header_put();
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_SEQUENCE | FORMAT_READABLE |
				     FORMAT_TIME | FORMAT_VALID);
	ck_assert_uint_eq(p.sequence,
			  (uint64_t)(NOON - 946684800) * 25600 + 12345);
	s.fps = 0;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID);
	s.fps = 12345;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has & FORMAT_SEQUENCE, 0);
}
END_TEST

START_TEST(user_bits_and_test_pattern_are_not_the_frame)
{
	struct format_shape s = shaped(0, FRAME);
	struct format_packet p;

	header_put();
	payload[5] |= 0x80;
	payload[7] = 0xff;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.frame, 12345);
	p.frame = 1;
	stamp(&s, &p, NULL, payload);
	ck_assert_mem_eq(payload + 4, "\x01\x80\x00\xff", 4);
}
END_TEST

START_TEST(time_that_is_none)
{
	static const uint32_t bad[] = { 0x3643600a, 0xa6436000, 0x36486400,
					0xffffffff };
	struct format_shape s = shaped(8, HALF);
	uint8_t prefix[8] = { 0 };
	struct format_packet p;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		header_put();
		write_le32(payload + 8, bad[i]);
		parse(&s, prefix, payload, &p);
		ck_assert_uint_eq(p.has & FORMAT_TIME, 0);
		ck_assert_uint_ne(p.has & FORMAT_READABLE, 0);
		ck_assert_uint_eq(p.part, 0);
	}
}
END_TEST

START_TEST(whole_frames_need_the_sync_word)
{
	struct format_shape s = shaped(0, FRAME);
	struct format_packet p;

	header_put();
	payload[0] ^= 1;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, 0);
}
END_TEST

START_TEST(around_settles_the_thousand_days)
{
	struct format_shape s = shaped(0, FRAME);
	struct format_packet p;

	header_put();
	s.around = NOON + INT64_C(499) * DAY;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON);
	s.around = NOON - INT64_C(499) * DAY;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON);
	s.around = NOON + INT64_C(501) * DAY;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON + INT64_C(1000) * DAY);
	s.around = 0; /* unknown: the first years of Mark5B */
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON - INT64_C(8000) * DAY);
	s.around = INT64_MAX;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_ne(p.has & FORMAT_TIME, 0);
	s.around = INT64_MIN;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON - INT64_C(8000) * DAY);
}
END_TEST

START_TEST(days_run_over_the_thousand)
{
	static const struct {
		uint32_t word;
		int64_t mjd;
	} cases[] = {
		{ 0x99900000, 60999 },
		{ 0x00000000, 61000 },
		{ 0x86400000, 60864 },
		{ 0x86300000, 61863 },
	};
	struct format_shape s = shaped(0, FRAME); /* around MJD 61364 */
	struct format_packet p;

	header_put();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_le32(payload + 8, cases[i].word);
		parse(&s, NULL, payload, &p);
		ck_assert_int_eq(p.second, (cases[i].mjd - 40587) * DAY);
	}
}
END_TEST

START_TEST(model_and_stamp_make_the_header)
{
	struct format_shape s = shaped(8, HALF);
	struct format_packet p = { .has = FORMAT_SEQUENCE | FORMAT_TIME |
					  FORMAT_VALID | FORMAT_PART,
				   .sequence = 0x100000002,
				   .second = NOON,
				   .frame = 12345 };
	uint8_t prefix[8] = { 0 };

	memset(payload, 0xff, sizeof payload);
	model(&s, payload);
	stamp(&s, &p, prefix, payload);
	ck_assert_mem_eq(payload, header_2026, HEADER);
	ck_assert_uint_eq(payload[HEADER], 0xff);
	ck_assert_mem_eq(prefix, "\0\0\0\0\2\0\0\0", 8);
}
END_TEST

START_TEST(stamp_of_a_second_half_is_its_counter)
{
	struct format_shape s = shaped(8, HALF);
	struct format_packet p = { .has = FORMAT_SEQUENCE | FORMAT_TIME,
				   .sequence = 9,
				   .second = NOON,
				   .part = 1 };
	uint8_t prefix[8] = { 0 };

	memset(payload, 0x5a, sizeof payload);
	stamp(&s, &p, prefix, payload);
	ck_assert_uint_eq(prefix[4], 9);
	for (size_t i = 0; i < sizeof payload; i++)
		ck_assert_uint_eq(payload[i], 0x5a);
}
END_TEST

START_TEST(stamp_without_fps_leaves_the_fraction)
{
	struct format_shape s = shaped(0, FRAME);
	struct format_packet p = { .has = FORMAT_TIME,
				   .second = NOON,
				   .frame = 12345 };

	header_put();
	s.fps = 0;
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(read_le32(payload + 12) >> 16, 0);
	ck_assert_uint_eq(read_le32(payload + 12), crc_of(0x36436000, 0));
	p.second = -1; /* before 1970: no Mark5B is, but none may crash */
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(read_le32(payload + 8), 0x58700000);
}
END_TEST

START_TEST(fps_comes_of_the_rate)
{
	struct format_shape s = { .prefix = 8,
				  .payload = HALF,
				  .rate = 2048000000 };

	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.fps, 25600);
	s.fps = 0;
	s.rate = 25600ull * 8 * 10016;
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.fps, 25600);
}
END_TEST

static void
refused(struct format_shape s, const char *hint)
{
	why[0] = 0;
	ck_assert_int_eq(shape(&s, why, sizeof why), -EINVAL);
	ck_assert_msg(strstr(why, hint), "\"%s\" does not say %s", why, hint);
}

START_TEST(shape_refuses_in_sentences)
{
	const struct format_shape half = { .prefix = 8, .payload = HALF };
	struct format_shape s = half;

	s.payload = 5016;
	refused(s, "payload = 5008");
	s = half;
	s.prefix = 0;
	refused(s, "prefix = 8");
	s.sequence = SEQUENCE_ARRIVAL;
	refused(s, "prefix = 8");
	s.sequence = SEQUENCE_LE32;
	refused(s, "no room");
	s = half;
	s.prefix = 4;
	refused(s, "le32@0");
	s = half;
	s.sequence = SEQUENCE_EDV2;
	refused(s, "VDIF");
	s = half;
	s.threads_n = 2;
	refused(s, "no threads");
	s = half;
	s.fps = 32769;
	refused(s, "32768");
	s = half;
	s.sequence = SEQUENCE_LE64;
	s.sequence_at = 4;
	refused(s, "half in the prefix");
}
END_TEST

SUITE("mark5b", reads_the_first_half, reads_the_second_half,
      reads_a_whole_frame_and_counts_by_time,
      user_bits_and_test_pattern_are_not_the_frame, time_that_is_none,
      whole_frames_need_the_sync_word, around_settles_the_thousand_days,
      days_run_over_the_thousand, model_and_stamp_make_the_header,
      stamp_of_a_second_half_is_its_counter,
      stamp_without_fps_leaves_the_fraction, fps_comes_of_the_rate,
      shape_refuses_in_sentences)
