/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/shape.h"
#include "lib/suite.h"

START_TEST(sequences)
{
	static const struct {
		const char *text;
		enum sequence_kind kind;
		unsigned at;
	} all[] = {
		{ "arrival", SEQUENCE_ARRIVAL, 0 },
		{ "le32@4", SEQUENCE_LE32, 4 },
		{ "le64@0", SEQUENCE_LE64, 0 },
		{ "be32@0", SEQUENCE_BE32, 0 },
		{ "be64@65535", SEQUENCE_BE64, 65535 },
		{ "edv2", SEQUENCE_EDV2, 0 },
		{ "time", SEQUENCE_TIME, 0 },
	};
	struct format_shape s = { .payload = 42 };
	char text[SHAPE_SEQUENCE_TEXT];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		ck_assert_int_eq(shape_sequence_parse(&s, all[i].text), 0);
		ck_assert_int_eq(s.sequence, all[i].kind);
		ck_assert_uint_eq(s.sequence_at, all[i].at);
		ck_assert_str_eq(shape_sequence_show(&s, text), all[i].text);
	}
	ck_assert_uint_eq(s.payload, 42);
}
END_TEST

/* A kind that has no name, or the name of another, is seen here. */
START_TEST(each_kind_has_a_name)
{
	for (int kind = 0; kind < SEQUENCE_KINDS; kind++) {
		struct format_shape s = { .sequence = kind }, back = { 0 };
		char text[SHAPE_SEQUENCE_TEXT];

		ck_assert_int_eq(
		    shape_sequence_parse(&back, shape_sequence_show(&s, text)),
		    0);
		ck_assert_int_eq(back.sequence, kind);
	}
}
END_TEST

START_TEST(sequences_refused)
{
	static const char *const bad[] = {
		"",	   "le64",	 "le64@",    "le64@x",
		"le64@-1", "le64@+1",	 "le64@1x",  "le16@0",
		"LE64@0",  "time@0",	 "edv2@",    "arrival ",
		"@0",	   "le64@65536", "le64@0@0", "le64@99999999999999999999"
	};
	struct format_shape s = { .sequence = SEQUENCE_TIME, .sequence_at = 5 };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(shape_sequence_parse(&s, bad[i]) == -EINVAL,
			      "\"%s\"", bad[i]);
	ck_assert_int_eq(s.sequence, SEQUENCE_TIME);
	ck_assert_uint_eq(s.sequence_at, 5);
}
END_TEST

START_TEST(there_and_back)
{
	static const uint32_t threads[] = { 3, 0, 1023 };
	const struct format_shape s = {
		.prefix = 8,
		.payload = 8032,
		.sequence = SEQUENCE_BE32,
		.sequence_at = 4,
		.sequence_bits = 32,
		.parts = 2,
		.header = 32,
		.fps = 62500,
		.threads_n = 3,
		.threads = threads,
		.rate = 32000000000,
		.around = 1795168800,
	};
	struct format_shape back = { .options = &s };
	json_t *json = shape_to_json(&s);

	ck_assert_str_eq(json_string_value(json_object_get(json, "sequence")),
			 "be32@4");
	ck_assert_int_eq(shape_from_json(&back, json), 0);
	json_decref(json);
	ck_assert_uint_eq(back.prefix, 8);
	ck_assert_uint_eq(back.payload, 8032);
	ck_assert_int_eq(back.sequence, SEQUENCE_BE32);
	ck_assert_uint_eq(back.sequence_at, 4);
	ck_assert_uint_eq(back.sequence_bits, 32);
	ck_assert_uint_eq(back.parts, 2);
	ck_assert_uint_eq(back.header, 32);
	ck_assert_uint_eq(back.fps, 62500);
	ck_assert_uint_eq(back.threads_n, 3);
	ck_assert_int_eq(memcmp(back.threads, threads, sizeof threads), 0);
	ck_assert_uint_eq(back.rate, 32000000000);
	ck_assert_int_eq(back.around, 1795168800);
	ck_assert_ptr_eq(back.options, &s);
	shape_clear(&back);
	ck_assert_ptr_null(back.threads);
	ck_assert_uint_eq(back.threads_n, 0);
}
END_TEST

