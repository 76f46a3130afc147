/* SPDX-License-Identifier: MIT */
/* Views while the recording grows. */
#include "config.h"

#include "lib/made_view.h"

static struct view *view;
static struct fault fault;
static uint8_t is[PLAY_BYTES], want[PLAY_BYTES];

/* What was shown stays while more is recorded, and more follows. */
START_TEST(growing)
{
	static const struct view_choice choices[] = {
		{ ALL },
		{ ALL, .strip = 9 },
		{ ALL, .fill = VIEW_SKIP },
		{ .thread = 3, .strip = 2 },
		{ ALL, .from_ns = MADE_SECOND * 1000000000 + 5000000000 },
	};
	enum { CHOICES = sizeof choices / sizeof *choices };
	struct play *p = play_plain();
	struct view *views[CHOICES];
	uint64_t bytes;

	p->anew = p->gone = p->lossy = 10;
	p->gappy = 20;
	play_begin(p);
	play_script(p, 40);
	play_open(p);
	for (unsigned i = 0; i < CHOICES; i++)
		ck_assert_int_eq(
		    view_make(&views[i], p->rec, &choices[i], &fault), 0);
	while (p->written < p->events) {
		play_go(p, p->written + 1);
		ck_assert_int_eq(recording_refresh(p->rec), 0);
		if (p->event[p->written - 1].lost)
			continue;
		/* What is lost is known to be when somebody says so. */
		recording_settle(p->rec, p->written);
		ck_assert_int_eq(recording_refresh(p->rec), 0);
		play_list(p, 0);
		for (unsigned i = 0; i < CHOICES; i++) {
			view = views[i];
			ck_assert_int_eq(view_refresh(view), 0);
			bytes = play_expect(p, &choices[i], want);
			ck_assert_uint_eq(view_bytes(view), bytes);
			ck_assert_int_eq(play_read(p, view, is, sizeof is, 0),
					 bytes);
			ck_assert_mem_eq(is, want, bytes);
		}
	}
	for (unsigned i = 0; i < CHOICES; i++)
		view_free(views[i]);
	play_end(p);
}
END_TEST

/* What was shown stays where it is though a disk comes back and tells of more:
 * its data are seen where there was fill, and not put in where there was
 * nothing. */
START_TEST(late)
{
	struct view_choice skip = { ALL, .fill = VIEW_SKIP };
	struct play *p = play_plain();
	struct view *file, *strip, *thread;
	struct view_span s;
	uint64_t bytes;

	play_begin(p);
	play_script(p, 9);
	p->event[1].lost = p->event[4].lost = p->event[5].lost = true;
	play_go(p, 7);
	play_open(p);
	recording_settle(p->rec, 6);
	ck_assert_int_eq(recording_refresh(p->rec), 0);
	ck_assert_int_eq(
	    play_view(p, &view, &fault, (struct view_choice){ ALL }), 0);
	file = view;
	ck_assert_int_eq(play_view(p, &view, &fault,
				   (struct view_choice){ ALL, .strip = 3 }),
			 0);
	strip = view;
	ck_assert_int_eq(
	    play_view(p, &view, &fault, (struct view_choice){ .thread = 3 }),
	    0);
	thread = view;
	ck_assert_int_eq(play_view(p, &view, &fault, skip), 0);
	ck_assert_uint_eq(view_bytes(file), 7 * MADE_BLOCK);
	ck_assert_uint_eq(view_bytes(view), 4 * MADE_BLOCK);
	play_write(p, &p->event[1], 1, 1);
	p->event[1].lost = false;
	ck_assert_int_eq(recording_refresh(p->rec), 0);
	play_list(p, 0);
	ck_assert_int_eq(view_refresh(view), 0);
	ck_assert_uint_eq(view_bytes(view), 4 * MADE_BLOCK);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0), 4 * MADE_BLOCK);
	ck_assert_mem_eq(is, p->base, MADE_BLOCK);
	ck_assert_mem_eq(is + MADE_BLOCK, p->base + 2 * MADE_BLOCK,
			 2 * MADE_BLOCK);
	ck_assert_mem_eq(is + 3 * MADE_BLOCK, p->base + 6 * MADE_BLOCK,
			 MADE_BLOCK);
	view_free(view);
	view = file;
	ck_assert_int_eq(view_refresh(view), 0);
	play_shows(p, view, *view_choice(view));
	view_free(view);
	view = strip;
	bytes = play_expect(p, view_choice(view), want);
	ck_assert_int_eq(play_read(p, view, is, sizeof is, 0), bytes);
	ck_assert_mem_eq(is, want, bytes);
	view_free(view);
	/* Which packets of it would be a thread's is not looked at again. */
	ck_assert_int_eq(view_find(thread, MADE_BLOCK, &s), 0);
	ck_assert_int_eq(s.kind, VIEW_LOST);
	view_free(thread);
	play_end(p);
}
END_TEST

/* Blocks that are in memory are shown, but where nobody can tell yet which
 * packets they lack, or which thread is where. */
START_TEST(in_memory)
{
	static const struct view_choice choices[] = {
		{ ALL, .strip = 1 },
		{ ALL, .fill = VIEW_SKIP },
		{ .thread = 7 },
	};
	static const unsigned shown[] = { 6, 4, 3 };
	struct play *p = play_threads(false, false);
	struct index_record r[4];
	struct view *views[3];

	play_begin(p);
	play_script(p, 7);
	for (unsigned i = 3; i < 6; i++) {
		p->event[i].run = 1;
		p->event[i].first = (uint64_t)(i - 3) * MADE_SLOTS;
		p->event[i].frame0 = 3 * MADE_SLOTS + 1;
	}
	p->event[4].present = ~UINT64_C(8);
	play_go(p, 3);
	play_open(p);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(play_view(p, &view, &fault, choices[i]), 0);
		views[i] = view;
		r[i] = play_record(p, &p->event[3 + i], 3 + i);
	}
	ck_assert_int_eq(recording_remember(p->rec, r, 3), 3);
	ck_assert_int_eq(recording_refresh(p->rec), 0);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(view_refresh(views[i]), 0);
		ck_assert_uint_eq(view_bytes(views[i]),
				  shown[i] * MADE_BLOCK /
				      (i == 2 ? 4 : MADE_PAYLOAD) *
				      (i ? 1 : MADE_PAYLOAD - 1) *
				      (i == 1 ? MADE_PAYLOAD : 1));
	}
	play_go(p, p->events);
	ck_assert_int_eq(recording_refresh(p->rec), 0);
	play_list(p, 0);
	for (unsigned i = 0; i < 3; i++) {
		view = views[i];
		ck_assert_int_eq(view_refresh(view), 0);
		play_shows(p, view, choices[i]);
		view_free(view);
	}
	play_end(p);
}
END_TEST

SUITE("view_live", growing, late, in_memory)
