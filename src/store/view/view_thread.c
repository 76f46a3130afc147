/* SPDX-License-Identifier: MIT */
/*
 * Checks packets against the view's thread.  Which slots are a thread's is
 * inferred from the order in which its sender sends threads, so every packet of
 * a thread is checked before it is shown.  A wrong packet is an error.  It is
 * not left out, because everything behind it would move and the length of the
 * view, which was computed before, would be wrong.
 */
#include <errno.h>

#include "store/view/view_priv.h"

/*
 * True if the packet is certainly of another thread.  Unreadable packets and
 * those marked invalid pass: fill may carry another thread's number where no
 * header of the right thread was known.
 */
static bool
is_other(const struct view *v, const uint8_t *payload)
{
	const uint32_t all = FORMAT_READABLE | FORMAT_VALID;
	struct format_packet p = { 0 };

	v->format->parse(&v->rec->shape, NULL, payload, &p);
	return (p.has & all) == all && p.thread != (uint32_t)v->choice.thread;
}

int64_t
view_check(const struct view *v, const struct view_span *s, const void *data,
	   uint64_t n)
{
	uint32_t head = view_head_bytes(&v->rec->shape);
	uint64_t step = s->step ? s->step : v->payload;
	uint64_t at = 0;

	if (!view_threaded(v) || s->kind != VIEW_DATA)
		return (int64_t)n;
	for (; at < n; at += step) {
		if (n - at < head)
			return (int64_t)at;
		if (is_other(v, (const uint8_t *)data + at))
			return at ? (int64_t)at : -EBADMSG;
	}
	return (int64_t)n;
}

uint64_t
view_want(const struct view *v, const struct view_span *s, uint64_t bytes)
{
	uint64_t want = s->lead + view_reach(s, bytes), last;
	uint64_t step = s->step ? s->step : v->payload;

	if (!view_threaded(v) || !bytes)
		return want;
	last = (s->passed + bytes - 1) / s->take * step +
	       view_head_bytes(&v->rec->shape);
	return want < last ? last : want;
}
