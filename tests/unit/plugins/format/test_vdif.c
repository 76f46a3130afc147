/* SPDX-License-Identifier: MIT */
/* VDIF headers, byte by byte: made by hand from the specification. */
#include "lib/suite.h"

#include "format/vdif.c"

enum { PAYLOAD = 8032 };

static char why[256];
static const uint32_t threads[] = { 3, 0, 7 };

/* 2026-11-20T10:00:00Z: epoch 53 (2026-07-01) and 12304800 seconds. */
#define NOON INT64_C(1795168800)

static const uint8_t header_2026[HEADER] = {
	0xa0, 0xc1, 0xbb, 0x00, /* 12304800 */
	0x39, 0x30, 0x00, 0x35, /* frame 12345, epoch 53 */
	0xec, 0x03, 0x00, 0x24, /* 1004 x 8 bytes, 16 channels, version 1 */
	0x66, 0x45, 0x07, 0x04, /* "Ef", thread 7, 2 bits, real */
};

static uint8_t payload[PAYLOAD];

static struct format_shape
shaped(uint32_t prefix, enum sequence_kind sequence)
{
	struct format_shape s = { .prefix = prefix,
				  .payload = PAYLOAD,
				  .sequence = sequence,
				  .fps = 20000,
				  .threads = threads,
				  .threads_n = 3,
				  .around = NOON };

	ck_assert_msg(shape(&s, why, sizeof why) == 0, "%s", why);
	return s;
}

static void
header_put(const uint8_t header[HEADER])
{
	memset(payload, 0x5a, sizeof payload);
	memcpy(payload, header, HEADER);
}

START_TEST(reads_a_header)
{
	static const uint8_t prefix[8] = { 0x3e, 0x2c, 0xde, 0x1e, 1 };
	struct format_shape s = shaped(8, SEQUENCE_DEFAULT);
	struct format_packet p;

	header_put(header_2026);
	parse(&s, prefix, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_SEQUENCE | FORMAT_READABLE |
				     FORMAT_TIME | FORMAT_VALID);
	ck_assert_uint_eq(p.sequence, 0x11ede2c3e);
	ck_assert_int_eq(p.second, NOON);
	ck_assert_uint_eq(p.frame, 12345);
	ck_assert_uint_eq(p.thread, 7);
	ck_assert_uint_eq(p.station, 0x4566);
	ck_assert_uint_eq(p.bytes, PAYLOAD);
	ck_assert_uint_eq(p.part, 0);
}
END_TEST

START_TEST(sees_invalid_data)
{
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p;

	header_put(header_2026);
	payload[3] |= 0x80;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has & (FORMAT_READABLE | FORMAT_VALID),
			  FORMAT_READABLE);
	ck_assert_int_eq(p.second, NOON);
}
END_TEST

START_TEST(reads_legacy_headers_unasked)
{
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p;

	header_put(header_2026);
	payload[3] |= 0x40;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_ne(p.has & FORMAT_SEQUENCE, 0);
	ck_assert_int_eq(p.second, NOON);
}
END_TEST

START_TEST(garbage_is_not_readable)
{
	static const uint8_t bytes[] = { 0, 0xff, 0x20, 0x44 };
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p;

	for (size_t i = 0; i < sizeof bytes; i++) {
		memset(payload, bytes[i], sizeof payload);
		parse(&s, NULL, payload, &p);
		ck_assert_uint_eq(p.has, 0);
	}
	header_put(header_2026);
	payload[8]++;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, 0);
}
END_TEST

START_TEST(counts_by_time)
{
	struct format_shape s = shaped(0, SEQUENCE_DEFAULT);
	uint64_t expected = ((uint64_t)(NOON - 946684800) * 20000 + 12345) * 3;
	struct format_packet p;

	ck_assert_int_eq(s.sequence, SEQUENCE_TIME);
	header_put(header_2026);
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.sequence, expected + 2);
	payload[14] = 3;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.sequence, expected);

	payload[14] = 5; /* a thread that nobody told of */
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID);
	ck_assert_uint_eq(p.thread, 5);
}
END_TEST

START_TEST(time_needs_fps_and_threads)
{
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p;

	header_put(header_2026);
	s.fps = 12345; /* frames 0 to 12344 */
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID);
	s.fps = 0;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID);
	s.fps = 20000;
	s.threads_n = 0;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has, FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID);
	s.threads = NULL;
	s.threads_n = 3;
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has & FORMAT_SEQUENCE, 0);
}
END_TEST

START_TEST(counts_by_edv2)
{
	struct format_shape s = shaped(0, SEQUENCE_EDV2);
	struct format_packet p;

	header_put(header_2026);
	payload[19] = 2;
	memcpy(payload + 24, "\1\2\3\4\5\6\7\10", 8);
	parse(&s, NULL, payload, &p);
	ck_assert_uint_ne(p.has & FORMAT_SEQUENCE, 0);
	ck_assert_uint_eq(p.sequence, 0x0807060504030201);

	payload[19] = 1; /* words 6 and 7 are a name */
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has & FORMAT_SEQUENCE, 0);
	payload[19] = 2;
	payload[3] |= 0x40; /* words 6 and 7 are data */
	parse(&s, NULL, payload, &p);
	ck_assert_uint_eq(p.has & FORMAT_SEQUENCE, 0);
}
END_TEST

