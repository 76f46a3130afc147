/* SPDX-License-Identifier: MIT */
/*
 * aio: libaio into files opened with O_DIRECT, for kernels where io_uring is
 * forbidden.  It keeps as many requests in flight as uring.c, but the kernel
 * looks up and pins the pages of each request.
 *
 * io_submit takes a batch in order and stops at the first request that it
 * refuses.  That request is then done, with the error as its result.
 */
#include <errno.h>
#include <libaio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contract/write.h"

enum { DEPTH = 64 };

struct write_state {
	io_context_t context;
	struct iocb iocb[DEPTH];
	struct iocb *idle[DEPTH];
	unsigned idles;
	struct iocb *waiting[DEPTH]; /* not given to io_submit yet, in order */
	unsigned waitings;
	struct iocb *refused[DEPTH]; /* done, with an error in the request */
	unsigned refuseds;
};

/*
 * Logs once for all disks, because they share one kernel.  Writer threads share
 * nothing but the flag.
 */
static void
refusal_tell(const struct host *host, int err)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told))
		host->log(host->ctx, LEVEL_WARN, "libaio is refused: %s%s",
			  strerror(-err),
			  err == -EAGAIN ? " (sysctl fs.aio-max-nr)" : "");
}

static int
aio_open(struct write_state **state, const struct write_args *args)
{
	struct write_state *s = calloc(1, sizeof *s);
	int err;

	if (!s)
		return -ENOMEM;
	err = io_setup(DEPTH, &s->context);
	if (err) {
		refusal_tell(args->host, err);
		free(s);
		return err;
	}
	for (unsigned i = 0; i < DEPTH; i++)
		s->idle[s->idles++] = &s->iocb[i];
	*state = s;
	return 0;
}

static enum write_answer
aio_submit(struct write_state *s, struct write_request *r)
{
	struct iocb *i;

	if (!s->idles)
		return WRITE_BUSY;
	i = s->idle[--s->idles];
	io_prep_pwrite(i, r->fd, (void *)r->data, r->bytes,
		       (long long)r->offset);
	i->data = r;
	s->waiting[s->waitings++] = i;
	return WRITE_QUEUED;
}

static void
waiting_drop(struct write_state *s, unsigned n)
{
	s->waitings -= n;
	memmove(s->waiting, s->waiting + n, s->waitings * sizeof *s->waiting);
}

/*
 * Hands the waiting requests to the kernel.  On -EAGAIN the kernel has no room
 * now, and a later call hands over the rest.
 */
static void
aio_start(struct write_state *s)
{
	while (s->waitings) {
		int n = io_submit(s->context, s->waitings, s->waiting);
		struct write_request *r = s->waiting[0]->data;

		if (n == -EAGAIN)
			return;
		if (n < 0 && n != -EINTR) {
			r->result = n;
			s->refused[s->refuseds++] = s->waiting[0];
			n = 1;
		}
		waiting_drop(s, n > 0 ? (unsigned)n : 0);
	}
}

static struct write_request *
give_back(struct write_state *s, struct iocb *i)
{
	s->idle[s->idles++] = i;
	return i->data;
}

/*
 * Takes finished requests from the kernel, at most n; returns how many.  Waits
 * for the first one: without end, or for 1 ms while requests wait that the
 * kernel has not taken.
 */
static unsigned
collect(struct write_state *s, struct write_request **done, unsigned n)
{
	struct io_event event[DEPTH];
	struct timespec moment = { .tv_nsec = 1000000 };
	int got = io_getevents(s->context, 1, n < DEPTH ? n : DEPTH, event,
			       s->waitings ? &moment : NULL);

	for (int i = 0; i < got; i++) {
		done[i] = give_back(s, event[i].obj);
		done[i]->result = (int64_t)event[i].res;
	}
	return got > 0 ? (unsigned)got : 0;
}

static unsigned
aio_reap(struct write_state *s, struct write_request **done, unsigned n)
{
	unsigned got = 0;

	while (s->idles < DEPTH && n && !got) {
		aio_start(s);
		while (s->refuseds && got < n)
			done[got++] = give_back(s, s->refused[--s->refuseds]);
		if (!got)
			got = collect(s, done, n);
	}
	return got;
}

static void
aio_close(struct write_state *s)
{
	io_destroy(s->context);
	free(s);
}

SPATE_PLUGIN const struct write_ops spate_write = {
	.head = { .abi = SPATE_ABI,
		  .bytes = sizeof(struct write_ops),
		  .name = "aio",
		  .help = "libaio with O_DIRECT, past the page cache",
		  .flags = WRITE_DIRECT },
	.open = aio_open,
	.submit = aio_submit,
	.reap = aio_reap,
	.close = aio_close,
	.start = aio_start,
};
