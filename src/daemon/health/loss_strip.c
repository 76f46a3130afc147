/* SPDX-License-Identifier: MIT */
/*
 * A column has the totals at its end, not what was added in it: two become one
 * without a sum, and totals that fall, because a block came late or was lost
 * with its disk, only change the columns before them when they are shown.
 * Packets that came between two looks are spread evenly over the columns between
 * them.
 */
#include "daemon/health/loss_strip.h"

#include "contract/log.h"
#include "store/recording/loss.h"

/* Makes one column of every two. */
static void
halve(struct loss_strip *s)
{
	unsigned n = (s->n + 1) / 2;

	for (unsigned i = 0; i < n; i++) {
		unsigned last = 2 * i + 1 < s->n ? 2 * i + 1 : s->n - 1;

		s->column[i] = s->column[last];
	}
	s->n = n;
	s->span_ns *= 2;
}

/* Returns the total at step `part` of `of` from one total to another, which may
 * have fallen. */
static uint64_t
on_the_way(uint64_t from, uint64_t to, unsigned part, unsigned of)
{
	return from + (uint64_t)(((double)to - (double)from) * part / of);
}

void
loss_strip_add(struct loss_strip *s, int64_t since, uint64_t packets,
	       uint64_t lost)
{
	const struct loss_strip_column now = { packets, lost };
	unsigned at, seen;

	if (!s->span_ns)
		s->span_ns = NS_SECOND;
	while (since / s->span_ns >= LOSS_STRIP_MOST)
		halve(s);
	at = since > 0 ? (unsigned)(since / s->span_ns) : 0;
	seen = s->n;
	/* Two looks may be a little more than a second apart. */
	for (unsigned i = seen; seen && i < at; i++) {
		const struct loss_strip_column *last = &s->column[seen - 1];

		s->column[i] = (struct loss_strip_column){
			on_the_way(last->packets, packets, i + 1 - seen,
				   at + 1 - seen),
			on_the_way(last->lost, lost, i + 1 - seen,
				   at + 1 - seen),
		};
	}
	for (unsigned i = seen; !seen && i < at; i++)
		s->column[i] = (struct loss_strip_column){ 0, 0 };
	s->column[at] = now;
	s->n = at + 1;
}

const char *
loss_strip_show(const struct loss_strip *s, char text[LOSS_STRIP_MOST + 1])
{
	struct loss_strip_column end = { UINT64_MAX, UINT64_MAX }, begin;

	text[s->n] = 0;
	for (unsigned i = s->n; i--; end = begin) {
		const struct loss_strip_column *c = &s->column[i];

		if (i == s->n - 1)
			end = *c;
		begin = i ? s->column[i - 1] : (struct loss_strip_column){ 0 };
		begin.packets =
		    begin.packets < end.packets ? begin.packets : end.packets;
		begin.lost = begin.lost < end.lost ? begin.lost : end.lost;
		text[i] = loss_mark(end.packets - begin.packets,
				    end.lost - begin.lost);
	}
	return text;
}