START_TEST(half_years_begin_on_time)
{
	ck_assert_int_eq(half_start(0), 946684800);    /* 2000-01-01 */
	ck_assert_int_eq(half_start(1), 962409600);    /* 2000-07-01 */
	ck_assert_int_eq(half_start(2), 978307200);    /* 2001-01-01 */
	ck_assert_int_eq(half_start(53), 1782864000);  /* 2026-07-01 */
	ck_assert_int_eq(half_start(57), 1846022400);  /* 2028 is leap */
	ck_assert_int_eq(half_start(64), 1956528000);  /* 2032-01-01 */
	ck_assert_int_eq(half_start(191), 3960316800); /* 2095-07-01 */
	ck_assert_uint_eq(half_of(INT64_MIN), 0);
	ck_assert_uint_eq(half_of(1782864000), 53);
	ck_assert_uint_eq(half_of(1782863999), 52);
	ck_assert_uint_eq(half_of(INT64_MAX), HALVES - 1);
}
END_TEST

START_TEST(around_settles_the_wrap)
{
	const int64_t cycle = INT64_C(11688) * DAY; /* 32 years */
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p;

	header_put(header_2026);
	s.around = NOON + SIXTEEN_YEARS - 1;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON);
	s.around = NOON + SIXTEEN_YEARS + 1;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON + cycle);
	s.around = 0; /* unknown */
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON);
	s.around = INT64_MIN;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON);
	s.around = INT64_MAX;
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, NOON + 2 * cycle);
}
END_TEST

START_TEST(model_and_stamp_make_the_header)
{
	static const struct vdif_options o = { .station = "Ef",
					       .bits = 2,
					       .channels = 16 };
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	struct format_packet p = { .has = FORMAT_TIME | FORMAT_VALID,
				   .second = NOON,
				   .frame = 12345,
				   .thread = 7 };

	s.options = &o;
	memset(payload, 0xff, sizeof payload);
	model(&s, payload);
	stamp(&s, &p, NULL, payload);
	ck_assert_mem_eq(payload, header_2026, HEADER);
	ck_assert_uint_eq(payload[HEADER], 0xff);
}
END_TEST

START_TEST(model_follows_its_options)
{
	struct vdif_options o = { .station = "4711",
				  .bits = 8,
				  .channels = 1,
				  .complex = true,
				  .legacy = true };
	struct format_shape s = shaped(0, SEQUENCE_TIME);

	s.options = &o;
	s.payload = 8016;
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.header, 16);
	memset(payload, 0xff, sizeof payload);
	model(&s, payload);
	ck_assert_uint_eq(read_le32(payload), 1u << 30);
	ck_assert_uint_eq(read_le32(payload + 8), 1002 | 1 << 29);
	ck_assert_uint_eq(read_le32(payload + 12), 4711u | 7u << 26 | 1u << 31);
	ck_assert_uint_eq(payload[16], 0xff);

	o.legacy = false;
	o.edv = 1;
	s.payload = PAYLOAD;
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	model(&s, payload);
	ck_assert_uint_eq(read_le32(payload + 16), 1u << 24 | 80000);
	ck_assert_uint_eq(read_le32(payload + 20), 0xacabfeed);

	o.edv = 0;
	s.sequence = SEQUENCE_EDV2;
	model(&s, payload);
	ck_assert_uint_eq(payload[19], 2);
	ck_assert_uint_eq(read_le32(payload + 20), 0);
}
END_TEST

START_TEST(stamp_keeps_what_it_is_not_told)
{
	struct format_shape s = shaped(8, SEQUENCE_DEFAULT);
	struct format_packet p = { .has = FORMAT_SEQUENCE | FORMAT_VALID,
				   .sequence = 0x1122334455667788,
				   .frame = 1,
				   .thread = 1 };
	uint8_t prefix[8] = { 0 };

	header_put(header_2026);
	stamp(&s, &p, prefix, payload);
	ck_assert_mem_eq(payload, header_2026, HEADER);
	ck_assert_mem_eq(prefix, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
	p.has = 0;
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[3], 0x80);
	payload[3] = 0;
	ck_assert_mem_eq(payload, header_2026, HEADER);
	p.has = FORMAT_READABLE | FORMAT_VALID; /* its thread is known */
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[14], 1);
	payload[14] = 7;
	ck_assert_mem_eq(payload, header_2026, HEADER);
}
END_TEST

