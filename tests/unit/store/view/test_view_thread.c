/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/made_view.h"

static struct view *view;
static struct fault fault;
static uint8_t want[PLAY_BYTES];

START_TEST(threads)
{
	for (unsigned how = 0; how < 3; how++) {
		struct play *p = play_threads(how, how == 2);
		uint32_t is_there[8];

		p->anew = 30;
		p->lossy = 5;
		play_make(p, 20);
		ck_assert_int_eq(view_threads(p->rec, 0, is_there, 8), 4);
		for (unsigned i = 0; i < 4; i++) {
			struct view_choice c = { .thread = 6 + (int)i,
						 .strip = i };

			ck_assert_uint_eq(is_there[i], 6 + i);
			ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
			play_shows(p, view, c);
			view_free(view);
		}
		ck_assert_int_eq(view_threads(p->rec, 0, is_there, 2), 2);
		ck_assert_int_eq(view_threads(p->rec, 1, is_there, 8), 0);
		play_end(p);
	}
}
END_TEST

/* Of one that nothing came of, a list knows where it would have been. */
START_TEST(thread_lost)
{
	for (unsigned listed = 0; listed < 2; listed++) {
		struct play *p = play_threads(listed, false);
		struct view_choice c = { .thread = 7 };

		play_begin(p);
		play_script(p, 6);
		for (unsigned i = 0; i < p->events; i++)
			p->event[i].present = 0xbbbbbbbbbbbbbbbb;
		play_go(p, p->events);
		made_end(&p->m, p->events);
		play_open(p);
		play_list(p, 0);
		ck_assert_int_eq(play_view(p, &view, &fault, c),
				 listed ? 0 : -EIO);
		if (listed)
			play_shows(p, view, c);
		else
			ck_assert_ptr_nonnull(strstr(fault.what, "threads"));
		view_free(view);
		play_end(p);
	}
}
END_TEST

/* All that is wanted of a run is behind its last packet. */
START_TEST(thread_at_the_end)
{
	struct play *p = play_threads(true, false);
	struct view_choice c = { .thread = 7 };
	struct view_span s;

	play_begin(p);
	play_script(p, 6);
	p->event[3].lost = p->event[4].lost = true;
	play_go(p, p->events);
	made_end(&p->m, p->events);
	play_open(p);
	play_list(p, 0);
	c.from_ns = play_time(p, 3 * MADE_SLOTS + 40);
	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_uint_ge(view_bytes(view), 21 * MADE_PAYLOAD);
	ck_assert_uint_le(view_bytes(view), 22 * MADE_PAYLOAD);
	ck_assert_int_eq(view_find(view, 0, &s), 0);
	ck_assert_int_eq(s.kind, VIEW_FILLED);
	ck_assert_uint_eq(s.at / MADE_PAYLOAD % 4, 2); /* 9, 8, 7, 6 */
	view_free(view);
	play_end(p);
}
END_TEST

/* A sender that leaves its turn is found out, packet by packet. */
START_TEST(out_of_turn)
{
	struct play *p = play_make(play_threads(false, false), 4);
	struct view_choice c = { .thread = 8, .strip = 40 };
	struct view_span s;
	uint8_t *data = want;

	ck_assert_int_eq(play_view(p, &view, &fault, c), 0);
	ck_assert_int_eq(view_find(view, 0, &s), 0);
	ck_assert_uint_eq(s.lead, 40);
	ck_assert_uint_eq(s.at, MADE_PAYLOAD + 40);
	memcpy(data, p->base, 4 * MADE_BLOCK);
	data += s.at - s.lead;
	ck_assert_int_eq(view_check(view, &s, data, MADE_BLOCK / 2),
			 MADE_BLOCK / 2);
	/* Headers that are cut off are not known, and are asked for. */
	ck_assert_uint_eq(view_want(view, &s, 1), MADE_PAYLOAD);
	ck_assert_uint_eq(view_want(view, &s, 24), MADE_PAYLOAD);
	ck_assert_uint_eq(view_want(view, &s, 25), 5 * MADE_PAYLOAD);
	ck_assert_int_eq(view_check(view, &s, data, MADE_PAYLOAD - 1), 0);
	ck_assert_int_eq(view_check(view, &s, data, 5 * MADE_PAYLOAD - 1),
			 4 * MADE_PAYLOAD);
	ck_assert_int_eq(view_check(view, &s, data, 4 * MADE_PAYLOAD),
			 4 * MADE_PAYLOAD);
	play_frame(p, 8, FORMAT_VALID, data + 8 * MADE_PAYLOAD);
	ck_assert_int_eq(view_check(view, &s, data, MADE_BLOCK / 2),
			 8 * MADE_PAYLOAD);
	play_frame(p, 8, 0, data + 8 * MADE_PAYLOAD); /* fill may be so */
	ck_assert_int_eq(view_check(view, &s, data, MADE_BLOCK / 2),
			 MADE_BLOCK / 2);
	play_frame(p, 8, FORMAT_VALID, data);
	ck_assert_int_eq(view_check(view, &s, data, MADE_BLOCK / 2), -EBADMSG);
	view_free(view);
	play_end(p);
}
END_TEST

SUITE("view_thread", threads, thread_lost, thread_at_the_end, out_of_turn)
