/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/module.h"
#include "cli/gen/gen_frames.h"
#include "cli/show/args.h"
#include "lib/suite.h"

#define NOON INT64_C(1795168800) /* 2026-11-20 */

static const struct args_texts no_options;
static struct gen_format format;
static struct gen_frames frames;
static struct fault fault;

static void
start(const struct gen_wish *wish)
{
	struct gen_wish w = *wish;

	if (!w.options)
		w.options = &no_options;
	w.around = NOON;
	ck_assert_msg(gen_format_open(&format, &w, &fault) == 0, "%s: %s",
		      fault.what, fault.why);
	frames = (struct gen_frames){
		.format = format.ops,
		.shape = &format.shape,
		.seed = 1,
		.first = 1000,
		.second = NOON,
	};
	ck_assert_int_eq(gen_frames_init(&frames), 0);
}

static void
finish(void)
{
	gen_frames_finish(&frames);
	gen_format_close(&format);
}

static struct format_packet
parsed(uint64_t packet)
{
	const uint8_t *datagram = gen_frames_make(&frames, 0, packet);
	struct format_packet p;

	format.ops->parse(&format.shape, datagram,
			  datagram + format.shape.prefix, &p);
	return p;
}

START_TEST(vdif)
{
	const struct gen_wish wish = { .format = "vdif",
				       .threads = "3,0-1",
				       .prefix = 8,
				       .payload = 1032,
				       .fps = 10 };
	static const uint32_t threads[] = { 3, 0, 1 };

	start(&wish);
	for (uint64_t i = 0; i < 100; i++) {
		struct format_packet p = parsed(i);

		ck_assert_uint_eq(
		    p.has & (FORMAT_SEQUENCE | FORMAT_TIME | FORMAT_VALID),
		    FORMAT_SEQUENCE | FORMAT_TIME | FORMAT_VALID);
		ck_assert_uint_eq(p.sequence, 1000 + i);
		ck_assert_uint_eq(p.thread, threads[i % 3]);
		ck_assert_int_eq(p.second, NOON + (int64_t)(i / 30));
		ck_assert_uint_eq(p.frame, i / 3 % 10);
	}
	ck_assert_uint_eq(gen_frames_sequence(&frames, 70), 1070);
	finish();
}
END_TEST

START_TEST(mark5b_in_halves)
{
	const struct gen_wish wish = {
		.format = "mark5b", .prefix = 8, .payload = 5008, .fps = 10
	};

	start(&wish);
	frames.frame = 5;
	for (uint64_t i = 0; i < 200; i++) {
		struct format_packet p = parsed(i);

		ck_assert_uint_eq(p.sequence, 1000 + i);
		ck_assert_uint_eq(p.part, i % 2);
		if (i % 2)
			continue;
		ck_assert_int_eq(p.second, NOON + (int64_t)(i / 2 + 5) / 10);
		ck_assert_uint_eq(p.frame, (i / 2 + 5) % 10);
	}
	finish();
}
END_TEST

START_TEST(a_packet_is_always_the_same)
{
	const struct gen_wish wish = { .format = "raw",
				       .prefix = 8,
				       .payload = 100,
				       .sequence = "le64@0" };
	uint8_t first[300][108];

	start(&wish);
	for (uint64_t i = 0; i < 300; i++)
		memcpy(first[i], gen_frames_make(&frames, 0, i), 108);
	for (uint64_t i = 300; i-- > 0;)
		ck_assert_mem_eq(first[i], gen_frames_make(&frames, 0, i), 108);
	/* ... and no other's, even where the noise is the same. */
	for (uint64_t i = 64; i < 300; i++)
		ck_assert_mem_ne(first[i] + 8, first[i - 64] + 8, 100);
	finish();
	start(&wish);
	ck_assert_mem_eq(first[77], gen_frames_make(&frames, 0, 77), 108);
	gen_frames_finish(&frames);
	frames.seed = 2;
	ck_assert_int_eq(gen_frames_init(&frames), 0);
	ck_assert_mem_ne(first[77] + 8, gen_frames_make(&frames, 0, 77) + 8,
			 100);
	finish();
}
END_TEST

