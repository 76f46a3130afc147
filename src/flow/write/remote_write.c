/* SPDX-License-Identifier: MIT */
/*
 * A thread of the disk plugin's library calls written() when a write is done.
 * It only puts the request into a list; the disk's thread takes it from there
 * (reap).
 */
#include "flow/write/disk_writes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "flow/write/writes_in_flight.h"
#include "store/disk/remote.h"

struct write_state {
	pthread_mutex_t lock; /* guards all of it */
	pthread_cond_t news;
	struct remote_part { /* a request that is in flight */
		struct write_state *of;
		struct write_request *request;
	} part[WRITES_REQUESTS];
	struct remote_part *idle[WRITES_REQUESTS];
	unsigned idles;
	struct write_request *done[WRITES_REQUESTS];
	unsigned dones;
};

static int
writes_open(struct write_state **state, const struct write_args *args)
{
	struct write_state *s = calloc(1, sizeof *s);

	(void)args;
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->news, NULL);
	for (unsigned i = 0; i < WRITES_REQUESTS; i++) {
		s->part[i].of = s;
		s->idle[s->idles++] = &s->part[i];
	}
	*state = s;
	return 0;
}

static void
written(void *arg, int64_t result)
{
	struct remote_part *p = arg;
	struct write_state *s = p->of;

	pthread_mutex_lock(&s->lock);
	p->request->result = result;
	s->done[s->dones++] = p->request;
	s->idle[s->idles++] = p;
	pthread_cond_signal(&s->news);
	pthread_mutex_unlock(&s->lock);
}

static enum write_answer
writes_submit(struct write_state *s, struct write_request *r)
{
	struct remote_part *p = NULL;
	int err;

	pthread_mutex_lock(&s->lock);
	/* A request that is done but not fetched still fills `done`. */
	if (s->idles > s->dones)
		p = s->idle[--s->idles];
	pthread_mutex_unlock(&s->lock);
	if (!p)
		return WRITE_BUSY;
	p->request = r;
	err =
	    remote_write_start(r->fd, r->data, r->bytes, r->offset, written, p);
	if (!err)
		return WRITE_QUEUED;
	pthread_mutex_lock(&s->lock);
	s->idle[s->idles++] = p;
	pthread_mutex_unlock(&s->lock);
	r->result = err;
	return WRITE_DONE;
}

static unsigned
writes_reap(struct write_state *s, struct write_request **done, unsigned n)
{
	unsigned got = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->dones && s->idles < WRITES_REQUESTS)
		pthread_cond_wait(&s->news, &s->lock);
	while (got < n && s->dones)
		done[got++] = s->done[--s->dones];
	pthread_mutex_unlock(&s->lock);
	return got;
}

static void
writes_close(struct write_state *s)
{
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static const struct write_ops ops = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof ops,
		  .name = "the disk's own plugin",
		  .help = "asynchronous writes to a remote disk" },
	.open = writes_open,
	.submit = writes_submit,
	.reap = writes_reap,
	.close = writes_close,
};

const struct write_plugin write_remotely = { .ops = &ops };
