/* SPDX-License-Identifier: MIT */
/* Makes fill for a span.  The recording makes fill by position within a block,
 * so fill for stripped packets is made whole and then stripped. */
#include <errno.h>

#include "store/view/view_priv.h"

static enum fill_kind
kind_of(const struct view *v)
{
	switch (v->choice.fill) {
	case VIEW_INVALID: return FILL_INVALID;
	case VIEW_ZERO: return FILL_ZERO;
	default: return v->stored;
	}
}

int
view_fill_bytes(struct view *v, const struct view_span *s, void *to,
		size_t bytes)
{
	struct recording *rec = v->rec;
	struct view_span left = *s;
	uint8_t *at = to;
	int err = 0;
	size_t place;

	if (rec->shape.store == HEAP_ROW || s->number >= rec->blocks ||
	    bytes > s->bytes)
		return -EINVAL;
	place = view_place(v, s->number);
	if (place == rec->from[v->choice.sub + 1] ||
	    recording_at(rec, place)->record.number != s->number)
		return -EINVAL;
	while (bytes && !err) {
		size_t part = left.step ? left.take - left.passed : bytes;

		if (part > bytes)
			part = bytes;
		err = recording_fill_as(rec, place, kind_of(v), at, part,
					left.at);
		view_pass(&left, part);
		at += part;
		bytes -= part;
	}
	return err;
}
