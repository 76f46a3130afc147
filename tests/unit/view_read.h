/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_VIEW_READ_H
#define SPATE_TESTS_VIEW_READ_H

#include <errno.h>

#include "unit/made_view.h"

/*
 * A view, read as spatefs does: what it says is in chunks comes in pieces that
 * end anywhere, as a disk's reader gives them, and is checked before it is
 * used.
 */
static struct view *view;

/* Bytes of a block from one place on, as many as the reader has in one piece:
 * at least `least`. */
static inline uint64_t
piece_get(struct play *p, const struct view_span *s, uint64_t back,
	  uint64_t least, uint64_t want, uint8_t *to)
{
	uint64_t n = want, filled = 0;

	if (least < want)
		n = least + dice_roll(&p->dice, (uint32_t)(want - least + 1));
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
	uint64_t want = view_want(view, s, bytes), n;
	int64_t good;
	size_t got;

	ck_assert_uint_le(want, sizeof raw);
	n = piece_get(p, s, s->lead, 1, want, raw);
	good = view_check(view, s, raw, n);
	ck_assert_int_ge(good, 0);
	if (good <= s->lead) { /* a header that is in two pieces */
		n = piece_get(p, s, s->lead, want, want, raw);
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

#endif
