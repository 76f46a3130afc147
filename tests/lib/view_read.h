/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_VIEW_READ_H
#define SPATE_TESTS_VIEW_READ_H

#include <errno.h>

#include "lib/made_view.h"

/*
 * A view, read as spatefs does: what it says is in chunks comes in pieces that
 * end anywhere, as a disk's reader gives them, and is checked before it is
 * used.
 */
static struct view *view;
static struct fault fault;
static uint8_t is[PLAY_BYTES], want[PLAY_BYTES];

/* Bytes of a block from one place on, as many as the reader has in one piece:
 * at least `least`. */
static inline uint64_t
piece_get(struct play *p, const struct view_span *s, uint64_t back,
	  uint64_t least, uint64_t most, uint8_t *to)
{
	uint64_t n = most, filled = 0;

	if (least < most)
		n = least + dice_roll(&p->dice, (uint32_t)(most - least + 1));
	ck_assert_uint_ge(s->at, back);
	ck_assert_int_eq(
	    recording_read(p->rec, to, n, s->offset - back, &filled), n);
	ck_assert_uint_eq(filled, 0); /* it is all in chunks */
	return n;
}

/* Some bytes of a span of data. */
static inline size_t
data_get(struct play *p, const struct view_span *s, uint8_t *to, size_t bytes)
{
	static uint8_t raw[1 << 20];
	uint64_t most = view_want(view, s, bytes), n;
	int64_t good;
	size_t got;

	ck_assert_uint_le(most, sizeof raw);
	n = piece_get(p, s, s->lead, 1, most, raw);
	good = view_check(view, s, raw, n);
	ck_assert_int_ge(good, 0);
	if (good <= s->lead) { /* a header that is in two pieces */
		n = piece_get(p, s, s->lead, most, most, raw);
		good = view_check(view, s, raw, n);
	}
	ck_assert_int_gt(good, s->lead);
	ck_assert_int_le(good, n);
	got =
	    view_gather(s, raw + s->lead, (uint64_t)good - s->lead, to, bytes);
	ck_assert_uint_gt(got, 0);
	return got;
}

/* Reads up to the end; -1: some of it nobody can tell. */
static inline ssize_t
view_read(struct play *p, uint8_t *to, size_t bytes, uint64_t offset)
{
	struct view_span s;
	size_t done = 0, n;
	int err;

	while (done < bytes) {
		err = view_find(view, offset + done, &s);
		if (err == -ENODATA)
			break;
		ck_assert_int_eq(err, 0);
		ck_assert_uint_gt(s.bytes, 0);
		ck_assert_uint_le(s.bytes, view_bytes(view) - offset - done);
		if (s.kind == VIEW_LOST)
			return -1;
		n = bytes - done < s.bytes ? bytes - done : s.bytes;
		if (s.kind == VIEW_FILLED)
			ck_assert_int_eq(
			    view_fill_bytes(view, &s, to + done, n), 0);
		else
			n = data_get(p, &s, to + done, n);
		done += n;
	}
	return (ssize_t)done;
}

/* ---- kinds of recordings ---------------------------------------------- */

/* One substream of one thread, all of it there. */
static inline struct play *
plain_new(void)
{
	struct play *p = calloc(1, sizeof *p);

	ck_assert_ptr_nonnull(p);
	p->dice.state = 7;
	p->subs = p->threads = 1;
	p->thread[0] = 3;
	p->fps = 10;
	return p;
}

static inline struct play *
plain_make(struct play *p, unsigned events)
{
	play_begin(p);
	play_script(p, events);
	play_go(p, p->events);
	made_end(&p->m, p->events);
	play_open(p);
	play_list(p, 0);
	return p;
}

static inline int
make(struct play *p, struct view_choice c)
{
	view = NULL;
	fault = (struct fault){ 0 };
	return view_make(&view, p->rec, &c, &fault);
}

/* As play_expect() has it. */
static inline void
shows(struct play *p, struct view_choice c)
{
	uint64_t bytes = play_expect(p, &c, want);

	ck_assert_uint_eq(view_bytes(view), bytes);
	ck_assert_int_eq(view_read(p, is, sizeof is, 0), bytes);
	ck_assert_mem_eq(is, want, bytes);
}

#define ALL .thread = -1

/* Four threads, as the metadata lists them or packets tell. */
static inline struct play *
threads_new(bool listed, bool timed)
{
	struct play *p = plain_new();

	p->threads = 4;
	for (unsigned i = 0; i < 4; i++)
		p->thread[i] = 9 - i;
	p->listed = listed;
	p->timed = timed;
	return p;
}

#endif
