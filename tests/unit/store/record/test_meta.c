/* SPDX-License-Identifier: MIT */
/* The lines of the metadata as text: their keys are a promise to programs. */
#include <string.h>

#include "store/record/meta.h"
#include "lib/suite.h"

static void
line_is(json_t *line, const char *want)
{
	char *text = json_dumps(line, JSON_COMPACT);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, want);
	free(text);
	json_decref(line);
}

START_TEST(head)
{
	static const char *const disks[] = { "/mnt/disk0", "/mnt/disk1" };
	struct format_shape shape = { .prefix = 8,
				      .payload = 8032,
				      .parts = 1,
				      .sequence = SEQUENCE_LE64 };
	struct geometry geometry;
	struct meta_head h = { .name = "rec",
			       .stream = "dbbc3",
			       .format = "vdif",
			       .extension = "vdif",
			       .fill = FILL_ZERO,
			       .start_ns = 1500000001,
			       .shape = &shape,
			       .geometry = &geometry,
			       .disks = disks,
			       .disks_n = 2 };
	const char *name, *fill, *start;
	json_int_t slots, spate;
	json_t *line;

	ck_assert_int_eq(geometry_make(&geometry, 8032, 1, 64 << 20), 0);
	line = meta_head(&h);
	ck_assert_ptr_nonnull(line);
	ck_assert_int_eq(json_unpack(line, "{s:I,s:s,s:s,s:s,s:{s:I}}", "spate",
				     &spate, "name", &name, "fill", &fill,
				     "start", &start, "geometry", "slots",
				     &slots),
			 0);
	ck_assert_int_eq(spate, 1);
	ck_assert_str_eq(name, "rec");
	ck_assert_str_eq(fill, "zero");
	ck_assert_str_eq(start, "1970-01-01T00:00:01.500000001Z");
	ck_assert_int_eq(slots, 8320);
	ck_assert_uint_eq(json_array_size(json_object_get(line, "disks")), 2);
	ck_assert(json_is_object(json_object_get(line, "shape")));
	ck_assert_ptr_null(json_object_get(line, "subs"));
	ck_assert_ptr_null(json_object_get(line, "channels_per_file"));
	json_decref(line);
	h.subs = 432;
	h.channels_per_file = 4;
	line = meta_head(&h);
	ck_assert_int_eq(json_unpack(line, "{s:I,s:I}", "subs", &slots,
				     "channels_per_file", &spate),
			 0);
	ck_assert_int_eq(slots, 432);
	ck_assert_int_eq(spate, 4);
	json_decref(line);
	h.name = "\xff not UTF-8";
	ck_assert_ptr_null(meta_head(&h));
}
END_TEST

START_TEST(run)
{
	static const uint32_t threads[] = { 3, 0 };
	const struct format_shape shape = { .threads = threads,
					    .threads_n = 2 };
	struct block b = { .run = 2, .base = UINT64_MAX, .sub = 7 };

	line_is(meta_run(&b, 1, &shape),
		"{\"run\":2,\"base\":\"18446744073709551615\","
		"\"time\":\"1970-01-01T00:00:00.000000000Z\"}");
	line_is(meta_run(&b, 8, &shape),
		"{\"run\":2,\"base\":\"18446744073709551615\","
		"\"time\":\"1970-01-01T00:00:00.000000000Z\",\"sub\":7}");
	b.fps = 400; /* was learned */
	line_is(meta_run(&b, 1, &shape),
		"{\"run\":2,\"base\":\"18446744073709551615\","
		"\"time\":\"1970-01-01T00:00:00.000000000Z\","
		"\"fps\":400,\"threads\":[3,0]}");
}
END_TEST

START_TEST(holes)
{
	uint64_t present[3] = { ~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0) };
	struct block b = {
		.present = present, .slots = 192, .used = 130, .number = 12
	};

	ck_assert_ptr_null(meta_holes(&b));
	present[0] &= ~UINT64_C(1);
	present[0] &= ~(UINT64_C(1) << 63);
	present[1] &= ~UINT64_C(3);
	present[2] &= ~UINT64_C(2);
	line_is(meta_holes(&b),
		"{\"block\":12,\"holes\":[[0,1],[63,3],[129,1]]}");
	memset(present, 0, sizeof present);
	line_is(meta_holes(&b), "{\"block\":12,\"holes\":[[0,130]]}");
	b.used = 0;
	ck_assert_ptr_null(meta_holes(&b));
}
END_TEST

SUITE("meta", head, run, holes)
