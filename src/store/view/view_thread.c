/* SPDX-License-Identifier: MIT */
/*
 * That a sender keeps its turns is a belief, so of a thread every packet is
 * checked that is shown.  What is wrong is refused rather than shown, and
 * rather than left out: all that is behind it would be in another place than
 * its size was reckoned with.
 */
#include <errno.h>

#include "store/view/view_priv.h"

/* Fill may name another thread, where there was no header of the right one. */
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
