/* SPDX-License-Identifier: MIT */
/*
 * Threads may be some frames apart, so a second counts as over when a packet
 * of the next one comes; stragglers of the old one are passed over.  They
 * can only make the highest frame too low, and then two seconds disagree.
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

/* A new second begins; true when the one before agrees with its own. */
static bool
second_over(struct learn *l, const struct format_packet *p)
{
	uint32_t fps = l->highest + 1;
	bool agreed = l->whole && (l->fps_known || fps == l->fps);

	if (l->whole && !l->fps_known)
		l->fps = fps;
	l->whole = l->second != 0 && p->second == l->second + 1;
	l->second = p->second;
	l->highest = 0;
	return agreed;
}

bool
learn_packet(struct learn *l, const struct format_packet *p)
{
	bool agreed = false;

	if (!(p->has & FORMAT_TIME) || p->second < l->second)
		return false;
	if (p->second > l->second)
		agreed = second_over(l, p);
	if (!l->threads_known)
		thread_add(l, p->thread);
	if (p->frame > l->highest)
		l->highest = p->frame;
	return agreed;
}
