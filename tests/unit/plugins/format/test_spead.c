/* SPDX-License-Identifier: MIT */
#include "lib/suite.h"

#include "format/spead.c"
#include "format/spead_packet.c"

static char why[256];

static struct format_shape
shaped(const struct spead_options *o)
{
	struct format_shape s = { .payload = 34816, .options = o };

	ck_assert_msg(shape(&s, why, sizeof why) == 0, "%s", why);
	return s;
}

START_TEST(rows)
{
	const struct spead_options o = { .store = "heap", .time = "count" };
	struct format_shape s = shaped(&o);

	ck_assert_int_eq(s.store, HEAP_ROW);
	ck_assert_uint_eq(s.payload, 4096);
	ck_assert_uint_eq(s.prefix, 0);
	ck_assert_uint_eq(s.parts, 1);
	s = shaped(NULL);
	ck_assert_int_eq(s.store, HEAP_ROW);
}
END_TEST

START_TEST(cubes)
{
	struct spead_options o = { .store = "cube",
				   .item = 0x600a,
				   .time = "count",
				   .time_step = 1ull << 40 };
	struct format_shape s = shaped(&o), again;

	ck_assert_int_eq(s.store, HEAP_CUBE);
	ck_assert_uint_eq(s.payload, 34816);
	ck_assert_uint_eq(s.item, 0x600a);
	ck_assert_uint_eq(s.time_item, 0);
	ck_assert_uint_eq(s.time_step, 1ull << 40);
	o.time = "0x1600";
	s = shaped(&o);
	ck_assert_uint_eq(s.time_item, 0x1600);
	ck_assert_uint_eq(format_heap_time(&s, 131328), 131328);
	o.time = "5632";
	ck_assert_uint_eq(shaped(&o).time_item, 0x1600);
	/* 131328 as <u4 was sent as its bytes lay. */
	o.time = "le32@0x6000";
	s = shaped(&o);
	ck_assert_uint_eq(s.time_item, 0x6000);
	ck_assert_uint_eq(format_heap_time(&s, 0x10200), 131328);
	o.time = "le16@0x6000";
	s = shaped(&o);
	ck_assert_uint_eq(format_heap_time(&s, 0x3412), 0x1234);
	/* A shape that is complete needs no options. */
	again = s;
	again.options = NULL;
	ck_assert_int_eq(shape(&again, why, sizeof why), 0);
	ck_assert_uint_eq(again.item, s.item);
	ck_assert_int_eq(again.store, HEAP_CUBE);
}
END_TEST

static void
refused(struct spead_options o, struct format_shape s, const char *text)
{
	s.options = &o;
	if (!o.time)
		o.time = "count";
	if (!o.store)
		o.store = "cube";
	memset(why, 0, sizeof why);
	ck_assert_int_eq(shape(&s, why, sizeof why), -EINVAL);
	ck_assert_msg(strstr(why, text), "%s: %s", text, why);
}

START_TEST(what_is_refused)
{
	static const char *const times[] = { "",       "time",	 "0x",
					     "0",      "0x8000", "le32@",
					     "le64@1", "1600h",	 "count " };
	const struct format_shape good = { .payload = 100 };
	const struct spead_options cube = { .item = 0x600a };

	refused((struct spead_options){ 0 }, good, "item = ");
	refused(cube, (struct format_shape){ 0 }, "payload = ");
	refused(cube, (struct format_shape){ .payload = 100, .prefix = 8 },
		"prefix");
	refused(
	    cube,
	    (struct format_shape){ .payload = 100, .sequence = SEQUENCE_LE64 },
	    "sequence");
	refused((struct spead_options){ .item = 5, .time = "5" }, good, "both");
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		refused((struct spead_options){ .item = 5, .time = times[i] },
			good, times[i]);
	refused((struct spead_options){ .store = "heap", .item = 5 }, good,
		"item");
	refused((struct spead_options){ .store = "heap", .time = "5" }, good,
		"time ");
	refused((struct spead_options){ .store = "heap", .time_step = 5 }, good,
		"time_step");
}
END_TEST

SUITE("spead", rows, cubes, what_is_refused)
