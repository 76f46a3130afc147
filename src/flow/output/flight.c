/* SPDX-License-Identifier: MIT */
/*
 * Requests go round: idle -> with the plugin -> idle, or -> ready where a
 * write was short or the plugin busy, and from there to the plugin again.
 * Two jobs share them, the older one first: the second begins when all of the
 * first is on its way, so that a disk with a queue never runs dry between two
 * files, and a block is still written as fast as the disk can.
 *
 * A request of a plugin that does not queue is 8 MiB: one system call each.
 * Where it queues they are 4 MiB: CPU s per GB with uring and blocks of 64 MiB
 * are 0.018 with 1, 0.011 with 2, 0.008 with 4 and 0.007 with 8 (ext4 on
 * virtio, Linux 6.18), and of sixteen of 8 MiB that a disk of 20 MB/s serves
 * side by side none would end for longer than a disk may be silent.
 */
#include "flow/output/flight.h"

#include <errno.h>

enum { SINGLE = 8 << 20, QUEUED = 4 << 20 };

void
flight_init(struct flight *f, const struct write_ops *ops,
	    struct write_state *state, uint64_t align, struct beat *beat)
{
	*f = (struct flight){ .ops = ops,
			      .state = state,
			      .align = align,
			      .bytes = ops->reap ? QUEUED : SINGLE,
			      .beat = beat,
			      .idles = FLIGHT_REQUESTS };
	for (unsigned i = 0; i < FLIGHT_REQUESTS; i++)
		f->idle[i] = &f->request[i];
}

void
flight_add(struct flight *f, struct flight_job *job)
{
	job->err = 0;
	job->sent = 0;
	job->parts = 0;
	f->job[f->jobs++] = job;
}

bool
flight_hungry(const struct flight *f)
{
	const struct flight_job *newest;

	if (!f->ops->reap || f->jobs == FLIGHT_JOBS || f->readies)
		return false;
	newest = f->jobs ? f->job[f->jobs - 1] : NULL;
	return !newest || newest->sent == newest->bytes;
}

static void
request_free(struct flight *f, struct write_request *r)
{
	struct flight_job *job = r->tag;

	job->parts--;
	f->idle[f->idles++] = r;
}

/* What a request achieved.  With O_DIRECT the rest of a short write has to
 * begin where a page does. */
static void
request_done(struct flight *f, struct write_request *r)
{
	struct flight_job *job = r->tag;
	uint64_t got = r->result < 0 ? 0 : (uint64_t)r->result;

	beat_now(f->beat);
	if (got < r->bytes)
		got = got / f->align * f->align;
	if (!got && !job->err)
		job->err = r->result < 0 ? (int)r->result : -EIO;
	r->data = (const uint8_t *)r->data + got;
	r->offset += got;
	r->bytes -= got;
	if (r->bytes && !job->err)
		f->ready[f->readies++] = r;
	else
		request_free(f, r);
}

/* Is more of it to be written? */
static bool
wanted(struct flight_job *job)
{
	if (!job->err && job->away &&
	    atomic_load_explicit(job->away, memory_order_relaxed))
		job->err = -ECANCELED;
	return !job->err;
}

/* The next piece of the oldest job that has one. */
static struct write_request *
request_cut(struct flight *f)
{
	for (unsigned i = 0; i < f->jobs && f->idles; i++) {
		struct flight_job *job = f->job[i];
		uint64_t left = job->bytes - job->sent;
		struct write_request *r;

		if (!left || !wanted(job))
			continue;
		r = f->idle[--f->idles];
		r->tag = job;
		r->fd = job->fd;
		r->data = (const uint8_t *)job->data + job->sent;
		r->bytes = left < f->bytes ? left : f->bytes;
		r->offset = job->offset + job->sent;
		job->sent += r->bytes;
		job->parts++;
		return r;
	}
	return NULL;
}

static struct write_request *
request_next(struct flight *f)
{
	while (f->readies) {
		struct write_request *r = f->ready[--f->readies];

		if (wanted(r->tag))
			return r;
		request_free(f, r);
	}
	return request_cut(f);
}

/* False when the plugin is busy: then it has to give something back first. */
static bool
submit(struct flight *f, struct write_request *r)
{
	struct flight_job *job = r->tag;

	switch (f->ops->submit(f->state, r)) {
	case WRITE_QUEUED: f->queued++; return true;
	case WRITE_DONE: request_done(f, r); return true;
	default: break;
	}
	f->ready[f->readies++] = r;
	if (!f->queued)
		job->err = -EIO; /* busy with nothing: its bug */
	return !f->queued;
}

void
flight_push(struct flight *f)
{
	struct write_request *r;

	while ((r = request_next(f)) && submit(f, r))
		;
	if (f->queued && f->ops->start)
		f->ops->start(f->state);
}

void
flight_wait(struct flight *f)
{
	struct write_request *got[FLIGHT_REQUESTS];
	unsigned n = 0;

	if (f->queued)
		n = f->ops->reap(f->state, got, FLIGHT_REQUESTS);
	f->queued -= n;
	for (unsigned i = 0; i < n; i++)
		request_done(f, got[i]);
}

/* What an error left behind is let go of first. */
static bool
over(struct flight *f, struct flight_job *job)
{
	unsigned kept = 0;

	for (unsigned i = 0; job->err && i < f->readies; i++) {
		if (f->ready[i]->tag == job)
			request_free(f, f->ready[i]);
		else
			f->ready[kept++] = f->ready[i];
	}
	if (job->err)
		f->readies = kept;
	return !job->parts && (job->err || job->sent == job->bytes);
}

struct flight_job *
flight_done(struct flight *f)
{
	for (unsigned i = 0; i < f->jobs; i++) {
		struct flight_job *job = f->job[i];

		if (!over(f, job))
			continue;
		f->jobs--;
		for (; i < f->jobs; i++)
			f->job[i] = f->job[i + 1];
		return job;
	}
	return NULL;
}
