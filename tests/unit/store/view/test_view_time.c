/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/made_view.h"

static struct view *view;
static struct fault fault;

/* Ranges are empty, or all, or parts that follow on each other. */
START_TEST(ranges)
{
	struct play *p = play_plain();
	struct view_choice c = { ALL };
	uint64_t parts = 0;

	p->lossy = 40;
	p->gappy = 30;
	play_make(p, 12);
	c.from_ns = play_time(p, 100);
	c.to_ns = c.from_ns;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), 0);
	view_free(view);
	c.to_ns = c.from_ns - 5;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), 0);
	view_free(view);
	c = (struct view_choice){ ALL, .to_ns = INT64_MAX };
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), p->slots * MADE_PAYLOAD);
	view_free(view);
	c = (struct view_choice){ ALL, .from_ns = INT64_MIN, .to_ns = 1 };
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(view_bytes(view), 0);
	view_free(view);
	c = (struct view_choice){ ALL };
	for (unsigned i = 0; i < p->slots; i += 1 + i % 7) {
		c.to_ns = play_time(p, i) + 31 * (i % 3);
		ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
		play_shows(p, view, c);
		parts += view_bytes(view);
		view_free(view);
		c.from_ns = c.to_ns;
	}
	c.to_ns = 0;
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_eq(parts + view_bytes(view), p->slots * MADE_PAYLOAD);
	view_free(view);
	play_end(p);
}
END_TEST

/* Frames that are cut in two begin with their first half. */
START_TEST(ranges_of_halves)
{
	struct play *p = play_plain();
	struct view_choice c = { ALL };
	struct view_span s;

	p->parts = 2;
	play_make(p, 6);
	for (unsigned i = 1; i < 2 * MADE_SLOTS; i++) {
		c.from_ns = play_time(p, i);
		c.to_ns = play_time(p, i + 70);
		ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
		ck_assert_uint_eq(view_bytes(view), 70 * MADE_PAYLOAD);
		ck_assert_int_eq(view_find(view, 0, &s), 0);
		ck_assert_uint_eq(s.offset, (i + 1) / 2 * 2 * MADE_PAYLOAD);
		view_free(view);
	}
	play_end(p);
}
END_TEST

/* Of threads in turn with a counter that tells no time: off by less than a
 * turn, and no packet twice. */
START_TEST(ranges_of_threads)
{
	struct play *p = play_threads(false, false);
	struct view_choice c = { ALL };
	uint64_t before = 0, at;

	p->lossy = 10;
	play_make(p, 12);
	for (unsigned i = 0; i < p->slots; i += 5) {
		c.to_ns = play_time(p, i) + 1;
		ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
		at = view_bytes(view) / MADE_PAYLOAD;
		ck_assert_uint_ge(at + 4, i / 4 * 4 + 4);
		ck_assert_uint_le(at, i / 4 * 4 + 8);
		ck_assert_uint_ge(at, before);
		before = at;
		view_free(view);
	}
	play_end(p);
}
END_TEST

SUITE("view_time", ranges, ranges_of_halves, ranges_of_threads)
