/* SPDX-License-Identifier: MIT */
/* Frames of a plugin that is loaded, with samples made here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "lib/suite.h"
#include "signal/quality.h"

enum { DATA = 4000, HEAD = 32, FRAMES = 16, SUB = 3 };

static struct format_shape shape;
static const struct format_ops *vdif;
static struct quality *q;
static char why[320];
static uint8_t frame[HEAD + DATA];
static json_t *lines;
static unsigned findings;

static void
start(const char *format, uint32_t payload)
{
	struct fault fault;

	ck_assert_int_eq(module_format(format, &vdif, &fault), 0);
	shape = (struct format_shape){ .payload = payload,
				       .fps = 4000,
				       .sequence = SEQUENCE_ARRIVAL,
				       .around = INT64_C(1795168800) };
	ck_assert_int_eq(vdif->shape(&shape, why, sizeof why), 0);
	lines = json_array();
	findings = 0;
}

static void
open_with(struct quality_args args)
{
	args.format = vdif;
	args.shape = &shape;
	ck_assert_int_eq(quality_open(&q, &args, why, sizeof why), 0);
}

static void
finish(void)
{
	quality_close(q);
	json_decref(lines);
}

/* Makes the header of a frame of four channels of 2 bits. */
static void
header_make(uint32_t thread, uint32_t number, unsigned channels_log)
{
	const struct format_packet p = {
		.has = FORMAT_READABLE | FORMAT_TIME | FORMAT_VALID,
		.second = shape.around,
		.frame = number,
		.thread = thread,
	};

	vdif->model(&shape, frame);
	frame[11] = (uint8_t)(frame[11] & ~31u) | (uint8_t)channels_log;
	vdif->stamp(&shape, &p, NULL, frame);
}

/* Returns a state of 2 bits as noise has them, from a number of 32 bits. */
static unsigned
noisy(uint32_t x)
{
	unsigned n = (x >> 8) % 1000;

	return n < 163 ? 0 : n < 500 ? 1 : n < 837 ? 2 : 3;
}

static unsigned
noise(void)
{
	static uint32_t x = 7;

	x = x * 1664525 + 1013904223;
	return noisy(x);
}

/*
 * Fills a frame of four channels; `kind` says of each: n noise, c constant,
 * = the same as the one before, s the same in each frame.
 */
static void
data_make(const char *kind)
{
	for (unsigned i = 0; i < DATA; i++) {
		unsigned byte = 0, state = 0;

		for (unsigned c = 0; c < 4; c++) {
			switch (kind[c]) {
			case 'c': state = 2; break;
			case 's': state = noisy(i * 2654435761u); break;
			case '=': break;
			default: state = noise();
			}
			byte |= state << 2 * c;
		}
		frame[HEAD + i] = (uint8_t)byte;
	}
}

static int
add(void)
{
	return quality_add(q, SUB, frame, why, sizeof why);
}

static const char *
finding(size_t line)
{
	const json_t *list =
	    json_object_get(json_array_get(lines, line), "findings");

	ck_assert_uint_le(json_array_size(list), 1);
	return json_array_size(list)
		   ? json_string_value(json_array_get(list, 0))
		   : "";
}

static double
number(size_t line, const char *key)
{
	return json_number_value(
	    json_object_get(json_array_get(lines, line), key));
}

START_TEST(channels_and_threads)
{
	static const char *const found[] = { "", "constant", "same",  "same",
					     "", "",	     "stuck", "" };

	start("vdif", HEAD + DATA);
	open_with((struct quality_args){ .tones = 0 });
	/* threads come in any order, and are told in theirs */
	for (unsigned i = 0; i < FRAMES; i++) {
		header_make(5, i, 2);
		data_make("nnsn");
		ck_assert_int_eq(add(), 0);
		header_make(2, i, 2);
		data_make("ncn=");
		ck_assert_int_eq(add(), 0);
	}
	ck_assert_int_eq(quality_json(q, "r", lines, &findings), 0);
	ck_assert_uint_eq(json_array_size(lines), 8);
	for (size_t i = 0; i < 8; i++) {
		ck_assert_msg(!strcmp(finding(i), found[i]), "line %zu: %s", i,
			      finding(i));
		ck_assert(number(i, "thread") == (i < 4 ? 2 : 5));
		ck_assert(number(i, "channel") == i % 4);
		ck_assert(number(i, "samples") == FRAMES * DATA);
		ck_assert(number(i, "sample_rate") == 4000 * DATA);
		ck_assert(number(i, "sub") == 3);
	}
	ck_assert_uint_eq(findings, 4);
	finish();
}
END_TEST

