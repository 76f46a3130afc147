/* SPDX-License-Identifier: MIT */
#include "daemon/loop/closer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/worker.h"

enum { DESCRIPTORS_MORE = 16 };

#define END (2 * NS_SECOND)

struct closer {
	struct worker *worker;
	pthread_mutex_t lock; /* over the fields below */
	int *fd;	      /* that are to be closed */
	unsigned n, room;
};

static int64_t
close_all(void *arg)
{
	struct closer *c = arg;

	pthread_mutex_lock(&c->lock);
	while (c->n) {
		int fd = c->fd[--c->n];

		pthread_mutex_unlock(&c->lock);
		close(fd);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return WORKER_RESTS;
}

static void
closer_free(struct closer *c)
{
	pthread_mutex_destroy(&c->lock);
	free(c->fd);
	free(c);
}

int
closer_start(struct closer **closer)
{
	struct closer *c = calloc(1, sizeof *c);
	const struct worker_args worker = { .name = "spate-closer",
					    .round = close_all,
					    .arg = c,
					    .first = WORKER_RESTS,
					    .finishes = true };
	int err;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	err = worker_start(&c->worker, &worker);
	if (err)
		closer_free(c);
	else
		*closer = c;
	return err;
}

void
closer_close(struct closer *c, int fd)
{
	bool kept = true;
	int *more;

	pthread_mutex_lock(&c->lock);
	if (c->n == c->room) {
		more =
		    realloc(c->fd, (c->room + DESCRIPTORS_MORE) * sizeof *more);
		kept = more;
		if (kept) {
			c->fd = more;
			c->room += DESCRIPTORS_MORE;
		}
	}
	if (kept)
		c->fd[c->n++] = fd;
	pthread_mutex_unlock(&c->lock);
	if (kept)
		worker_poke(c->worker);
	else
		close(fd);
}

void
closer_stop(struct closer *c)
{
	if (c && worker_stop(c->worker, END))
		closer_free(c);
}