START_TEST(heaps)
{
	struct format_shape s = {
		.payload = 4465152,
		.sequence = SEQUENCE_ARRIVAL,
		.sequence_bits = 64,
		.parts = 1,
		.store = HEAP_CUBE,
		.item = 0x600a,
		.time_item = 0x1600,
		.time_step = UINT64_C(1) << 40,
	};
	struct format_shape back = { 0 };
	json_t *json = shape_to_json(&s);

	ck_assert_str_eq(json_string_value(json_object_get(json, "store")),
			 "cube");
	ck_assert_int_eq(shape_from_json(&back, json), 0);
	json_decref(json);
	ck_assert_int_eq(back.store, HEAP_CUBE);
	ck_assert_uint_eq(back.item, 0x600a);
	ck_assert_uint_eq(back.time_item, 0x1600);
	ck_assert_uint_eq(back.time_step, UINT64_C(1) << 40);

	s = (struct format_shape){ .payload = 4096,
				   .sequence = SEQUENCE_ARRIVAL,
				   .sequence_bits = 64,
				   .store = HEAP_ROW };
	json = shape_to_json(&s);
	ck_assert_ptr_null(json_object_get(json, "item"));
	ck_assert_int_eq(shape_from_json(&back, json), 0);
	json_decref(json);
	ck_assert_int_eq(back.store, HEAP_ROW);
	ck_assert_uint_eq(back.item, 0);
}
END_TEST

START_TEST(little_is_enough)
{
	struct format_shape s = { 0 };
	json_t *json =
	    json_pack("{s:i s:s}", "payload", 100, "sequence", "le32@0");

	ck_assert_int_eq(shape_from_json(&s, json), 0);
	json_decref(json);
	ck_assert_uint_eq(s.payload, 100);
	ck_assert_uint_eq(s.sequence_bits, 32);
	ck_assert_uint_eq(s.threads_n, 0);
	ck_assert_ptr_null(s.threads);
	shape_clear(&s);
}
END_TEST

START_TEST(json_refused)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"7",
		"{\"payload\":100}",
		"{\"sequence\":\"time\"}",
		"{\"payload\":0,\"sequence\":\"time\"}",
		"{\"payload\":-1,\"sequence\":\"time\"}",
		"{\"payload\":4294967296,\"sequence\":\"time\"}",
		"{\"payload\":1.5,\"sequence\":\"time\"}",
		"{\"payload\":\"1\",\"sequence\":\"time\"}",
		"{\"payload\":1,\"sequence\":\"le99@0\"}",
		"{\"payload\":1,\"sequence\":7}",
		"{\"payload\":1,\"sequence\":\"time\",\"bits\":31}",
		"{\"payload\":1,\"sequence\":\"time\",\"rate\":-1}",
		"{\"payload\":1,\"sequence\":\"time\",\"rate\":\"x\"}",
		"{\"payload\":1,\"sequence\":\"time\",\"around\":\"x\"}",
		"{\"payload\":1,\"sequence\":\"time\",\"store\":\"rows\"}",
		"{\"payload\":1,\"sequence\":\"time\",\"store\":1}",
		"{\"payload\":1,\"sequence\":\"time\",\"item\":-1}",
		"{\"payload\":1,\"sequence\":\"time\",\"time_step\":-1}",
		"{\"payload\":1,\"sequence\":\"time\",\"time_step\":\"1\"}",
		"{\"payload\":1,\"sequence\":\"time\",\"threads\":5}",
		"{\"payload\":1,\"sequence\":\"time\",\"threads\":[0,-1]}",
		"{\"payload\":1,\"sequence\":\"time\",\"threads\":[\"0\"]}",
	};
	struct format_shape s = { .payload = 42 };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		json_t *json = json_loads(bad[i], JSON_DECODE_ANY, NULL);

		ck_assert_ptr_nonnull(json);
		ck_assert_msg(shape_from_json(&s, json) == -EINVAL, "%s",
			      bad[i]);
		ck_assert_uint_eq(s.payload, 42);
		json_decref(json);
	}
}
END_TEST

SUITE("shape", sequences, each_kind_has_a_name, sequences_refused,
      there_and_back, heaps, little_is_enough, json_refused)