/* Two pieces are as good as one, and what was cleared is not seen any more. */
START_TEST(pieces_are_put_together)
{
	struct quality *piece[2], *sum;

	start("vdif", HEAD + DATA);
	for (unsigned i = 0; i < 2; i++) {
		open_with((struct quality_args){ .tones = 0 });
		piece[i] = q;
	}
	open_with((struct quality_args){ .tones = 0 });
	sum = q;
	for (unsigned i = 0; i < FRAMES; i++) {
		q = piece[i % 2];
		header_make(2, 1000 * i, 2);
		data_make("ncn=");
		ck_assert_int_eq(add(), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(quality_merge(sum, piece[i]), 0);
	ck_assert_int_eq(quality_json(sum, "r", lines, &findings), 0);
	ck_assert_uint_eq(json_array_size(lines), 4);
	ck_assert_str_eq(finding(0), "");
	ck_assert_str_eq(finding(1), "constant");
	ck_assert_str_eq(finding(2), "same");
	ck_assert_str_eq(finding(3), "same");
	ck_assert(number(0, "samples") == FRAMES * DATA);
	ck_assert(number(0, "frames") == FRAMES);
	ck_assert_uint_eq(quality_counts(sum).frames, FRAMES);

	quality_clear(sum);
	json_array_clear(lines);
	ck_assert_int_eq(quality_json(sum, "r", lines, &findings), 0);
	ck_assert_uint_eq(json_array_size(lines), 0);
	q = sum;
	header_make(2, 7, 2);
	data_make("nnnn");
	ck_assert_int_eq(add(), 0);
	ck_assert_int_eq(quality_json(sum, "r", lines, &findings), 0);
	ck_assert_str_eq(finding(1), "");
	ck_assert(number(1, "samples") == DATA);
	quality_close(piece[0]);
	quality_close(piece[1]);
	q = sum;
	finish();
}
END_TEST

START_TEST(frames_that_do_not_fit_are_counted)
{
	struct quality_counts c;

	start("vdif", HEAD + DATA);
	open_with((struct quality_args){ .tones = 0 });
	data_make("nnnn");
	header_make(0, 0, 2);
	add();
	/* other channels than before; invalid; no header */
	header_make(0, 1, 1);
	ck_assert_int_eq(add(), 0);
	header_make(0, 2, 2);
	frame[3] |= 0x80;
	ck_assert_int_eq(add(), 0);
	memset(frame, 0, HEAD);
	ck_assert_int_eq(add(), 0);
	c = quality_counts(q);
	ck_assert_uint_eq(c.frames, 1);
	ck_assert_uint_eq(c.invalid, 1);
	ck_assert_uint_eq(c.odd, 2);
	finish();
}
END_TEST

START_TEST(what_cannot_be_judged_is_said)
{
	start("vdif", HEAD + DATA);
	open_with((struct quality_args){ .tones = 7 });
	header_make(0, 0, 0);
	ck_assert_int_eq(add(), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "do not repeat"));
	/* 2^31 channels, and 3 bits */
	header_make(0, 0, 31);
	ck_assert_int_eq(add(), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "channels"));
	header_make(0, 0, 0);
	frame[15] = 2 << 2;
	ck_assert_int_eq(add(), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "samples of 3 bits"));
	finish();
	start("raw", 1000);
	ck_assert_int_eq(quality_open(&q,
				      &(struct quality_args){ .format = vdif,
							      .shape = &shape },
				      why, sizeof why),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "no samples"));
	json_decref(lines);
}
END_TEST

/* Adds frames of an EDV, whose words 4 to 7 are these and change by `by` from
 * frame to frame, with noise. */
static void
add_extended(const uint32_t word[4], const uint32_t by[4], bool complex)
{
	for (uint32_t i = 0; i < FRAMES; i++) {
		header_make(1, i, 2);
		frame[15] |= complex ? 0x80 : 0;
		for (uint32_t w = 0; w < 4; w++)
			write_le32(frame + 16 + 4 * w, word[w] + i * by[w]);
		data_make("nnnn");
		ck_assert_int_eq(add(), 0);
	}
	ck_assert_int_eq(quality_json(q, "r", lines, &findings), 0);
	ck_assert_uint_eq(json_array_size(lines), 4);
}

