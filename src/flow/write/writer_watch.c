/* SPDX-License-Identifier: MIT */
/*
 * A disk that does not answer, seen from outside.  This code runs on the event
 * loop, never on the disk's thread, which is stuck in some system call, be it a
 * write, an open, an fsync or an unlink.
 *
 * Decisions here are made under the writer's lock, and so are those of its
 * thread about its blocks (claim() in writer_load.c): a block is either given
 * away before the thread claims it, or not at all.
 *
 *   - A block that is given away gets another hold, for the disk that takes
 *     it; so its memory is free only when the old call has ended too, and is
 *     not reused while a device may still read from it.
 *   - The disk's place in the queue is taken away only while other disks take
 *     blocks: else new blocks wait in memory, and the disk may come back in
 *     time.
 *   - Its chunks since the last sync count as at risk.
 *   - Nobody waits for its jobs.
 */
#include "base/clock.h"
#include "flow/write/writer_priv.h"

#include <stdio.h>

#include "base/log.h"

/* Puts the writer in state HUNG; `since`: steady ns of its last sign of life.
 * Caller holds the lock. */
static void
hang(struct writer *w, int64_t since)
{
	w->hung_since = since;
	w->facts.state = WRITER_HUNG;
	w->facts.errors++;
	snprintf(w->facts.why, sizeof w->facts.why,
		 "no answer for %d s; it may come back",
		 (int)(WRITER_PATIENCE / NS_SECOND));
	for (struct disk_recording *l = w->recordings; l; l = l->next)
		disk_recording_risk(l);
	errands_count(w);
}

void
writer_watch(struct writer *w, int64_t now)
{
	int64_t beat;
	bool hangs;

	pthread_mutex_lock(&w->lock);
	beat = atomic_load_explicit(&w->beat.at, memory_order_relaxed);
	hangs = w->busy && w->facts.state != WRITER_HUNG &&
		now - beat > WRITER_PATIENCE;
	if (hangs)
		hang(w, beat);
	pthread_mutex_unlock(&w->lock);
	if (!hangs)
		return;
	log_line(LEVEL_ERROR, writer_path(w),
		 "the disk does not answer; what it has is given to others");
	w->a.changed(w->a.arg);
}

bool
writer_takes(struct writer *w)
{
	bool takes;

	pthread_mutex_lock(&w->lock);
	takes = w->taker && w->facts.state != WRITER_HUNG;
	pthread_mutex_unlock(&w->lock);
	return takes;
}

/* True if nobody has decided about the load's block yet, so that it can be
 * given away or up. */
static bool
is_claimed(const struct load *l)
{
	return l->b && !l->away && !l->given_up;
}

/* Marks all undecided blocks as given away and holds each once more for the
 * caller; returns how many.  Caller holds the lock. */
static unsigned
loads_take(struct writer *w, struct block **b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WRITES_FILES; i++) {
		struct load *l = &w->load[i];

		if (!is_claimed(l))
			continue;
		l->away = true;
		block_hold(l->b);
		b[n++] = l->b;
	}
	return n;
}

void
writer_relieve(struct writer *w)
{
	struct block *b[WRITES_FILES];
	struct taker *t = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	if (w->facts.state == WRITER_HUNG) {
		n = loads_take(w, b);
		t = w->taker;
		w->taker = NULL;
		w->facts.benched = false;
	}
	pthread_mutex_unlock(&w->lock);
	if (t)
		taker_leave(t);
	for (unsigned i = 0; i < n; i++) {
		if (queue_put(w->queue, b[i], true) < 0)
			output_lost(b[i]->session, b[i]);
	}
}

void
writer_abandon(struct writer *w, const struct output *o)
{
	struct block *b[WRITES_FILES];
	unsigned n = 0;

	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; i < WRITES_FILES; i++) {
		struct load *l = &w->load[i];

		if (w->facts.state != WRITER_HUNG || !is_claimed(l) ||
		    l->b->session != o)
			continue;
		l->given_up = true;
		block_hold(l->b);
		b[n++] = l->b;
	}
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < n; i++)
		output_lost(b[i]->session, b[i]);
}
