/* SPDX-License-Identifier: MIT */
#include "lib/fake_write.h"

int
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

static void
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

static void
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

enum write_answer
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

unsigned
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

int
fake_write_finish(struct write_state *s, int fd)
{
	s->whim->finishes++;
	if (s->fd == fd)
		s->fd = -1;
	return 0;
}

void
fake_write_close(struct write_state *s)
{
	s->whim->closes++;
	/* Every file that it was given was finished, or never written. */
	if (s->fd != -1 || s->queued)
		abort();
	free(s);
}
