/* SPDX-License-Identifier: MIT */
/*
 * Threads may be some frames apart, so a second counts as over when a packet
 * of the next one comes; stragglers of the old one are passed over.  They
 * can only make the highest frame too low, and then two seconds disagree.
 *
 * A packet of any other time begins anew, so that neither a garbage packet
 * nor a clock that was set back is more than a delay: what garbage taught is
 * forgotten with the next good packet.
 */
#include "flow/learn.h"

bool
learn_needed(const struct format_shape *s)
{
	return s->sequence == SEQUENCE_TIME && (!s->fps || !s->threads_n);
}

void
learn_start(struct learn *l, const struct format_shape *s)
{
	*l = (struct learn){ .fps_known = s->fps != 0,
			     .threads_known = s->threads_n != 0,
			     .fps = s->fps };
}

static void
thread_add(struct learn *l, uint32_t thread)
{
	for (uint32_t i = 0; i < l->threads; i++) {
		if (l->thread[i] == thread)
			return;
	}
	if (l->threads < LEARN_THREADS)
		l->thread[l->threads++] = thread;
}

/* Another second begins; true when the one that ends agrees with its own. */
static bool
second_over(struct learn *l, const struct format_packet *p)
{
	uint32_t fps = l->highest + 1;
	bool next = l->second && p->second == l->second + 1;
	bool agreed = next && l->whole && (l->fps_known || fps == l->fps);

	if (agreed)
		return true;
	if (next && l->whole && !l->fps_known)
		l->fps = fps;
	l->whole = next;
	l->second = p->second;
	l->highest = 0;
	l->threads = 0;
	return false;
}

bool
learn_packet(struct learn *l, const struct format_packet *p)
{
	if (!(p->has & FORMAT_TIME) || p->second == l->second - 1)
		return false;
	if (p->second != l->second && second_over(l, p))
		return true;
	if (!l->threads_known)
		thread_add(l, p->thread);
	if (p->frame > l->highest)
		l->highest = p->frame;
	return false;
}
