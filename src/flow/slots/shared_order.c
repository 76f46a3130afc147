/* SPDX-License-Identifier: MIT */
/*
 * Threads see the stream at different moments: one that was not scheduled for a
 * while brings packets that came long before those of the others.  Before a
 * final decision, all other threads must have passed the arrival time of the
 * packet that causes it.  Each thread publishes, batch by batch, how far it is;
 * a waiting thread has done so too, up to the packet that it waits for, so of
 * several that wait the one with the earliest packet always goes on.
 *
 * A thread may publish nothing, because no packet comes or because it died:
 * when patience ends it is not waited for until it publishes again.
 */
#include "flow/slots/shared_priv.h"

#include <time.h>

/* True if another thread is behind `since`.  A handle on our own thread never
 * counts: waiting for it would be waiting for ourselves. */
static bool
others_behind(const struct handle *h, int64_t since)
{
	const struct shared *s = h->shared;

	for (unsigned i = 0; i < s->threads; i++) {
		const struct handle *o = &s->handle[i];
		bool ours = o->begun && pthread_equal(o->thread, h->thread);

		if (!ours && !o->lapsed && o->passed < since)
			return true;
	}
	return false;
}

static void
pass(struct handle *h, int64_t at)
{
	h->lapsed = false;
	if (at > h->passed)
		h->passed = at;
	if (h->shared->waiting)
		pthread_cond_broadcast(&h->shared->progress);
}

void
shared_pass(struct handle *h, int64_t at)
{
	pthread_mutex_lock(&h->shared->lock);
	pass(h, at);
	pthread_mutex_unlock(&h->shared->lock);
}

bool
shared_behind(struct handle *h, int64_t since)
{
	bool behind;

	if (since == SHARED_NEVER)
		return false;
	pthread_mutex_lock(&h->shared->lock);
	behind = others_behind(h, since);
	pthread_mutex_unlock(&h->shared->lock);
	return behind;
}

static struct timespec
deadline(int64_t ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += t.tv_nsec;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	return t;
}

static void
others_lapse(struct handle *h, int64_t since)
{
	struct shared *s = h->shared;

	for (unsigned i = 0; i < s->threads; i++) {
		if (&s->handle[i] != h && s->handle[i].passed < since)
			s->handle[i].lapsed = true;
	}
}

void
shared_wait(struct handle *h, int64_t at, int64_t since)
{
	struct shared *s = h->shared;
	struct timespec until = deadline(s->patience);
	uint64_t turns;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	pass(h, at);
	turns = s->turns;
	s->waiting++;
	while (!err && s->turns == turns && others_behind(h, since))
		err = pthread_cond_timedwait(&s->progress, &s->lock, &until);
	s->waiting--;
	if (err)
		others_lapse(h, since);
	pthread_mutex_unlock(&s->lock);
}

void
shared_turned(struct shared *s)
{
	pthread_mutex_lock(&s->lock);
	s->turns++;
	if (s->waiting)
		pthread_cond_broadcast(&s->progress);
	pthread_mutex_unlock(&s->lock);
}
