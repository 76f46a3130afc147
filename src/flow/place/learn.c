/* SPDX-License-Identifier: MIT */
/*
 * Frames per second.  When the next second has begun for good, the highest
 * frame of the second before is believed if the frames up to it came in a row,
 * frame 0 followed, and the data rate they make is a whole number of Mb/s, as
 * real rates are.  A loss that ends a second early hardly ever makes such a
 * rate: with frames of 8000 bytes in one case of 125.  Any other rate takes two
 * seconds that agree.
 *
 * The row also keeps a receiver that gets only part of a stream from learning
 * from its part: every other frame makes no row.
 *
 * Threads are all that came while the busiest of them brought an eighth of a
 * second, which is more than threads are apart.  Their order is that of arrival
 * within one frame: a thread's packets, counted among all packets, are
 * `threads` apart from frame to frame, and the remainder is its place.
 *
 * Garbage: a packet with any other time is passed over, and only many in a row
 * mean that the clock was set.  A wrong frame number spoils one second, and a
 * single packet makes no thread.
 */
#include "flow/place/learn.h"

#include <string.h>

enum {
	ROW = 2,    /* frames in a row that must end a second */
	BEGUN = 64, /* packets that prove the next second has begun, at most */
	/* Or 1/16 of the frames in a second, if that is fewer. */
	BEGUN_PART = 16,
	THREADS_PART = 8,
	THREADS_LEAST = 8, /* packets of a thread before it counts as enough */
	STRAYS = 64,
	UNTIMED = 4096,	 /* packets without any that tells a time */
	MOST = 1 << 24,	 /* packets to look at before giving up */
	ROUND = 1000000, /* bits per second; believed rates are multiples */
};

bool
learn_needed(const struct format_shape *s)
{
	return s->sequence == SEQUENCE_TIME && (!s->fps || !s->threads_n);
}

bool
learn_wanted(const struct format_shape *s)
{
	return s->sequence != SEQUENCE_TIME && s->store == HEAP_NONE &&
	       s->header && !s->fps;
}

void
learn_start(struct learn *l, const struct format_shape *s)
{
	memset(l, 0, sizeof *l);
	l->fps_known = s->fps != 0;
	l->fps = s->fps;
	l->threads_known = s->threads_n != 0 || !learn_needed(s);
	l->bits = 8 * ((uint64_t)s->payload * s->parts - s->header);
}

/* ---- frames per second ------------------------------------------------ */

/* Records a frame of a second: raises its highest frame and the length of the
 * row. */
static void
frame_saw(uint32_t *highest, uint32_t *row, uint32_t frame)
{
	if (*row && frame <= *highest)
		return;
	*row = *row && frame == *highest + 1 ? *row + 1 : 1;
	*highest = frame;
}

static void
next_forget(struct learn *l)
{
	l->next_highest = l->next_row = 0;
	l->next_packets = 0;
	l->next_first = false;
}

static void
second_begin(struct learn *l, const struct format_packet *p)
{
	l->second = p->second;
	l->highest = l->row = l->before = l->strays = 0;
	frame_saw(&l->highest, &l->row, p->frame);
	next_forget(l);
}

/* Ends the watched second: believes its frame count if it qualifies, and goes
 * on with the next one. */
static void
second_end(struct learn *l)
{
	uint32_t fps = l->highest + 1;
	bool good = l->next_first && l->next_highest < fps &&
		    l->row >= (fps < ROW ? fps : ROW);

	if (good && (fps * l->bits % ROUND == 0 || fps == l->before)) {
		l->fps = fps;
		l->fps_known = true;
	}
	l->before = good ? fps : 0;
	l->second++;
	l->highest = l->next_highest;
	l->row = l->next_row;
	next_forget(l);
}

/* True if the next second has begun for good: not by one wrong packet, and with
 * time for the last packets of this second. */
static bool
next_begun(const struct learn *l)
{
	uint32_t enough = l->highest / BEGUN_PART;

	return l->next_packets > (enough < BEGUN ? enough : BEGUN);
}

static void
fps_learn(struct learn *l, const struct format_packet *p)
{
	int64_t ahead = p->second - l->second;

	if (!l->second || (ahead != 0 && ahead != 1 && ++l->strays >= STRAYS)) {
		second_begin(l, p);
		return;
	}
	if (ahead != 0 && ahead != 1)
		return;
	l->strays = 0;
	if (ahead == 0) {
		frame_saw(&l->highest, &l->row, p->frame);
		return;
	}
	frame_saw(&l->next_highest, &l->next_row, p->frame);
	l->next_first |= p->frame == 0;
	l->next_packets++;
	if (next_begun(l))
		second_end(l);
}

/* ---- threads ---------------------------------------------------------- */

static struct learn_thread *
thread_find(struct learn *l, uint32_t thread)
{
	uint32_t i = 0;

	while (i < l->threads && l->seen[i].thread != thread)
		i++;
	if (i == LEARN_THREADS)
		return NULL;
	if (i == l->threads)
		l->seen[l->threads++] =
		    (struct learn_thread){ .thread = thread };
	return &l->seen[i];
}

/* Number of a thread's newest frame since 1970. */
static int64_t
frame_of(const struct learn *l, const struct learn_thread *t)
{
	return t->second * l->fps + t->frame;
}

/* Position of a thread in a turn of n threads, plus a constant common to all.
 * Garbage may make it any number. */
static int64_t
place_of(const struct learn *l, const struct learn_thread *t, uint32_t n)
{
	uint64_t frames = (uint64_t)(frame_of(l, t) - frame_of(l, l->seen));

	return (int64_t)(t->at - frames * n);
}

/* Sorts by insertion: threads are few, and it happens once. */
static void
threads_order(struct learn *l)
{
	int64_t place[LEARN_THREADS];
	uint32_t seen = l->threads, n = 0;

	for (uint32_t i = 0; i < seen; i++) {
		if (l->seen[i].packets > 1)
			l->seen[n++] = l->seen[i];
	}
	for (uint32_t i = 0; i < n; i++) {
		int64_t here = place_of(l, &l->seen[i], n);
		uint32_t to = i;

		for (; to && place[to - 1] > here; to--) {
			place[to] = place[to - 1];
			l->thread[to] = l->thread[to - 1];
		}
		place[to] = here;
		l->thread[to] = l->seen[i].thread;
	}
	l->threads = n;
}

static void
threads_learn(struct learn *l, const struct format_packet *p)
{
	struct learn_thread *t = thread_find(l, p->thread);
	uint32_t enough = l->fps / THREADS_PART;

	if (!t)
		return;
	t->frame = p->frame;
	t->second = p->second;
	t->at = l->packets;
	t->packets++;
	if (!l->fps_known ||
	    t->packets < (enough > THREADS_LEAST ? enough : THREADS_LEAST))
		return;
	threads_order(l);
	l->threads_known = true;
}

bool
learn_packet(struct learn *l, const struct format_packet *p)
{
	l->packets++;
	if (!(p->has & FORMAT_TIME)) {
		l->untimed++;
		return false;
	}
	if (!l->fps_known)
		fps_learn(l, p);
	if (!l->threads_known)
		threads_learn(l, p);
	return l->fps_known && l->threads_known;
}

bool
learn_hopeless(const struct learn *l)
{
	return l->packets > MOST ||
	       (l->untimed > UNTIMED && l->untimed == l->packets);
}
