/* SPDX-License-Identifier: MIT */
#ifndef SPATE_TESTS_FAKE_WRITE_H
#define SPATE_TESTS_FAKE_WRITE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "contract/write.h"
#include "lib/dice.h"

/*
 * A writer that does what disks and asynchronous plugins may do: it writes
 * short, fails the n-th request, is busy, and gives requests back in any
 * order.  One whim per disk; its counts are the writer thread's own.
 */
enum { FAKE_QUEUE = 8 };

struct fake_whim {
	uint32_t most;	  /* bytes per request; 0: all */
	unsigned fail_at; /* 1: the first request; 0: none */
	int fail;	  /* -errno, or 0: it writes nothing */
	bool lasting;	  /* it fails from then on */
	unsigned depth;	  /* of its queue; 0: synchronous */
	unsigned busy;	  /* every n-th call, when there is a queue */
	bool always_busy;
	atomic_int fail_next; /* -errno: so the next request fails, once */
	atomic_bool *stuck;   /* while that is so, no request ends */
	atomic_bool waits;    /* one does not */
	void (*look)(const struct write_request *r); /* sees each before */

	unsigned calls, submits, finishes, opens, closes;
	unsigned files; /* most that were queued at a time */
};

struct write_state {
	struct fake_whim *whim;
	struct dice dice;
	struct write_request *queue[FAKE_QUEUE];
	unsigned queued;
	int fd; /* of the last request; -1 when finished */
};

static inline int
fake_write_open(struct write_state **state, const struct write_args *args)
{
	struct write_state *s = calloc(1, sizeof *s);

	if (!s)
		return -ENOMEM;
	s->whim = (struct fake_whim *)args->options;
	s->whim->opens++;
	s->dice.state = 7;
	s->fd = -1;
	*state = s;
	return 0;
}

static inline void
fake_write_do(struct write_state *s, struct write_request *r)
{
	struct fake_whim *w = s->whim;
	unsigned n = ++w->submits;
	size_t bytes = r->bytes;
	ssize_t put;
	int err;

	s->fd = r->fd;
	while (w->stuck && atomic_load(w->stuck)) {
		atomic_store(&w->waits, true);
		usleep(1000);
	}
	atomic_store(&w->waits, false);
	err = atomic_exchange(&w->fail_next, 0);
	if (err) {
		r->result = err;
		return;
	}
	if (w->fail_at && (n == w->fail_at || (w->lasting && n > w->fail_at))) {
		r->result = w->fail;
		return;
	}
	if (w->most && bytes > w->most)
		bytes = w->most;
	put = pwrite(r->fd, r->data, bytes, (off_t)r->offset);
	r->result = put < 0 ? -errno : put;
}

static inline void
fake_write_files(struct write_state *s)
{
	unsigned files = 0;

	for (unsigned i = 0; i < s->queued; i++) {
		unsigned k = 0;

		while (s->queue[k]->fd != s->queue[i]->fd)
			k++;
		files += k == i;
	}
	if (files > s->whim->files)
		s->whim->files = files;
}

static inline enum write_answer
fake_write_submit(struct write_state *s, struct write_request *r)
{
	struct fake_whim *w = s->whim;

	w->calls++;
	if (w->look)
		w->look(r);
	if (w->always_busy)
		return WRITE_BUSY;
	if (!w->depth) {
		fake_write_do(s, r);
		return WRITE_DONE;
	}
	if (s->queued == w->depth ||
	    (s->queued && w->busy && w->calls % w->busy == 0))
		return WRITE_BUSY;
	s->queue[s->queued++] = r;
	fake_write_files(s);
	return WRITE_QUEUED;
}

/* One or more of the queued, whichever. */
static inline unsigned
fake_write_reap(struct write_state *s, struct write_request **done, unsigned n)
{
	unsigned got = 0;

	while (s->queued && got < n && (!got || dice_chance(&s->dice, 40))) {
		unsigned i = dice_roll(&s->dice, s->queued);

		done[got] = s->queue[i];
		s->queue[i] = s->queue[--s->queued];
		fake_write_do(s, done[got++]);
	}
	return got;
}

static inline int
fake_write_finish(struct write_state *s, int fd)
{
	s->whim->finishes++;
	if (s->fd == fd)
		s->fd = -1;
	return 0;
}

static inline void
fake_write_close(struct write_state *s)
{
	s->whim->closes++;
	/* Every file that it was given was finished, or never written. */
	if (s->fd != -1 || s->queued)
		abort();
	free(s);
}

#define FAKE_WRITE_OPS(name_, flags_)                                          \
	{                                                                      \
		.head = { .abi = SPATE_ABI,                                    \
			  .bytes = sizeof(struct write_ops),                   \
			  .name = name_,                                       \
			  .flags = flags_ },                                   \
		.open = fake_write_open, .submit = fake_write_submit,          \
		.reap = fake_write_reap, .finish = fake_write_finish,          \
		.close = fake_write_close,                                     \
	}

#endif