START_TEST(stamp_keeps_the_epoch_of_its_stream)
{
	struct format_shape s = shaped(0, SEQUENCE_TIME);
	/* Half a year on: a new stream would use epoch 54. */
	struct format_packet p = { .has = FORMAT_TIME | FORMAT_VALID,
				   .second = NOON + 180 * DAY };

	header_put(header_2026);
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[7], 53);
	ck_assert_uint_eq(read_le32(payload), 12304800 + 180 * DAY);

	p.second = 946684800 + 5; /* before that epoch */
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[7], 0);
	ck_assert_uint_eq(read_le32(payload), 5);

	payload[7] = 1; /* 33 years on; the field holds 34 */
	p.second = half_start(1) + 33 * INT64_C(365) * DAY;
	s.around = p.second;
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[7], 1);
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, half_start(1) + 33 * INT64_C(365) * DAY);

	p.second = half_start(EPOCHS) + 5; /* after the wrap */
	payload[7] = 0;
	s.around = p.second;
	stamp(&s, &p, NULL, payload);
	ck_assert_uint_eq(payload[7], 0);
	parse(&s, NULL, payload, &p);
	ck_assert_int_eq(p.second, half_start(EPOCHS) + 5);
}
END_TEST

START_TEST(shape_chooses)
{
	struct format_shape s = { .prefix = 8,
				  .payload = PAYLOAD,
				  .rate = 512000000,
				  .threads = threads,
				  .threads_n = 1 };

	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_int_eq(s.sequence, SEQUENCE_LE64);
	ck_assert_uint_eq(s.sequence_at, 0);
	ck_assert_uint_eq(s.sequence_bits, 64);
	ck_assert_uint_eq(s.parts, 1);
	ck_assert_uint_eq(s.header, 32);
	ck_assert_uint_eq(s.fps, 8000);

	s.fps = 0;
	s.threads_n = 0; /* how many share the rate is not known */
	ck_assert_int_eq(shape(&s, why, sizeof why), 0);
	ck_assert_uint_eq(s.fps, 0);
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
	static const uint32_t high = 1024;
	const struct format_shape good = { .prefix = 8, .payload = PAYLOAD };
	struct format_shape s = good;

	s.payload = 8030;
	refused(s, "data has payload = 8032");
	s.payload = 32;
	refused(s, "no VDIF frame");
	s.payload = 0;
	refused(s, "no VDIF frame");
	s.payload = 1u << 27;
	refused(s, "no VDIF frame");
	s = good;
	s.prefix = 4;
	refused(s, "le32@0");
	s = good;
	s.prefix = 0;
	s.sequence = SEQUENCE_LE64;
	refused(s, "\"time\" or \"edv2\"");
	s.sequence_at = 32;
	refused(s, "\"time\" or \"edv2\"");
	s = good;
	s.threads = &high;
	s.threads_n = 1;
	refused(s, "0 to 1023");
	s = good;
	s.fps = (1u << 24) + 1;
	refused(s, "larger frames");
}
END_TEST

START_TEST(shape_refuses_options)
{
	static const char *const bad[] = {
		"", "E", "Efl", "65536", "-1", "!a"
	};
	struct vdif_options o = usual;
	struct format_shape s = { .prefix = 8, .payload = PAYLOAD };

	s.options = &o;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		o.station = bad[i];
		refused(s, "two letters");
	}
	o = usual;
	o.channels = 3;
	refused(s, "power of two");
	o = usual;
	o.legacy = true;
	o.edv = 2;
	refused(s, "legacy");
	o.edv = 0;
	s.sequence = SEQUENCE_EDV2;
	refused(s, "legacy");
	o = usual;
	o.edv = 1;
	refused(s, "edv = 2");
}
END_TEST

START_TEST(says_how_samples_lie)
{
	struct vdif_options o = usual;
	struct format_shape s = { .prefix = 8, .payload = PAYLOAD };
	struct format_samples l;
	uint8_t header[PAYLOAD];

	s.options = &o;
	for (unsigned bits = 1; bits <= 32; bits++) {
		o = usual;
		o.bits = bits;
		o.channels = 1u << bits % 11;
		o.complex = bits % 2;
		o.legacy = bits % 3 == 0;
		ck_assert_int_eq(shape(&s, why, sizeof why), 0);
		model(&s, header);
		samples(&s, header, &l);
		ck_assert_uint_eq(l.header, o.legacy ? 16 : 32);
		ck_assert_uint_eq(l.bits, bits);
		ck_assert_uint_eq(l.channels, o.channels);
		ck_assert(l.complex == o.complex);
		ck_assert_int_eq(l.coding, SAMPLE_OFFSET_BINARY);
	}
}
END_TEST

SUITE("vdif", half_years_begin_on_time, reads_a_header, sees_invalid_data,
      reads_legacy_headers_unasked, garbage_is_not_readable, counts_by_time,
      time_needs_fps_and_threads, counts_by_edv2, around_settles_the_wrap,
      model_and_stamp_make_the_header, model_follows_its_options,
      stamp_keeps_what_it_is_not_told, stamp_keeps_the_epoch_of_its_stream,
      shape_chooses, shape_refuses_in_sentences, shape_refuses_options,
      says_how_samples_lie)