/* Two ports that changed places cannot pass for the right ones. */
START_TEST(ports_differ_in_data_alone)
{
	const struct gen_wish wish = { .format = "raw",
				       .prefix = 8,
				       .payload = 100,
				       .sequence = "le64@0" };
	uint8_t zero[108], one[108];

	start(&wish);
	for (uint64_t i = 0; i < 100; i++) {
		memcpy(zero, gen_frames_make(&frames, 0, i), sizeof zero);
		memcpy(one, gen_frames_make(&frames, 1, i), sizeof one);
		ck_assert_mem_eq(zero, one, 8);
		ck_assert_mem_ne(zero + 8, one + 8, 100);
		ck_assert_mem_ne(one, gen_frames_make(&frames, 431, i), 108);
	}
	finish();
}
END_TEST

START_TEST(neighbours_stay_good)
{
	const struct gen_wish wish = {
		.format = "vdif", .prefix = 8, .payload = 1032, .fps = 10
	};
	const uint8_t *at[64];

	start(&wish);
	ck_assert_uint_eq(frames.source.ready, 64);
	for (uint64_t i = 0; i < 64; i++)
		at[i] = gen_frames_make(&frames, 0, 100 + i);
	for (uint64_t i = 0; i < 64; i++)
		ck_assert_uint_eq(read_le64(at[i]), 1100 + i);
	finish();
}
END_TEST

START_TEST(tiny_payloads)
{
	const struct gen_wish wish = { .format = "raw",
				       .payload = 4,
				       .sequence = "le32@0" };

	start(&wish);
	ck_assert_uint_eq(parsed(9).sequence, 1009);
	finish();
}
END_TEST

START_TEST(fps_of_any_rate)
{
	struct gen_wish wish = { .format = "vdif",
				 .prefix = 8,
				 .payload = 8032,
				 .rate = 1000000000 };

	start(&wish);
	ck_assert_uint_eq(format.shape.fps, 15625);
	finish();
	wish.rate = 1000000007; /* no whole frames: the next fewer ones */
	start(&wish);
	ck_assert_uint_eq(format.shape.fps, 15562);
	finish();
	wish.rate = 1;
	start(&wish);
	ck_assert_uint_eq(format.shape.fps, 1);
	finish();
}
END_TEST

START_TEST(options)
{
	const struct args_texts good = {
		{ "station=Ef", "bits=8", "complex=true" }, 3
	};
	const struct gen_wish wish = {
		.format = "vdif", .payload = 1032, .fps = 10, .options = &good
	};
	const uint8_t *header;

	start(&wish);
	header = gen_frames_make(&frames, 0, 0);
	ck_assert_uint_eq(read_le32(header + 12) & 0xffff, 'E' << 8 | 'f');
	ck_assert_uint_eq(read_le32(header + 12) >> 26, 0x20 | 7);
	finish();
}
END_TEST

static void
refused(struct gen_wish wish, const char *option)
{
	const struct args_texts one = { { option }, option ? 1 : 0 };

	wish.options = &one;
	if (!wish.format)
		wish.format = "vdif";
	if (!wish.payload)
		wish.payload = 1032;
	wish.around = NOON;
	memset(&fault, 0, sizeof fault);
	ck_assert_msg(gen_format_open(&format, &wish, &fault) < 0, "%s",
		      option ? option : "");
	ck_assert_ptr_nonnull(fault.code);
	ck_assert_uint_gt(strlen(fault.what), 0);
}

START_TEST(what_is_refused)
{
	const struct gen_wish none = { 0 };

	refused(none, "staton=Ef");
	refused(none, "station");
	refused(none, "=Ef");
	refused(none, "bits=");
	refused(none, "bits=2; edv=1");
	refused(none, "bits=two");
	refused(none, "bits=33");
	refused(none, "station=\"; edv=1; a=\"");
	refused((struct gen_wish){ .format = "vfid" }, NULL);
	refused((struct gen_wish){ .sequence = "le16@0" }, NULL);
	refused((struct gen_wish){ .payload = 1031 }, NULL);
	refused((struct gen_wish){ .threads = "" }, NULL);
	refused((struct gen_wish){ .threads = "0," }, NULL);
	refused((struct gen_wish){ .threads = "3-1" }, NULL);
	refused((struct gen_wish){ .threads = "0 1" }, NULL);
	refused((struct gen_wish){ .threads = "0-1024" }, NULL);
	refused((struct gen_wish){ .threads = "1024" }, NULL);
}
END_TEST

SUITE("gen_frames", vdif, mark5b_in_halves, a_packet_is_always_the_same,
      ports_differ_in_data_alone, neighbours_stay_good, tiny_payloads,
      fps_of_any_rate, options, what_is_refused)