/* What words 4 to 7 of VDIF say of the sampler. */
START_TEST(headers_say_more)
{
	enum { SYNC = 0xacabfeed, KHZ = 4000 * DATA / 1000 };
	static const uint32_t same[4];
	static const struct {
		uint32_t word[4];
		bool complex;
		const char *found;
	} rates[] = {
		{ { 1u << 24 | KHZ, SYNC }, false, "" },
		{ { 1u << 24 | 1 << 23 | KHZ / 1000, SYNC }, false, "" },
		{ { 3u << 24 | KHZ / 2, SYNC }, false, "" },
		{ { 3u << 24 | KHZ / 2, SYNC }, true, "" },
		{ { 3u << 24 | KHZ / 4, SYNC }, true, "rate" },
		{ { 1u << 24 | KHZ / 4, SYNC }, false, "rate" },
		{ { 1u << 24 | KHZ / 4, 0 }, false, "" },
		{ { 2u << 24 | KHZ / 4, SYNC }, false, "" },
		{ { 1u << 24, SYNC }, false, "" },
	};

	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		start("vdif", HEAD + DATA);
		open_with((struct quality_args){ .tones = 0 });
		add_extended(rates[i].word, same, rates[i].complex);
		ck_assert_msg(!strcmp(finding(3), rates[i].found), "%zu: %s", i,
			      finding(3));
		finish();
	}

	/* The rate that is given is believed, and compared, too. */
	for (unsigned wrong = 0; wrong < 2; wrong++) {
		start("vdif", HEAD + DATA);
		open_with((struct quality_args){ .sample_rate =
						     KHZ * (1000 + wrong) });
		add_extended(same, same, false);
		ck_assert_str_eq(finding(0), wrong ? "rate" : "");
		ck_assert(number(0, "sample_rate") == KHZ * (1000 + wrong));
		finish();
	}

	/* R2DBE: 256 periods are 1 us, and ALMA's word 5 is none of that. */
	start("vdif", HEAD + DATA);
	open_with((struct quality_args){ .tones = 0 });
	add_extended((uint32_t[4]){ 2u << 24, (uint32_t)-100 },
		     (uint32_t[4]){ 0, 10, 1 }, false);
	ck_assert_str_eq(finding(0), "");
	ck_assert(number(0, "pps_ns") == (10 * (FRAMES - 1) - 100) / 0.256);
	json_array_clear(lines);
	add_extended((uint32_t[4]){ 2u << 24, 200 }, same, false);
	ck_assert_str_eq(finding(0), "pps");
	json_array_clear(lines);
	quality_clear(q);
	add_extended((uint32_t[4]){ 2u << 24 | 0xa5ea5u << 4, 9 },
		     (uint32_t[4]){ 0, 1000 }, false);
	ck_assert_str_eq(finding(0), "");
	ck_assert(
	    json_is_null(json_object_get(json_array_get(lines, 0), "pps_ns")));
	finish();

	/* Channel 2 is marked in every frame, channel 0 in all but one. */
	start("vdif", HEAD + DATA);
	open_with((struct quality_args){ .tones = 1000000 });
	add_extended((uint32_t[4]){ 4u << 24 | 4 << 16, SYNC, 0xa }, same,
		     false);
	json_array_clear(lines);
	header_make(1, FRAMES, 2);
	write_le32(frame + 16, 4u << 24 | 4 << 16);
	write_le32(frame + 20, SYNC);
	write_le32(frame + 24, 0xb);
	ck_assert_int_eq(add(), 0);
	ck_assert_int_eq(quality_json(q, "r", lines, &findings), 0);
	ck_assert_str_eq(finding(0), "marked");
	ck_assert_str_eq(finding(1), "");
	ck_assert_str_eq(finding(2), "marked");
	ck_assert(number(0, "samples") == DATA);
	ck_assert(number(1, "samples") == (FRAMES + 1) * DATA);
	ck_assert(number(2, "samples") == 0);
	finish();
}
END_TEST

START_TEST(mark5b_needs_to_be_told)
{
	static uint8_t m5b[10016];

	start("mark5b", sizeof m5b);
	open_with((struct quality_args){ .bits = 2 });
	vdif->model(&shape, m5b);
	vdif->stamp(&shape,
		    &(struct format_packet){ .has = FORMAT_TIME,
					     .second = shape.around },
		    NULL, m5b);
	ck_assert_int_eq(quality_add(q, SUB, m5b, why, sizeof why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "--channels"));
	quality_close(q);
	open_with((struct quality_args){ .bits = 2, .channels = 16 });
	ck_assert_int_eq(quality_add(q, SUB, m5b, why, sizeof why), 0);
	ck_assert_int_eq(quality_json(q, "r", lines, &findings), 0);
	ck_assert_uint_eq(json_array_size(lines), 16);
	ck_assert(number(0, "samples") == 2500);
	ck_assert_str_eq(finding(15), "constant");
	finish();
}
END_TEST

SUITE("quality", channels_and_threads, pieces_are_put_together,
      frames_that_do_not_fit_are_counted, what_cannot_be_judged_is_said,
      headers_say_more, mark5b_needs_to_be_told)
